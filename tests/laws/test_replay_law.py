"""Law 8 for wrong results: a replay with edits or without records, and a cleaned program, give what a clean run gives on the input that is edited or left."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, event, given, note, settings
from hypothesis import strategies as st

from bigdebug.errors import LocalizeError, NondeterminismError, ReplayError, UntraceableError
from bigdebug.mining.cleaned import Cleaned
from tests.laws.programs import Lineage, Program, Source, interpret, programs, weight
from tests.laws.sql_programs import SCHEMAS, Query, Table, queries, sql_of
from tests.laws.test_laws import captured, multiset
from tests.laws.test_localize_law import on, planted
from tests.laws.test_sql_laws import World, folder, sample
from tests.laws.test_sql_localize_law import planted as planted_in_tables

__all__ = ["folder"]
MANY = int(os.environ.get("LAW_EXAMPLES", "8"))
FEW = settings(max_examples=MANY, deadline=None, suppress_health_check=[*HealthCheck])
HALF = settings(FEW, max_examples=max(1, MANY // 2))

_seen: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def most_is_answered() -> Iterator[None]:
    """A law about what is replayed says nothing where all is refused."""
    _seen.clear()
    yield
    assert _seen["answered"] * 2 >= _seen["asked"] > 0, _seen


def changed(program: Program, chosen: Lineage, edit: Callable[[int], int] | None) -> Program:
    """The program on its sources with those records edited; without them, if there is no ``edit``."""
    sources = tuple(
        (tuple(edit(x) if edit and (f"s{number}", place) in chosen else x for place, x in enumerate(data) if edit or (f"s{number}", place) not in chosen), partitions)
        for number, (data, partitions) in enumerate(program.sources)
    )
    return Program(sources, program.nodes)


def tenfold(number: int) -> int:
    return 10 * number + 1


def small(number: int) -> int:
    return number % 10


@FEW
@given(programs(), st.data())
def test_8_a_replay_is_a_clean_run_on_what_is_edited_or_left(dbg: Any, program: Program, data: st.DataObject) -> None:
    _, result, sources, _ = captured(dbg, program)
    read = result.getLineage().run.graph.upstream(result._definition.operator.id)
    known = [i for i, source in enumerate(sources) if source._definition.operator.id in read and program.sources[i][0]]
    assume(known)
    number = data.draw(st.sampled_from(known), "source")
    places = data.draw(st.lists(st.integers(0, len(program.sources[number][0]) - 1), min_size=1, max_size=4, unique=True), "places")
    trace = dbg.lineage(sources[number])
    rids = [int(rid) for rid, origin in zip(trace.rids(), trace.origins()) if origin.index in places]
    assert len(rids) == len(places)
    edit = data.draw(st.sampled_from([None, tenfold]), "edit")
    _seen["asked"] += 1
    expected = multiset(record for record, _ in interpret(changed(program, frozenset((f"s{number}", place) for place in places), edit)))
    replay = trace.at(rids).replay(exclude=True, edit=edit)
    assert multiset(replay.collect()) == expected
    assert multiset(replay.rdd.collect()) == expected
    _seen["answered"] += 1


@FEW
@given(planted(), st.sampled_from(["localize", "lineage"]), st.sampled_from([None, small]))
def test_8_what_is_cleaned_is_a_clean_run_on_what_is_left(dbg: Any, drawn: tuple[Program, Lineage], suspects: str, edit: Callable[[int], int] | None) -> None:
    program, _ = drawn
    records, result, sources, _ = captured(dbg, program)
    assume(any(weight(out) > 1_000_000 for out in records))
    names = {source._definition.operator.id: f"s{i}" for i, source in enumerate(sources)}
    _seen["asked"] += 1
    found = dbg.clean(result, lambda out: -weight(out), enough=-1_000_000, rounds=3, suspects=suspects, edit=edit)
    note(f"{found}")
    removed: Lineage = frozenset((names[record.source], record.origin.index) for record in found.removed)
    expected = on(changed(program, removed, edit), every(changed(program, removed, edit)))
    assert multiset(found.outputs) == multiset(expected.items())
    improves(found, [-weight(out) for out in records], [-weight(out) for out in found.outputs])
    event(f"{len(found.rounds)} rounds")
    _seen["answered"] += bool(found.removed)


def every(program: Program) -> Iterator[Source]:
    return ((f"s{number}", place) for number, (data, _) in enumerate(program.sources) for place in range(len(data)))


def improves(found: Cleaned, before: list[float], after: list[float]) -> None:
    """Each round that was kept has fewer bad outputs, or the worst is better; without one, all is as it was."""
    if any(each.kept for each in found.rounds):
        assert (sum(q < found.bar for q in after), -min(after, default=0.0)) < (sum(q < found.bar for q in before), -min(before, default=0.0))
    else:
        assert Counter(before) == Counter(after)


@HALF
@given(queries(files=False), st.randoms(use_true_random=False), st.booleans())
def test_8_a_replay_of_a_query_is_a_clean_one_on_what_is_edited_or_left(dbg: Any, spark: Any, folder: Path, query: Query, random: Any, edits: bool) -> None:
    world = World(spark, folder, query)
    world.plain()
    try:
        trace = dbg.lineage(spark.sql(query.sql))
        records = trace.goBackAll().source_records()
    except (NondeterminismError, UntraceableError):
        assume(False)
    assume(records)
    chosen = sample(random, records, 3)
    table = chosen[0].origin.dataset
    chosen = [each for each in chosen if each.origin.dataset == table]
    at = {each.origin.index for each in chosen}
    clean = tuple(Table(each.name, _replaced(each, at, edits)) if each.name == table else each for each in query.tables)
    _seen["asked"] += 1
    try:
        behind = trace.goBackAll()[table]
        replay = behind.at([each.rid for each in chosen]).replay(exclude=True, edit=_other if edits else None)
        given_ = multiset(replay.collect())
    except (NondeterminismError, ReplayError, UntraceableError) as refused:
        event(f"refused: {str(refused)[:80]}")
        return
    _seen["answered"] += 1
    alone = World(spark, folder, Query(query.sql, clean))
    assert given_ == multiset(alone.plain())


def _replaced(table: Table, places: set[int], edits: bool) -> tuple[tuple[Any, ...], ...]:
    rows = [(_edited(table.name, row) if place in places else row) for place, row in enumerate(table.rows) if edits or place not in places]
    return tuple(rows)


def _edited(table: str, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """``a`` is another number."""
    place = [field.split()[0] for field in SCHEMAS[table].split(", ")].index("a")
    return tuple((value or 0) + 1 if i == place else value for i, value in enumerate(row))


def _other(row: Any) -> tuple[Any, ...]:
    return tuple((value or 0) + 1 if name == "a" else value for name, value in row.asDict().items())


@pytest.mark.slow
@HALF
@given(planted_in_tables(), st.sampled_from(["localize", "lineage"]))
def test_8_a_cleaned_query_is_a_clean_one_on_what_is_left(dbg: Any, spark: Any, folder: Path, drawn: Any, suspects: str) -> None:
    step, tables, _ = drawn
    world = World(spark, folder, Query(sql_of(step), tables))
    rows = world.plain()
    keys = len(step.columns)

    def quality(row: Any) -> float:
        return -float(max((value for value in row[keys:] if value is not None), default=0))

    assume(any(quality(row) < -1_000_000 for row in rows))
    _seen["asked"] += 1
    try:
        found = dbg.clean(spark.sql(world.sql), quality, enough=-1_000_000, rounds=2, suspects=suspects)
    except (LocalizeError, ReplayError) as refused:
        event(f"refused: {str(refused)[:80]}")
        return
    _seen["answered"] += bool(found.removed)
    note(f"{found}")
    removed = {(record.origin.dataset, record.origin.index) for record in found.removed}
    event(f"{len(removed)} removed")
    left = tuple(Table(table.name, tuple(row for place, row in enumerate(table.rows) if (table.name, place) not in removed)) for table in tables)
    assert multiset(found.outputs) == multiset(World(spark, folder, Query(world.sql, left)).plain())
    improves(found, list(map(quality, rows)), list(map(quality, found.outputs)))
