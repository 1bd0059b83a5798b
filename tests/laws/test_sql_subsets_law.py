"""What localization takes for granted: a query over many sets of records at once gives of each set what it gives of that set alone."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, event, example, given, note, settings
from hypothesis import strategies as st
from pyroaring import BitMap
from pyspark.errors import PySparkException

from bigdebug.agents.judges import Judge
from bigdebug.errors import LocalizeError, NondeterminismError, UnknownOperatorError, UntraceableError
from bigdebug.spark.sql.inquiry.candidates import CandidateRows, standing_of
from bigdebug.spark.sql.inquiry.judging import ByFunction
from bigdebug.spark.sql.inquiry.subsets import PROCEDURES
from bigdebug.spark.sql.inquiry.triable import Told, check_triable
from bigdebug.spark.sql.inquiry.tried import Tried
from bigdebug.spark.sql.inquiry.trying import Trying, trying_session
from tests.laws.sql_programs import SCHEMAS, Query, Table, queries
from tests.laws.test_sql_laws import FIXED, World, folder, multiset, sample, some

MANY = int(os.environ.get("LAW_EXAMPLES", "10"))
__all__ = ["folder"]


class Sets:
    """Sets of the rows of all tables of a query."""

    def __init__(self, dbg: Any, world: World, query: Query) -> None:
        self._query = query
        questions = dbg.lineage(world.spark.sql(query.sql)).run.questions
        check_triable(questions.catalyst, questions.root, PROCEDURES)
        catalyst, steps = trying_session(questions.catalyst), questions.steps()
        told = Told(catalyst, steps.root)
        self._standing = standing_of(questions, dict.fromkeys(questions.leaves))
        candidates = CandidateRows(questions, [self._standing])
        self.size = len(candidates.numbers[0])
        subject = Tried(np.arange(self.size), None, ())
        self._trying = Trying(catalyst, steps.root, told, candidates.held(catalyst), [subject], ByFunction(Judge(len, whole=True)), lambda: None)
        self._names = {source: questions.leaves[source].dataset for source in self._standing}

    def given(self, sets: list[BitMap]) -> list[Counter[str]]:
        """What the query gives of each of them, all tried at once."""
        return [multiset(each.row for each in rows) for rows in self._trying.given([(0, each) for each in sets], 0, 0)]

    def tables(self, chosen: BitMap) -> tuple[Table, ...]:
        """The tables, of those that the query reads only the rows that are chosen."""
        found, begins = {table.name: table for table in self._query.tables}, 0
        for source in sorted(self._standing):
            table = found[self._names[source]]
            rows = tuple(row for i, row in enumerate(table.rows) if begins + i in chosen)
            found[table.name] = Table(table.name, rows)
            begins += len(table.rows)
        return tuple(found.values())


@pytest.mark.slow
@settings(max_examples=MANY, deadline=None, suppress_health_check=[*HealthCheck])
@given(queries(files=False), st.randoms(use_true_random=False))
@example(Query("select count(*) n, max(a) m from t where b > (select min(a) from w)", FIXED), Random(0))
@example(Query("select a, count(*) n from t group by rollup(a)", FIXED), Random(0))
@example(Query("select * from t where a not in (select a from w)", FIXED), Random(0))
@example(Query("select t.id, w.b from t full join w on t.a = w.a", FIXED), Random(1))
@example(Query("select id, b, sum(b) over (partition by a order by id) s from (select * from t order by b desc, id limit 2 offset 1)", FIXED), Random(2))
@example(Query("select x.id, y.id from t x left join t y on x.a = y.b union all select a, b from w", FIXED), Random(3))
@example(Query("select s from t except all select s from u", FIXED), Random(4))
def test_7_many_sets_at_once_give_what_each_gives_alone(dbg: Any, spark: Any, folder: Path, query: Query, random: Any) -> None:
    world = World(spark, folder, query)
    world.plain()
    try:
        sets = Sets(dbg, world, query)
    except (LocalizeError, NondeterminismError, UntraceableError) as refused:
        event(f"refused: {str(refused)[:90]}")
        assume(False)
    chosen = [BitMap(), BitMap(range(sets.size)), *(BitMap(i for i in range(sets.size) if random.random() < 0.6) for _ in range(2))]
    note(f"{chosen}")
    try:
        together = sets.given(chosen)
    except PySparkException as problem:  # of what the query computes of one of them
        event(f"raised: {problem.getCondition()}")
        assume(False)
    for each, rows in zip(chosen, together):
        alone = World(spark, folder, Query(query.sql, sets.tables(each)))
        assert rows == multiset(alone.spark.sql(query.sql).collect()), f"of {each}"


_seen: Counter[str] = Counter()


@pytest.fixture
def much_is_found() -> Iterator[None]:
    """A law about what is found says nothing where nothing is."""
    _seen.clear()
    yield
    assert _seen["found"] * 2 >= _seen["asked"] > 0, _seen


def without(query: Query, alive: set[tuple[str, int]], removed: set[tuple[str, int]]) -> Query:
    """The query on the tables' rows that are alive, less those that are removed."""
    return Query(query.sql, tuple(
        Table(table.name, tuple(row for i, row in enumerate(table.rows) if (table.name, i) in alive - removed)) for table in query.tables
    ))


@settings(max_examples=max(1, MANY // 3), deadline=None, suppress_health_check=[*HealthCheck])
@given(queries(files=False), st.randoms(use_true_random=False))
@example(Query("select x.a, count(*) n from t x join t y on x.a = y.a group by x.a", FIXED), Random(0))
@pytest.mark.usefixtures("much_is_found")
def test_7_without_what_is_named_the_result_is_right_and_without_less_it_is_not(dbg: Any, spark: Any, folder: Path, query: Query, random: Any) -> None:
    """Of any query and a row that is not to be there, as running the query itself says, on what the result was made of. Of rows that are to be there and right: test_sql_localize_law.py."""
    world = World(spark, folder, query)
    rows = world.plain()
    some(rows)
    text = repr(sample(random, rows, 1)[0])
    frame = spark.sql(query.sql)
    try:
        found = dbg.localize(frame, whole=lambda rows: text in map(repr, rows))
        alive = {(each.origin.dataset, each.origin.index) for each in dbg.lineage(frame).goBackAll().source_records()}
    except (LocalizeError, UnknownOperatorError) as refused:  # the latter where no table is read
        event(f"refused: {str(refused)[:90]}")
        assume(False)
    note(f"{text}: {found}")
    assert found.verdict in ("culprit", "ambiguous")
    assert found.fault_sets or found.incomplete, "nothing was found, and nobody says why"
    _seen["asked"] += 1
    _seen["found"] += bool(found.fault_sets)

    def is_there(removed: set[tuple[str, int]]) -> bool:
        alone = without(query, alive, removed)
        return text in map(repr, World(spark, folder, alone).spark.sql(alone.sql).collect())

    for fault in found.fault_sets:
        named = {(each.origin.dataset, each.origin.index) for each in fault.records}
        assert not is_there(named)
        assert all(is_there(named - {each}) for each in named)


assert set(SCHEMAS) == {"t", "u", "v", "w"}
