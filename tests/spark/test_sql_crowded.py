"""Rows that were made together, of the same records or of none: each has its own lineage, whatever the strategy."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from pyspark.sql import functions as F

from bigdebug import DebugSession
from tests.spark.oracle import check, restored


@pytest.fixture(scope="module")
def views(spark: Any) -> Iterator[dict[str, Any]]:
    known = {
        "t": spark.createDataFrame([(1, 10), (2, 20), (2, 30), (None, 40)], "k int, x int"),
        "u": spark.createDataFrame([(3, "x"), (5, "y"), (5, "z"), (8, "w")], "k int, n string"),
        "v": spark.createDataFrame([(0, [3, 5, 7]), (1, [3, 3]), (4, [9])], "k int, a array<int>"),
    }
    restored(known)
    yield known
    for name in known:
        spark.catalog.dropTempView(name)


@pytest.fixture(params=["lazy", "inject"])
def strategy(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def traced(dbg: DebugSession, sql: str, strategy: str) -> Any:
    """The lineage of a query that was captured; with its index, where the strategy makes one."""
    frame = dbg.spark.sql(sql)
    with dbg.capture(strategy=strategy):
        frame.collect()
    return dbg.lineage(frame)


def held(trace: Any, *names: str) -> list[list[tuple[Any, ...]]]:
    return [sorted(tuple(row) for row in trace[name].collect()) if name in trace.inputs else [] for name in names]


OF_NO_RECORD = [
    "select (select max(x) from t) a, (select count(*) from u) b",
    "select (select max(x) from t) a, (select count(*) from u) b limit 1",
    "select exists (select 1 from t where x > 20) e",
    "select 1 a where 1 in (select k from t)",
    "select (select max(x) from t) a union all select 3",
    "select e from explode(array(1, 2, 3)) q(e) where e in (select k from t)",
    "select a, row_number() over (order by a) n from (select (select max(x) from t) a)",
]


@pytest.mark.many
@pytest.mark.parametrize("sql", OF_NO_RECORD)
def test_rows_that_only_subqueries_made(sql: str, dbg: DebugSession, views: dict[str, Any]) -> None:
    check(dbg, sql, views, dbg.spark.sql(sql).collect())


@pytest.mark.many
@pytest.mark.parametrize("sql", OF_NO_RECORD[:2])
def test_a_row_of_counts_is_made_of_all_that_was_counted(sql: str, strategy: str, dbg: DebugSession, views: dict[str, Any]) -> None:
    trace = traced(dbg, sql, strategy)
    [row] = trace.collect()
    back = trace.where(row).goBackAll()
    assert {name: back[name].count() for name in back.inputs} == {"t": 4, "u": 4}
    assert trace.goBackAll()["u"].where("k = 8").goNextAll().collect() == [row]
    assert len(trace.where(row).how().terms) == 1


def test_what_asked_a_subquery_is_ahead_of_it_and_no_other_row(strategy: str, dbg: DebugSession, views: dict[str, Any]) -> None:
    sql = "select x, 'big' c from t where x >= (select max(k) * 4 from u) union all select x, 'small' from t where x < 15"
    trace = traced(dbg, sql, strategy)
    assert [tuple(row) for row in trace.goBackAll()["u"].where("n = 'x'").goNextAll().collect()] == [(40, "big")]
    assert held(trace.where("c = 'small'").goBackAll(), "t", "u") == [[(1, 10)], []]


@pytest.mark.many
@pytest.mark.parametrize("condition", ["e in (select k from u)", "exists (select 1 from u where u.k = e)"])
def test_exploded_rows_match_by_themselves(condition: str, strategy: str, dbg: DebugSession, views: dict[str, Any]) -> None:
    trace = traced(dbg, f"select k, e from v lateral view explode(a) x as e where {condition}", strategy)
    of_three = trace.where("k = 0 and e = 3")
    assert held(of_three.goBackAll(), "v", "u") == [[(0, [3, 5, 7])], [(3, "x")]]
    assert len(of_three.how().terms) == 1
    assert len(trace.where("k = 0 and e = 5").how().terms) == 2
    assert [row.e for row in trace.goBackAll()["u"].where("n = 'y'").goNextAll().collect()] == [5]


def test_exploded_rows_have_one_way_each(strategy: str, dbg: DebugSession, views: dict[str, Any]) -> None:
    trace = traced(dbg, "select k, e from v lateral view explode(a) x as e", strategy)
    assert str(trace.where("e = 5").how()) == "v[0]"
    assert len(trace.where("k = 1").how().terms) == 2  # the row is there twice
    unpivoted = traced(dbg, "select * from t unpivot (val for c in (k, x))", strategy)
    assert str(unpivoted.where("val = 20").how()) == "t[1]"


def test_exploded_sums_are_found_though_their_last_digits_vary(dbg: DebugSession, spark: Any) -> None:
    rows = spark.range(1000).selectExpr("id % 3 k", "id / 7 x").groupBy("k").agg(F.sum("x").alias("s"))
    frame = rows.select("k", F.explode(F.array("s", F.col("s") * 2)).alias("e"))
    trace = dbg.lineage(frame)
    assert [trace.where({"k": k}).goBackAll().count() for k in range(3)] == [334, 333, 333]


def test_times_within_others_tell_rows_apart(dbg: DebugSession, spark: Any) -> None:
    moments = [datetime(2024, 1, 1, 0, 0, 0, micro) for micro in (1, 2)]
    rows = spark.createDataFrame([([(moment, 1) for moment in moments],)], "a array<struct<at: timestamp, v: int>>")
    frame = rows.select(F.explode("a").alias("e"))
    trace = dbg.lineage(frame)
    assert trace.where(lambda row: row.e.at == moments[0]).count() == 1
    assert len(trace.where(lambda row: row.e.at == moments[0]).collect()) == 1


def test_groups_by_what_is_nested(dbg: DebugSession, spark: Any) -> None:
    rows = spark.createDataFrame(
        [(1, ("a", None), [1, None]), (2, (None, "a"), [None, 1]), (3, ("a", None), [1])], "id int, s struct<l: string, r: string>, a array<int>",
    )

    def largest(pdf: Any) -> Any:
        return pdf[["id"]].tail(1)

    by_struct = dbg.lineage(rows.groupBy("s").applyInPandas(largest, "id int"))
    assert [row.id for row in by_struct.where("id = 2").goBackAll().collect()] == [2]
    by_array = dbg.lineage(rows.groupBy("a").applyInPandas(largest, "id int"))
    assert [[row.id for row in by_array.where({"id": i}).goBackAll().collect()] for i in (1, 2, 3)] == [[1], [2], [3]]
