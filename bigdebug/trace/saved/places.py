"""Saved places: which records of a saved run's sources stand at a line or a row of a file. The inverse of origins."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bigdebug.errors import UnknownRecordError
from bigdebug.model import POSITION_BITS
from bigdebug.trace.origins import SourceFacts
from bigdebug.trace.places import places_of
from bigdebug.trace.saved.runs import SavedRun
from bigdebug.trace.saved.trace import SavedTrace, standing_at
from bigdebug.trace.textlines import local_path


def standing_in(run: SavedRun, file: str, *, line: int | None = None, row: int | None = None) -> SavedTrace:
    """The trace over the source records at a ``line`` (from 1) of a text, or at a ``row`` (from 0) of another file, wherever the run reads it.

    ``file`` is a path, or the end of one. Raises UnknownRecordError where the run read no such record.
    """
    unit, number = ("line", line - 1) if line is not None else ("row", row or 0)
    pieces = list(_pieces(run, unit))
    paths = list(dict.fromkeys(path for _, path, *_ in pieces))
    meant = [path for path in paths if _same(path, file)] or [path for path in paths if _ends(path, file)]
    if len(meant) != 1:
        known = ", ".join(meant or paths) or f"no file by {unit}s"
        what = "Several files that the run read are called so" if meant else f"The run read no {unit}s of such a file"
        raise UnknownRecordError(what, value=file, remedy=f"It read {known}.")
    found = [
        (operator, (partition << POSITION_BITS) + number - first)
        for operator, path, partition, first, last in pieces
        if path == meant[0] and first <= number < last
    ]
    found = [(operator, rid) for operator, rid in found if _there(run, operator, rid)]
    if not found:
        raise UnknownRecordError(f"The run read no {unit} {number + (unit == 'line')} of {meant[0]}, or nothing was made of it", remedy="Lines count from 1, rows from 0.")
    return standing_at(run, found)


def _there(run: SavedRun, operator: int, rid: int) -> bool:
    if run.associated is None or operator not in run.associated.levels:
        return True
    return bool(run.associated.levels[operator].known(places_of([rid])))


def _pieces(run: SavedRun, unit: str) -> Iterator[tuple[int, str, int, int, int]]:
    """Operator, path, partition, and the numbers of the first record there and of the first one behind them."""
    facts: Any
    for operator, facts in run.sources.items():
        if run.frame:
            found = _of_places(facts.places) if facts.unit == unit else iter(())
        else:
            facts.check()
            read = facts.splits and (facts.type == "text") == (unit == "line")
            found = _of_splits(facts, run.counted(operator), run.associated is not None) if read else iter(())
        yield from ((operator, path, *piece) for path, piece in found)


def _of_places(places: Sequence[tuple[str | None, int]]) -> Iterator[tuple[str, tuple[int, int, int]]]:
    starts: dict[str, list[int]] = {}
    for path, first in places:
        if path is not None:
            starts.setdefault(path, []).append(first)
    for known in starts.values():
        known.sort()
    for partition, (path, first) in enumerate(places):
        if path is not None:
            at = bisect_right(starts[path], first)
            yield path, (partition, first, starts[path][at] if at < len(starts[path]) else 1 << POSITION_BITS)


def _of_splits(facts: SourceFacts, whole: Mapping[int, int], numbered: bool) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """Up to the first piece of each file of which nobody knows how many records it has; that one too, if its records are ``numbered``."""
    pieces: dict[str, list[tuple[int, int]]] = {}
    for partition, split in enumerate(facts.splits):
        pieces.setdefault(split.path, []).append((split.start, partition))
    for path, by_start in pieces.items():
        by_start.sort()
        first: dict[int, int] = {}
        ends = 0
        for start, partition in by_start:
            before = first.setdefault(start, ends)
            size = whole.get(partition)
            if size is None and not numbered:
                break
            yield path, (partition, before, 1 << POSITION_BITS if size is None else before + size)
            if size is None:
                break
            ends = max(ends, before + size)


def _same(path: str, given: str) -> bool:
    return given == path or given == local_path(path)


def _ends(path: str, given: str) -> bool:
    return bool(given) and path.endswith(f"/{given.lstrip('/')}")
