"""Shared inputs: the sources that several queries read, with the same rids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bigdebug.errors import ViewError
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.leaf import Leaf
from bigdebug.spark.sql.runs import FrameRun


@dataclass(frozen=True)
class Shared:
    """A source that all of some queries read: what they call it, and the operators at which each reads it."""

    names: tuple[str, ...]
    leaf: Leaf
    operators: tuple[frozenset[int], ...]

    def is_called(self, name: str) -> bool:
        return name.lower() in map(str.lower, self.names)


def shared_input(runs: Sequence[FrameRun], over: str | None) -> Shared:
    """The source that results are brushed over: the one called ``over``, else the only one that all read, or of several that of most rows (a job for each).

    Raises ViewError if they share none, or none of that name.
    """
    found = [shared for leaf in _sources(runs[0]) if (shared := _read_by_all(runs, leaf)) is not None]
    if over is not None:
        found = [shared for shared in found if shared.is_called(over)]
    if not found:
        raise _nothing_shared(runs, over)
    return found[0] if len(found) == 1 else max(found, key=lambda shared: _size(runs[0], shared.leaf))


def _sources(run: FrameRun) -> list[Leaf]:
    """A leaf for each source of a query."""
    return list({leaf.dataset: leaf for leaf in reversed(run.questions.leaves.values())}.values())


def _read_by_all(runs: Sequence[FrameRun], leaf: Leaf) -> Shared | None:
    names, operators = [], []
    for run in runs:
        known = run.questions.leaves
        same = next((other for other in _sources(run) if other is leaf or _same(runs[0], leaf, run, other)), None)
        if same is None:
            return None
        names += [same.dataset, same.name]
        operators.append(frozenset(operator for operator, other in known.items() if other.dataset == same.dataset))
    return Shared(tuple(dict.fromkeys(names)), leaf, tuple(operators))


def _same(run: FrameRun, leaf: Leaf, other_run: FrameRun, other: Leaf) -> bool:
    """Whether two leaves are one source, whose records have the same rids in both queries: those of files that are split hang on settings."""
    if leaf.files != other.files or leaf.counts != other.counts or not leaf.node.sameResult(other.node):
        return False
    if not (leaf.files and leaf.counts):
        return True
    return run.questions.catalyst.splits(leaf.node) == other_run.questions.catalyst.splits(other.node)


def _size(run: FrameRun, leaf: Leaf) -> int:
    return int(unheard(run.questions.catalyst.frame(leaf.node), "count"))


def _nothing_shared(runs: Sequence[FrameRun], over: str | None) -> ViewError:
    read = "; ".join(f"the {_ordinal(number)} reads {', '.join(dict.fromkeys(run.input_names().values())) or 'nothing'}" for number, run in enumerate(runs, 1))
    if over is not None:
        return ViewError(f"These results do not all read an input of this name: {read}", value=over, remedy="Say over= with one that all read, or leave it out.")
    return ViewError(
        f"These results share no input: {read}",
        remedy="Linked views show what the same rows make: brush results of one table, file or DataFrame. Files that are read with other options, or in other splits, are others; so is what a view of one name stood for before it was made anew.",
    )


def _ordinal(number: int) -> str:
    return {1: "first", 2: "second", 3: "third"}.get(number, f"{number}th")
