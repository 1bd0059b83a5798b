"""Joined runs: several captured queries as one workflow. What one wrote to files and another read is one table of it, each row one item."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from bigdebug.errors import UntraceableError
from bigdebug.provgraph.recorded import items_at
from bigdebug.spark.across.frames import FrameStep
from bigdebug.spark.provgraph.queried import QueryRows
from bigdebug.spark.provgraph.stands import Stand, numbered, stands_of

Runs = Sequence[tuple[QueryRows, FrameStep]]
"""The rows of each run, and the run as a step that read and wrote files."""


def joined(runs: Runs, values: bool) -> list[QueryRows]:
    """The rows of runs in the words of one graph, in the order in which they are given.

    A table that runs share is called as ``tables=`` named it, or as who read it calls it, and a row there by its number in the files, ``clean.parquet[17]``. Other tables that have no name
    of their own have the run's before what they are. Costs two jobs for each run whose files another read.

    Raises UntraceableError for a run that has nothing in common with the others, and where it is not certain which row is which; if ``values``, also where the columns are called otherwise.
    """
    groups = stands_of(runs)
    _check_all(runs, groups)
    for group in groups if values else ():
        _check_columns(group)
    tables = _tables(runs, groups)
    items: dict[str, dict[int, Any]] = {step.id: {} for _, step in runs}
    for group in groups:
        for stand, numbers in zip(group, numbered(group), strict=True):
            items[stand.step.id][stand.level] = items_at(tables[stand.step.id][stand.level], numbers)
    return [rows.known_as(tables[step.id], items[step.id]) for rows, step in runs]


def _tables(runs: Runs, groups: Sequence[Sequence[Stand]]) -> dict[str, dict[int, str]]:
    """What tables are called, by step and level: no two alike, but those that are one."""
    one = {(stand.step.id, stand.level): number for number, group in enumerate(groups) for stand in group}
    taken: dict[str, object] = {}
    found: dict[str, dict[int, str]] = {step.id: {} for _, step in runs}
    of_group = {number: _name(group) for number, group in enumerate(groups)}
    for rows, step in runs:
        for level, own in rows.tables.items():
            who = one.get((step.id, level), (step.id, level))
            name = of_group[who] if isinstance(who, int) else own if level in rows.told else f"{rows.run.name}/{own}"
            while taken.setdefault(name, who) != who:
                name += "'"
            found[step.id][level] = name
    return found


def _name(group: Sequence[Stand]) -> str:
    """What a table is called that runs share. Who wrote it has no name for it, unless the user gave one."""
    chosen = (stand.rows.chosen.get(stand.level) for stand in group)
    read = (stand.rows.told.get(stand.level) for stand in group if not stand.written)
    return next(name for name in chain(chosen, read) if name)


def _check_all(runs: Runs, groups: Sequence[Sequence[Stand]]) -> None:
    """Raise UntraceableError for a run that would be a graph by itself."""
    together = {stand.step.id for group in groups for stand in group}
    for rows, step in runs:
        if len(runs) > 1 and step.id not in together:
            raise UntraceableError(
                "This run has no file in common with the others", value=rows.run.name,
                remedy="Give the runs between as well, or leave it out: a graph is of one workflow. Steps are joined by files that one wrote or both read.",
            )


def _check_columns(group: Sequence[Stand]) -> None:
    """Raise UntraceableError where runs call the columns of a table otherwise: then values of one are none of the other."""
    known = group[0].columns.keys()
    for stand in group:
        own = stand.columns
        # Who reads may leave columns out; who inserts may say only in which order they go in.
        apart = [] if known <= own.keys() else sorted(own.keys() - known)
        for name in [*apart, *(name for name, here in own.items() if here != name)]:
            raise UntraceableError(
                f"Runs call the columns of {_name(group)} otherwise: {name!r}", value=stand.rows.run.name,
                remedy="Read, and insert, columns by the names that they were written by (CSV with a header), or ask for records: values=False.",
            )
