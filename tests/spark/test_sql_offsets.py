"""Limits with an offset: the rows that it skips are behind those that it keeps, however the query was captured (law 5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

STRATEGIES = ("lazy", "defer", "inject")

QUERIES = {
    "the whole result": ("select k, id from s order by id limit 2 offset 1", [0, 1]),
    "no limit": ("select id from s order by id offset 3", [0, 1, 2, 3]),
    "behind a filter": ("select * from (select * from s where id > 3) order by id limit 1 offset 1", [4, 5]),
    "all but the last": ("select id from s order by id limit 3 offset 9", list(range(10))),
    "ties that differ in nothing": ("select k from s order by k offset 4", [0, 1, 3, 4, 6, 7, 9]),
    "below a filter": ("select id + 1 from (select * from s order by id limit 5 offset 3) where k = 0 order by id", [0, 1, 2, 3]),
    "below a join": ("select a.id from (select * from s order by id limit 5 offset 3) a join m on a.id = m.id order by a.id", [0, 1, 2, 3]),
    "below groups": ("select k, sum(id) from (select * from s order by id limit 5 offset 3) group by k order by k", list(range(8))),
    "below another": ("select id from (select * from s order by id limit 6 offset 2) order by id desc limit 2 offset 1", list(range(8))),
}
"""Queries of numbers below ten, and those behind the first row of each."""


@pytest.fixture(autouse=True)
def views(spark: Any) -> Iterator[None]:
    spark.range(10).selectExpr("id", "id % 3 k").repartition(4, "id").createOrReplaceTempView("s")
    spark.createDataFrame([(number,) for number in range(2, 9)], "id long").createOrReplaceTempView("m")
    yield
    for name in ("s", "m"):
        spark.catalog.dropTempView(name)


def numbers(trace: Any) -> list[int]:
    name = next(name for name in trace.inputs if name != "m")
    return sorted({row.id for row in trace[name].collect()})


@pytest.mark.many
@pytest.mark.parametrize("asked", QUERIES)
def test_what_it_skips_is_behind_its_rows(asked: str, dbg: Any, spark: Any) -> None:
    sql, behind = QUERIES[asked]
    plain = spark.sql(sql).collect()
    for strategy in STRATEGIES:
        frame = spark.sql(sql)
        with dbg.capture(strategy=strategy):
            rows = frame.collect()
        assert rows == plain
        assert dbg.wait_for_indexes(60)
        trace = dbg.lineage(frame)
        assert numbers(trace.where(rows[0]).goBackAll()) == behind, strategy
        [source, *_] = [name for name in trace.inputs if name != "m"]
        first = trace.goBackAll()[source].where("id = 0")
        assert (rows[0] in first.goNextAll().collect()) == (0 in behind), strategy


@pytest.mark.many
@pytest.mark.parametrize("sql", ["select id from s order by id limit 0 offset 3", "select id from s order by id offset 20", "select id from s limit 5 offset 2147483000"])
def test_who_skips_all_is_answered_alike(sql: str, dbg: Any, spark: Any) -> None:
    behind = []
    for strategy in ("lazy", "inject"):
        with dbg.capture(strategy=strategy) as run:
            assert spark.sql(sql).collect() == []
        behind.append(numbers(dbg.lineage(run).goBackAll()))
    assert behind[0] == behind[1]


def test_of_ties_those_that_the_run_skipped_are_behind(dbg: Any, spark: Any) -> None:
    """Another execution might skip others: the run's own are kept."""
    with dbg.capture(strategy="inject") as run:
        rows = spark.sql("select k, id from s order by k limit 3 offset 2").collect()
    zeros = [row for row in rows if row.k == 0]
    assert len(rows) == 3
    assert len(zeros) == 2
    behind = numbers(dbg.lineage(run).where(rows[0]).goBackAll())
    assert len(behind) == 3
    assert set(behind) == {0, 3, 6, 9} - {zeros[1].id}
