"""Indexes: the associations of a query's levels computed once, and kept in arrays (Smoke 3.2, Defer)."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from bigdebug.spark.sql.extended import Association
from bigdebug.spark.sql.plans.expressions import Node
from bigdebug.spark.sql.steps import Steps
from bigdebug.trace.indexed import Indexed
from bigdebug.trace.names import Names, array_of
from bigdebug.trace.table import Table

_FEW = 10_000
"""Names for which an index leaves out what nothing above was made of; for more it takes all, rather than compare."""


class Built(NamedTuple):
    """What an index is of, how many witnesses it has, and what it took."""

    what: str
    witnesses: int
    bytes: int
    seconds: float


def build(
    steps: Steps, root: int, records: Names | None, goals: Collection[int], direction: str = "both",
) -> Iterator[Built]:
    """Index the levels on the ways from the result to the sources ``goals``, the result first.

    ``records`` are the names of its rows, if they are known. Nothing is computed twice.
    """
    ways = steps.towards(goals)
    used: dict[int, Names] = {root: None}
    for level in sorted(ways - set(goals), reverse=True):
        if level not in used:
            continue
        began = time.perf_counter()
        if level not in steps.indexes or not steps.indexes[level].answers(ways & steps.next_to(level, ahead=False), direction != "backward"):
            steps.indexes[level] = _indexed(steps, level, used[level], records if level == root else None, ways, direction)
            known = steps.indexes[level]
            operator = steps.operator(level)
            yield Built(f"{operator.name}#{operator.id}", len(known), known.nbytes, time.perf_counter() - began)
        used.update(steps.indexes[level].everything(ways))


def _indexed(steps: Steps, level: int, names: Names, records: Names | None, ways: Collection[int], direction: str) -> Indexed:
    """``names`` are those of the level's records that anything above was made of, all if None; ``records`` all there are."""
    known = steps.association(level)
    below = [name for name in known.names if name.level in ways]
    complete = len(below) == len(known.names)
    if records is not None and steps.says_all(level):
        fields = {at: field for at, field in zip(known.levels, records.flatten()) if at in ways}
        return Indexed(records, fields, direction, complete)
    plan, whole = _plan(steps, level, known, names)
    columns = {f"n{name.level}": name.column for name in below} | {f"k{i}": part for i, part in enumerate(known.told)}
    table = steps.catalyst.table(plan, columns).combine_chunks()
    keys = keys_of(table, len(known.told))
    return Indexed(keys, {name.level: array_of(table[f"n{name.level}"]) for name in below}, direction, complete, whole)


def keys_of(table: pa.Table, parts: int) -> Names:
    """The columns ``k0``, ``k1``, ... of witnesses as the names of records."""
    fields = [array_of(table[f"k{i}"]) for i in range(parts)]
    return pa.StructArray.from_arrays(fields, [f"_{i}" for i in range(parts)])


def _plan(steps: Steps, level: int, known: Association, names: Names) -> tuple[Node, bool]:
    """The witnesses of those records that are used, where leaving out the others costs less than it saves; and whether these are all."""
    exactly, whole = steps.broader(level), names is None
    peers = steps.peers(level)
    if exactly:
        names = steps.names(*steps.rows(level, names))
        if peers is not None:
            names = peers.back(steps.near(level, names))
    if names is not None and level not in steps.subqueries and (exactly or (len(names) <= _FEW and peers is None)):
        return steps.restricted(known, names), whole
    return known.plan, True


def built_table(built: Sequence[Built], caption: str) -> Table:
    """Indexes, a line each, and what they take together."""
    rows = [(each.what, f"{each.witnesses:,}", _size(each.bytes), f"{each.seconds:.2f}") for each in built]
    size, seconds = sum(each.bytes for each in built), sum(each.seconds for each in built)
    return Table(("index of", "entries", "size", "seconds"), rows, (f"{_size(size)} in {seconds:.2f} s", caption))


def _size(count: int) -> str:
    return f"{count / 1e6:,.2f} MB" if count >= 10_000 else f"{count:,} bytes"
