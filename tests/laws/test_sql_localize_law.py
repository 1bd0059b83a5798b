"""Law 7 for queries: what localization names is what was made wrong, without it rows are there and right, and without less they are not."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, event, given, note, settings
from hypothesis import strategies as st

from bigdebug.errors import LocalizeError
from tests.laws.sql_programs import Lineage, Query, Step, Table, exact_programs, meaning, sql_of
from tests.laws.test_sql_laws import World, folder

MANY = int(os.environ.get("LAW_EXAMPLES", "10"))
HUGE, WRONG = 1_000_000_000, 1_000_000
"""What a planted value is more than it was, and what nothing is without one."""

__all__ = ["folder"]
Values = tuple[Any, ...]
_seen: Counter[str] = Counter()

_FEWEST = 8
"""Programs that are drawn at least: of two, none need be one with a culprit."""


@pytest.fixture(scope="module", autouse=True)
def much_is_found() -> Iterator[None]:
    """A law about what is found says nothing where nothing is."""
    _seen.clear()
    yield
    assert _seen["culprit"] * 3 >= _seen["asked"] > 0, _seen


def is_wrong(values: Values) -> bool:
    return any(value is not None and value > WRONG for value in values)


@st.composite
def planted(draw: st.DrawFn) -> tuple[Step, tuple[Table, ...], Lineage]:
    """A program that computes by groups in the end, its tables, and one to three rows of these with a value that was made huge."""
    below, tables = draw(exact_programs())
    columns = tuple(draw(st.lists(st.integers(0, below.width - 1), max_size=2, unique=True)))
    computed = (("sum", draw(st.integers(0, below.width - 1))), (draw(st.sampled_from(["max", "count"])), draw(st.integers(0, below.width - 1))))
    places = [(table.name, place) for table in tables if table.name in read_by(below) for place in range(len(table.rows))]
    assume(places)
    huge = frozenset(draw(st.lists(st.sampled_from(places), min_size=1, max_size=3, unique=True)))
    column = draw(st.integers(0, 1))
    made = tuple(
        Table(table.name, tuple(_huge(table.name, row, column) if (table.name, place) in huge else row for place, row in enumerate(table.rows))) for table in tables
    )
    return Step("group", (below,), columns=columns, computed=computed), made, huge


def read_by(step: Step) -> set[str]:
    """The tables that a program reads."""
    return {step.table} if step.op == "table" else set().union(*map(read_by, step.parents))


def _huge(table: str, row: Values, column: int) -> Values:
    place = 0 if table == "w" else 1
    place += column if table != "u" else 0
    return tuple(HUGE + (value or 0) if i == place else value for i, value in enumerate(row))


def on(step: Step, tables: tuple[Table, ...], rows: Lineage) -> dict[Values, Values]:
    """By key, what the program gives on some of the rows of its tables: plain Python says it."""
    some = {table.name: Table(table.name, tuple(row for place, row in enumerate(table.rows) if (table.name, place) in rows)) for table in tables}
    keys = len(step.columns)
    return {row[:keys]: row[keys:] for row, _ in meaning(step, some)}


def is_there(before: Values, now: Values | None) -> bool:
    """Whether there still is such a row, and all that it knew."""
    return now is not None and all(was is None or value is not None for was, value in zip(before, now))


@settings(max_examples=max(_FEWEST, MANY // 2), deadline=None, suppress_health_check=[*HealthCheck])
@given(planted(), st.booleans())
def test_7_what_is_named_in_a_query_is_what_was_planted(dbg: Any, spark: Any, folder: Path, drawn: tuple[Step, tuple[Table, ...], Lineage], as_sql: bool) -> None:
    step, tables, huge = drawn
    keys = len(step.columns)
    made = {row[:keys]: (row[keys:], lineage) for row, lineage in meaning(step, {table.name: table for table in tables})}
    bad = [key for key, (values, _) in made.items() if is_wrong(values)]
    assume(bad)
    world = World(spark, folder, Query(sql_of(step), tables))
    computed = range(keys, step.width)
    test: Any = " or ".join(f"c{i} > {WRONG}" for i in computed) if as_sql else lambda row: is_wrong(row[keys:])
    _seen["asked"] += 1
    try:
        found = dbg.localize(spark.sql(world.sql), test)
    except LocalizeError as refused:
        event(f"refused: {str(refused)[:70]}")
        return
    note(f"{found}")
    event(found.verdict)
    _seen[found.verdict] += 1
    assert found.verdict in ("culprit", "ambiguous")
    every = frozenset((table.name, place) for table in tables for place in range(len(table.rows)))
    for fault in found.fault_sets:
        named = frozenset((each.origin.dataset, each.origin.index) for each in fault.records)
        if fault.verdict == "culprit":
            assert named <= huge, "an innocent row"
        for row in fault.outputs:
            key = tuple(row)[:keys]
            assert made[key][0] == tuple(row)[keys:]
            without = on(step, tables, made[key][1] - named).get(key)
            assert without is None or not is_wrong(without)
        key = tuple(fault.outputs[0])[:keys]
        if fault.verdict == "culprit":
            whole = on(step, tables, every - named).get(key)
            assert is_there(made[key][0], whole) or len(made[key][1]) == 1, "a row that is made of one record is gone without it"
            assert whole is None or not is_wrong(whole)
        for each in named:
            less = on(step, tables, (made[key][1] - named) | {each}).get(key)
            assert less is None or is_wrong(less) or not is_there(made[key][0], less)
