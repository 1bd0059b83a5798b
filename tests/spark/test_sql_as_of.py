"""As-of joins: to each row the nearest of the other side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.errors import ParseException
from pyspark.sql import functions as F

from bigdebug.errors import NondeterminismError
from tests.spark.oracle import check, restored


@pytest.fixture(scope="module")
def views(spark: Any) -> Iterator[dict[str, Any]]:
    known = {
        "quotes": spark.createDataFrame(
            [(1, "a", "x"), (2, "b", "y"), (3, "b", "z"), (7, "a", "w"), (11, "a", "v"), (None, "a", "u")], "t int, k string, q string",
        ),
        "trades": spark.createDataFrame([(1, "a", 10), (5, "b", 20), (10, "a", 30), (None, "a", 1), (0, "a", 2)], "t int, k string, v int"),
    }
    restored(known)
    yield known
    for name in known:
        spark.catalog.dropTempView(name)


def rows_of(trace: Any, name: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in trace[name].collect()]


@pytest.mark.many
@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize("direction", ["backward", "forward", "nearest"])
def test_a_row_is_made_of_two(how: str, direction: str, dbg: Any, spark: Any, views: dict[str, Any]) -> None:
    trades, quotes = spark.table("trades"), spark.table("quotes")
    frame = trades._joinAsOf(
        quotes, leftAsOfColumn="t", rightAsOfColumn="t", on="k", how=how, direction=direction, tolerance=F.lit(3),
    )
    with dbg.capture():
        result = frame.collect()
    assert result
    for row in result:
        back = dbg.lineage(frame).where(row).goBackAll()
        assert rows_of(back, "trades") == [tuple(row[:3])]
        assert rows_of(back, "quotes") == ([tuple(row[3:])] if row[5] is not None else [])
        assert row in back["trades"].goNextAll().collect()


def test_equally_near_rows_are_refused(dbg: Any, spark: Any, views: dict[str, Any]) -> None:
    quotes = spark.table("quotes")
    frame = spark.table("trades")._joinAsOf(quotes.union(quotes), leftAsOfColumn="t", rightAsOfColumn="t")
    for _ in range(2):  # a refusal is not forgotten
        with pytest.raises(NondeterminismError, match="equally near"):
            dbg.lineage(frame).goBackAll().count()


SQL = [
    "select * from trades asof join quotes match_condition (trades.t >= quotes.t) on trades.k = quotes.k",
    "select * from trades left asof join quotes match_condition (trades.t <= quotes.t) on trades.k = quotes.k",
    "select q, sum(v) from trades asof join quotes match_condition (trades.t >= quotes.t) on trades.k = quotes.k group by q",
    # Of a group that is the nearest to no row, a part may be.
    "select trades.t, q.m from trades left asof join (select k, min(t) m from trades group by k) q match_condition (trades.t <= q.m)",
]


@pytest.mark.many
@pytest.mark.parametrize("sql", SQL)
def test_in_sql(sql: str, dbg: Any, spark: Any, views: dict[str, Any]) -> None:
    name = "spark.sql.join.asofJoin.enabled"
    spark.conf.set(name, "true")
    try:
        check(dbg, sql, views, spark.sql(sql).collect())
    except ParseException:
        pytest.skip("this Spark has no ASOF JOIN in SQL")
    finally:
        spark.conf.unset(name)
