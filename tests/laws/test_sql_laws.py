"""The laws of DESIGN section 6 over random SQL, on real Spark."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, event, example, given, note, settings
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from bigdebug.errors import NondeterminismError, UntraceableError
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.spark.sql.walks import traced
from tests.laws.sql_programs import SCHEMAS, Query, Table, exact_programs, meaning, queries, sql_of

MANY = int(os.environ.get("LAW_EXAMPLES", "10"))
FEW = settings(max_examples=MANY, deadline=None, suppress_health_check=[*HealthCheck])
SOME = settings(FEW, max_examples=MANY * 2 // 3)

_numbers = count()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For the tables that are kept in files; each gets a folder of its own."""
    return tmp_path_factory.mktemp("tables")


def multiset(rows: Any) -> Counter[str]:
    return Counter(map(repr, rows))


def sample(random: Any, rows: Any, most: int) -> list[Any]:
    """Some of the rows, of equal ones one."""
    distinct = [row for _, row in sorted({repr(row): row for row in rows}.items())]
    return list(random.sample(distinct, min(most, len(distinct))))


def some(rows: list[Any]) -> None:
    """Rejects an example that gives nothing to ask about."""
    if not rows:
        event("no rows")
        assume(False)


class World:
    """The tables of one query as views, and what the query gives without capture."""

    def __init__(self, spark: Any, folder: Path, query: Query) -> None:
        note(f"{query.sql}\n" + "\n".join(map(repr, query.tables)))
        self.spark = spark
        self.sql = query.sql
        self.bases = {table.name: table.frame(spark, folder / str(next(_numbers))) for table in query.tables}
        self.restore()

    def restore(self) -> None:
        for name, frame in self.bases.items():
            frame.createOrReplaceTempView(name)

    def plain(self) -> list[Any]:
        """The rows; rejects the example if Spark does not run it."""
        try:
            rows: list[Any] = self.spark.sql(self.sql).collect()
        except (PySparkException, Py4JJavaError) as problem:  # the latter where its optimizer fails
            event(f"Spark refuses: {problem.getCondition() if isinstance(problem, PySparkException) else problem.java_exception}")
            assume(False)
        return rows

    @contextmanager
    def replaced(self, lineage: LineageFrame | None) -> Iterator[None]:
        """Every table is what the lineage holds of it."""
        inputs = () if lineage is None else inputs_of(lineage)
        for name, frame in {
            name: lineage[name].toDF() if name in inputs else base.limit(0) for name, base in self.bases.items()
        }.items():
            frame.createOrReplaceTempView(name)
        try:
            yield
        finally:
            self.restore()


_asked: Counter[str] = Counter()


