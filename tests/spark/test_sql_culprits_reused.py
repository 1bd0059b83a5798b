"""Crash culprits of what a query has several times and Spark computes once: each is told once, and one choice decides it (FEATURES B1, B3)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.spark.test_sql_culprits import culprits_of

MERGED = "select (select max(cast(v as int)) from reused) a, (select count(*) from reused) b, (select min(id) from reused) c"
ASKED_TWICE = "with m as (select max(cast(v as int)) x from reused) select id from reused where id < (select x from m) or 2 * id < (select x from m) order by id"
GROUPS = "with c as (select id % 3 g, sum(cast(v as int)) s from reused group by id % 3) select a.g, a.s, b.s t from c a join c b on a.g = b.g order by a.g"

ONCE: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "subqueries that Spark makes one of": (MERGED, [(9, 9, 0)]),
    "a subquery that is asked twice": (ASKED_TWICE, [(i,) for i in range(9)]),
    "groups that are joined with themselves": (GROUPS, [(0, 18, 18), (1, 8, 8), (2, 15, 15)]),
}


@pytest.fixture
def rows(spark: Any) -> Any:
    frame = spark.createDataFrame([(i, "x" if i == 4 else str(i)) for i in range(10)], "id int, v string")
    frame.createOrReplaceTempView("reused")
    return frame


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("what", ONCE)
def test_a_row_that_throws_once_is_told_once(what: str, dbg: Any, spark: Any) -> None:
    query, left = ONCE[what]
    found = culprits_of(dbg, spark.sql(query))
    (culprit,) = found
    assert (culprit.record.v, found.unknown) == ("x", [])
    assert [source.record.id for source in culprit.sources] == [4]
    assert [tuple(row) for row in dbg.runs[-1].resume(skip=[culprit]).result] == left


def test_a_row_that_is_repaired_is_repaired_for_all_that_read_it(dbg: Any, spark: Any, rows: Any) -> None:
    (culprit,) = culprits_of(dbg, spark.sql(GROUPS))
    mended = type(culprit.record)(**{**culprit.record.asDict(), "v": "100"})
    assert [tuple(row) for row in dbg.runs[-1].resume(repair={culprit: mended}).result] == [(0, 18, 18), (1, 108, 108), (2, 15, 15)]


@pytest.mark.usefixtures("rows")
def test_what_spark_is_told_to_compute_each_time_is_told_each_time(dbg: Any, spark: Any) -> None:
    settings = ("spark.sql.execution.reuseSubquery", "spark.sql.exchange.reuse")
    for setting in settings:
        spark.conf.set(setting, "false")
    try:
        for query in (ASKED_TWICE, GROUPS):
            assert [culprit.record.v for culprit in culprits_of(dbg, spark.sql(query))] == ["x", "x"]
    finally:
        for setting in settings:
            spark.conf.unset(setting)


def test_filters_beside_one_another_above_one_cache(dbg: Any, spark: Any, rows: Any) -> None:
    cached = rows.selectExpr("id", "upper(v) w").cache()
    cached.createOrReplaceTempView("cached_once")
    try:
        found = culprits_of(dbg, spark.sql(
            "select * from cached_once where id < 5 and 10 div (id - 1) < 100 union all select * from cached_once where id >= 5 and 10 div (id - 9) < 100",
        ))
        assert sorted(culprit.record.id for culprit in found) == [1, 9]
        assert sorted(row.id for row in dbg.runs[-1].resume(skip=True).result) == [0, 2, 3, 4, 5, 6, 7, 8]
    finally:
        cached.unpersist()
