"""Splits: disjoint parts of a workflow whose tables are weakly connected, along which large components are cut into sets (Rajmohan et al., IV)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from bigdebug.errors import ProvenanceError
from bigdebug.provgraph.workflow import Workflow


@dataclass(frozen=True)
class Split:
    """Tables that are weakly connected in the workflow, and the smaller splits that these are cut into where a set is still too large.

    A split of one table has no smaller ones.
    """

    name: str
    tables: tuple[str, ...]
    parts: tuple[Split, ...] = ()

    def __iter__(self) -> Iterator[Split]:
        """It and all smaller ones within, larger ones first."""
        yield self
        for part in self.parts:
            yield from part


def splits_of(workflow: Workflow, given: Any = None, sizes: Mapping[str, int] | None = None) -> tuple[Split, ...]:
    """The splits of a workflow, each with smaller ones down to single tables; together they have all tables.

    ``given`` is a list of splits, each a list of tables or again of splits: ``[["docs", "pages"], [["facts"], ["names", "people"]]]``. What is
    not given is found: weakly connected tables are cut in two along the order in which tables are made, so that neither half has many
    more items, by the ``sizes`` of tables, than the other; what is then connected within a half is a split. Raises ProvenanceError for splits
    that share a table, leave one out, or whose tables are not connected.
    """
    if given is None:
        halves = [half for part in _connected(workflow, workflow.tables) for half in _halves(workflow, part, sizes) or [part]]
        return tuple(_found(workflow, f"sp{n}", half, sizes) for n, half in enumerate(halves, 1))
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise ProvenanceError("Splits are a list of lists of tables", value=given, remedy='Give [["docs", "pages"], ["facts", "names"]].')
    made = tuple(_given(workflow, f"sp{n}", some, sizes) for n, some in enumerate(given, 1))
    if lost := [table for table in workflow.tables if table not in _once(table for split in made for table in split.tables)]:
        raise ProvenanceError(f"No split has the tables {', '.join(map(repr, lost))}", remedy="Each table is in one split: [[...], [...]].")
    return made


def _given(workflow: Workflow, name: str, some: Any, sizes: Mapping[str, int] | None) -> Split:
    if isinstance(some, Split):
        some = [part.tables for part in some.parts] or some.tables
    if isinstance(some, str) or not isinstance(some, Sequence) or not some:
        raise ProvenanceError("A split is a list of tables, or of smaller splits", value=some, remedy='Give [["docs", "pages"], ["facts"]].')
    if all(isinstance(one, str) for one in some):
        tables = sorted(_once(some), key=workflow.place)
        parts: tuple[Split, ...] = _found(workflow, name, tables, sizes).parts
    else:
        parts = tuple(_given(workflow, f"{name}.{n}", one, sizes) for n, one in enumerate(some, 1))
        tables = sorted(_once(table for part in parts for table in part.tables), key=workflow.place)
    if len(pieces := _connected(workflow, tables)) > 1:
        raise ProvenanceError(
            f"The tables of a split are not connected: nothing joins {', '.join(map(repr, pieces[0]))} with {', '.join(map(repr, pieces[1]))}",
            remedy="Make splits of their own of them.",
        )
    return Split(name, tuple(tables), parts)


def _found(workflow: Workflow, name: str, tables: Collection[str], sizes: Mapping[str, int] | None) -> Split:
    halves = _halves(workflow, tables, sizes)
    parts = tuple(_found(workflow, f"{name}.{n}", half, sizes) for n, half in enumerate(halves, 1))
    return Split(name, tuple(sorted(tables, key=workflow.place)), parts)


def _halves(workflow: Workflow, tables: Collection[str], sizes: Mapping[str, int] | None) -> list[list[str]]:
    """Connected tables, cut in two where about as many items are made before as behind, and each half into what is connected. None of a single table."""
    levels: dict[str, int] = {}
    for table in sorted(tables, key=workflow.place):
        levels[table] = max((levels[source] + 1 for source in workflow.sources_of(table) if source in levels), default=0)
    weights = [0] * (max(levels.values(), default=0) + 1)
    for table, level in levels.items():
        weights[level] += 1 if sizes is None else 1 + sizes.get(table, 0)
    before = [0, *accumulate(weights)]
    cut = min(range(1, len(weights)), key=lambda level: abs(2 * before[level] - before[-1]), default=0)
    early = [table for table in levels if levels[table] < cut]
    late = [table for table in levels if levels[table] >= cut]
    return [*_connected(workflow, early), *_connected(workflow, late)] if cut else []


def _connected(workflow: Workflow, tables: Collection[str]) -> list[list[str]]:
    """The tables in groups, of which no edge leads from one to another."""
    left, groups = dict.fromkeys(sorted(tables, key=workflow.place)), []
    while left:
        todo, group = [next(iter(left))], []
        del left[todo[0]]
        while todo:
            group.append(table := todo.pop())
            for near in (*workflow.sources_of(table), *workflow.made_from(table)):
                if near in left:
                    del left[near]
                    todo.append(near)
        groups.append(sorted(group, key=workflow.place))
    return groups


def _once(tables: Iterable[str]) -> dict[str, None]:
    """The tables. Raises ProvenanceError for one that is there twice."""
    seen: dict[str, None] = {}
    for table in tables:
        if table in seen:
            raise ProvenanceError("Two splits have the same table", value=table, remedy="A table is in one split.")
        seen[table] = None
    return seen