@pytest.fixture(scope="module", autouse=True)
def most_is_answered() -> Iterator[None]:
    """Queries here are settled, so a refusal is the exception: a part of Spark's own rewriting that has an order no more."""
    _asked.clear()
    yield
    assert _asked["refused"] <= max(2, _asked["asked"] // 10), _asked


@contextmanager
def refusable() -> Iterator[None]:
    """What may be refused, is: the rest of the example is passed over."""
    _asked["asked"] += 1
    try:
        yield
    except (NondeterminismError, UntraceableError) as refused:
        _asked["refused"] += 1
        _asked[f"{type(refused).__name__}: {str(refused)[:80]}"] += 1
        event(f"refused: {type(refused).__name__}")
        note(f"refused: {refused}")
        assume(False)


def captured(dbg: Any, world: World) -> tuple[Any, list[Any]]:
    frame = world.spark.sql(world.sql)
    with dbg.capture("law") as run:
        rows = frame.collect()
    assert run.incomplete == ()
    return frame, rows


def sources(trace: LineageFrame) -> tuple[int, ...]:
    return tuple(trace.run.questions.leaves)


def inputs_of(lineage: LineageFrame) -> list[str]:
    """The tables that a trace stands at; those of a table read twice are one."""
    return sorted({lineage.run.datasets()[operator] for operator in lineage.operators})


def back(dbg: Any, frame: Any, row: Any) -> LineageFrame | None:
    """The lineage of a row; None if the query reads nothing."""
    trace = dbg.lineage(frame).where(row)
    if not sources(trace):
        return None
    lineage = trace.goBackAll()
    _ = lineage.standing  # a trace is followed when it is first asked, and what is refused is refused here
    return lineage


@SOME  # law 6 compares the rows, too
@given(queries())
def test_1_transparency(dbg: Any, spark: Any, folder: Path, query: Query) -> None:
    """Captured or not: the same rows under the same schema."""
    world = World(spark, folder, query)
    expected = world.plain()
    frame, rows = captured(dbg, world)
    assert multiset(rows) == multiset(expected)
    assert frame.schema == spark.sql(query.sql).schema
    with refusable():
        trace = dbg.lineage(frame)
        assert multiset(trace.collect()) == multiset(expected)


FIXED = (
    Table("t", ((0, 1, 0, "p"), (1, 2, 1, "q"), (2, 2, 2, "p"))), Table("u", ((0, 1, "p", 0.0), (1, 2, "q", -0.0))), Table("v", ()), Table("w", ((1, 1),)),
)

OUTER = "select coalesce(z.s, 'p') c, count(*) n from t x left join w on x.b = w.b left join t z on x.a = z.id group by 1"


@FEW
@given(queries(), st.randoms(use_true_random=False))
# What was not there, counted or removed: an aggregate to the right of an anti join, and an anti join below a subquery.
@example(Query("select id from t where b = 0 and b not in (select count(*) from u)", FIXED), Random(0))
@example(Query("select (select count(*) from t where not exists (select 1 from w where w.a = t.a)) n, id from t", FIXED), Random(0))
# Which left rows an outer join found nothing for, one within the side of another.
@example(Query(OUTER, FIXED), Random(0))
def test_3_sufficiency(dbg: Any, spark: Any, folder: Path, query: Query, random: Any) -> None:
    """Run on the lineage of a row alone, the query gives it again; run on that of all rows, all of them."""
    world = World(spark, folder, query)
    some(world.plain())
    frame, rows = captured(dbg, world)
    for row in sample(random, rows, 2):
        with refusable():
            lineage = back(dbg, frame, row)
        with world.replaced(lineage):
            again = world.spark.sql(query.sql).collect()
            if repr(row) not in map(repr, again):  # what is no number is not equal to itself in Python
                held = {name: world.spark.table(name).collect() for name in world.bases}
                note(f"{row} was computed from {held}, which give {again}")
        assert repr(row) in map(repr, again)
    with refusable():
        whole = dbg.lineage(frame).goBackAll() if sources(dbg.lineage(frame)) else None
        _ = whole and whole.standing
    with world.replaced(whole):
        assert multiset(spark.sql(query.sql).collect()) == multiset(rows)


@SOME
@given(queries(), st.randoms(use_true_random=False))
# Ahead of rows that removed others there is nothing.
@example(Query("select t.id from t left anti join w on t.a = w.a", FIXED), Random(0))
@example(Query("select t.id from t left anti join w on t.a = w.a", FIXED), Random(1))
# Drawn: read once, and yet all of another relation is behind, or all of a window.
@example(Query("select a c from t union select n from (select count(*) n from w) where n > 0", FIXED), Random(0))
@example(Query("select n, count(*) from (select sum(id) over (order by id rows between 1 preceding and 1 following) n from t) group by n", FIXED), Random(0))
def test_2_duality(dbg: Any, spark: Any, folder: Path, query: Query, random: Any) -> None:
    """A row is ahead of a source's row if and only if that one is behind it.

    What an anti join removed is behind a row where a relation is read twice, and it had no part in it going ahead. So is the rest of a group or a
    window of which a lineage has a part, and what is counted in any case, where something hangs on what comes of them.
    """
    world = World(spark, folder, query)
    some(world.plain())
    frame, rows = captured(dbg, world)
    row = sample(random, rows, 1)[0]
    with refusable():
        trace = dbg.lineage(frame).where(row)
        behind = traced(trace.run.questions.steps(), trace.standing)[1]
        lineage = trace.goBackAll() if sources(trace) else None
    if lineage is None:
        return
    for name in inputs_of(lineage):
        with refusable():
            assert len(lineage[name].collect()) == lineage[name].count()
    for source in random.sample(sources(trace), min(2, len(sources(trace)))):
        every = set(LineageFrame(trace.run, [source], lambda source=source: {source: None}).rids().tolist())
        mine = set(rids(behind.get(source)))
        whole = set(rids(lineage.standing.get(source)))
        assert mine <= whole <= every
        if trace.run.questions.by_steps:
            assert mine == whole
        for rid in [*random.sample(sorted(mine), min(1, len(mine))), *random.sample(sorted(every - mine), min(1, len(every - mine)))]:
            at = LineageFrame(trace.run, [source], lambda source=source, rid=rid: {source: pa.array([rid], pa.int64())})
            with refusable():
                ahead = at.goNextAll().collect()
            note(f"row {rid} of {trace.run.graph[source]} is{'' if rid in mine else ' not'} behind {row}; ahead of it are {ahead}")
            assert (repr(row) in map(repr, ahead)) == (rid in mine)


def rids(names: Any) -> list[int]:
    return [] if names is None else names.to_pylist()


def combined(dbg: Any, frame: Any, row: Any) -> LineageFrame:
    """The lineage of a row, without what a query that reads a table twice needs for the row to come out again."""
    trace = dbg.lineage(frame).where(row)
    names = list(trace.run.datasets().values())
    if len(set(names)) == len(names):
        return trace.goBackAll()
    found = traced(trace.run.questions.steps(), trace.standing)[1]
    return LineageFrame(trace.run, sources(trace), lambda: found)


@FEW
@given(exact_programs(), st.randoms(use_true_random=False))
def test_4_precision(dbg: Any, spark: Any, folder: Path, program: Any, random: Any) -> None:
    """The lineage of a row of filters, inner joins and groups is exactly what was combined, no superset."""
    step, made = program
    world = World(spark, folder, Query(sql_of(step), made))
    given_rows: dict[str, Table] = {table.name: table for table in made}
    expected = meaning(step, given_rows)
    frame, rows = captured(dbg, world)
    assert Counter(map(tuple, rows)) == Counter(row for row, _ in expected)
    for row in sample(random, rows, 3):
        want = frozenset().union(*(lineage for values, lineage in expected if values == tuple(row)))
        lineage = combined(dbg, frame, row)
        got = {(name, repr(tuple(r)), n) for name in inputs_of(lineage) for r, n in Counter(lineage[name].collect()).items()}
        behind = Counter((name, given_rows[name].rows[i]) for name, i in want)
        note(f"{row}: got {sorted(got)}, want {sorted(behind.items(), key=repr)}")
        assert got == {(name, repr(r), n) for (name, r), n in behind.items()}


@SOME
@given(queries(), st.randoms(use_true_random=False))
def test_5_strategies_agree(dbg: Any, spark: Any, folder: Path, query: Query, random: Any) -> None:
    """Derived when asked, looked up in an index or kept when the query ran: the same rows behind a row, and ahead of one."""
    world = World(spark, folder, query)
    expected = world.plain()
    some(expected)
    row, place, found = sample(random, expected, 1)[0], random.random(), []
    for strategy in ("lazy", "defer", "inject"):
        frame = spark.sql(query.sql)
        with dbg.capture("law", strategy=strategy):
            frame.collect()
        assert dbg.wait_for_indexes(60)
        with refusable():
            lineage = back(dbg, frame, row)
            if lineage is None:
                return
            behind = {name: lineage[name].rids().tolist() for name in inputs_of(lineage)}
            source = sources(lineage)[int(place * len(sources(lineage)))]
            every = LineageFrame(lineage.run, [source], lambda source=source: {source: None}).rids()
            some(every.tolist())
            one = pa.array(every[int(place * len(every)) :][:1], pa.int64())
            ahead = LineageFrame(lineage.run, [source], lambda source=source, one=one: {source: one}).goNextAll().collect()
        found.append((behind, multiset(ahead)))
        note(f"{strategy}: behind {row} are {behind}, ahead of {one} of {source} are {ahead}")
    assert all(each == found[0] for each in found)


_SETTINGS = [
    {"spark.sql.adaptive.enabled": adaptive, "spark.sql.ansi.enabled": ansi}
    for adaptive, ansi in (("true", "true"), ("false", "true"), ("true", "false"))
]


@contextmanager
def under(spark: Any, options: dict[str, str]) -> Iterator[None]:
    before = {name: spark.conf.get(name) for name in options}
    for name, value in options.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


@SOME
@given(queries(), st.randoms(use_true_random=False))
def test_6_stability_whatever_spark_is_set_to(dbg: Any, spark: Any, folder: Path, query: Query, random: Any) -> None:
    """Adaptive execution and ANSI mode on or off: the same lineage."""
    world = World(spark, folder, query)
    expected = world.plain()
    some(expected)
    row = sample(random, expected, 1)[0]
    found = []
    for options in _SETTINGS:
        with under(spark, options):
            frame, rows = captured(dbg, world)
            assert multiset(rows) == multiset(expected)
            with refusable():
                lineage = back(dbg, frame, row)
                found.append({} if lineage is None else {name: lineage[name].rids().tolist() for name in inputs_of(lineage)})
    note(f"{row}: {found}")
    assert all(each == found[0] for each in found)


assert set(SCHEMAS) == {"t", "u", "v", "w"}
