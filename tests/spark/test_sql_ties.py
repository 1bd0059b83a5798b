"""Ties: rows that an order does not tell apart, where something hangs on which of them comes first."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

from bigdebug import DebugSession
from bigdebug.errors import NondeterminismError, UnknownRecordError


@pytest.fixture(scope="module")
def rows(spark: Any) -> Any:
    """In each group of ``k`` three rows: ``a`` ties the last two, ``c`` all; ``id`` tells them apart."""
    return spark.range(30).selectExpr("id", "id % 10 k", "least(id div 10, 1) a", "1 c", "id div 10 v").repartition(5)


def numbered(rows: Any, order: str) -> Any:
    return rows.withColumn("n", F.row_number().over(Window.partitionBy("k").orderBy(order)))


def test_a_condition_on_tied_numbers_is_refused(dbg: DebugSession, rows: Any) -> None:
    for chosen in ("n = 1 and v = 0", "n <= 2", "n > 1", "n % 2 = 0"):
        counted = numbered(rows, "c").where(chosen).groupBy("k").count()
        with pytest.raises(NondeterminismError, match=r"Window.*numbers rows.*Filter.*decides.*Order the window by more columns"):
            dbg.lineage(counted).where("k = 2").goBackAll().collect()


def test_ties_on_one_side_of_the_border_do_no_harm(dbg: DebugSession, rows: Any) -> None:
    for first in (numbered(rows, "a").where("n = 1 and v = 0"), numbered(rows, "a").withColumnRenamed("n", "place").where("place < 2")):
        [row] = dbg.lineage(first).where("k = 2").goBackAll().collect()
        assert row.id == 2
    with pytest.raises(NondeterminismError, match="numbers rows"):
        dbg.lineage(numbered(rows, "a").where("n <= 2")).where("k = 2").goBackAll().collect()


def test_ties_that_decide_nothing(dbg: DebugSession, rows: Any) -> None:
    ranked = rows.withColumn("r", F.rank().over(Window.partitionBy("k").orderBy("c"))).where("r = 1").groupBy("k").count()
    assert dbg.lineage(ranked).where("k = 2").goBackAll().count() == 3
    sorted_rows = numbered(rows, "c").orderBy("n").select("id", "k")
    assert dbg.lineage(sorted_rows).where("id = 7").count() == 1


def test_a_window_whose_order_tells_rows_apart(dbg: DebugSession, rows: Any) -> None:
    counted = numbered(rows, "id").where("n % 2 = 0").groupBy("k").count()
    assert sorted(row.id for row in dbg.lineage(counted).where("k = 2").goBackAll().collect()) == [2, 12]  # what was numbered before it


@pytest.mark.parametrize("function", [
    "nth_value(v, 2) over (order by k rows between unbounded preceding and unbounded following)",
    "first_value(nullif(v, 0)) ignore nulls over (order by k rows between unbounded preceding and unbounded following)",
])
def test_a_value_from_the_middle_of_tied_rows(function: str, dbg: DebugSession, rows: Any) -> None:
    rows.createOrReplaceTempView("tied_rows")
    with pytest.raises(NondeterminismError, match="tell all of them apart"):
        dbg.lineage(dbg.spark.sql(f"select id, {function} x from tied_rows")).where("id = 9").goBackAll().collect()


def test_a_row_that_the_query_gives_no_more(dbg: DebugSession, rows: Any) -> None:
    summed = rows.groupBy("k").agg(F.sum(F.col("id") / 7).alias("s"))
    [row] = summed.where("k = 3").collect()
    changed = row.__class__(**{**row.asDict(), "s": row.s * (1 + 1e-13)})
    assert dbg.lineage(summed).where(changed).goBackAll().count() == 3  # sums come out a little otherwise in another order
    with pytest.raises(UnknownRecordError, match=r"gives no row .*k=3.* now"):
        dbg.lineage(summed).where(row.__class__(k=3, s=-1.0)).count()


def test_rows_of_an_rdd_that_arrive_in_any_order(dbg: DebugSession, spark: Any) -> None:
    rdd = spark.sparkContext.parallelize(range(2000), 6).map(lambda i: (i % 500, i)).groupByKey(4).map(lambda pair: (pair[0], max(pair[1])))
    frame = spark.createDataFrame(rdd, "k int, m int").where("k < 400")
    counted = frame.groupBy((F.col("k") % 10).alias("d")).count()
    for digit in range(4):
        back = dbg.lineage(counted).where(f"d = {digit}").goBackAll()
        assert {row.k % 10 for row in back.collect()} == {digit}
        assert back.count() == 40
