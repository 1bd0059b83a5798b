"""Ties: rows that an order does not tell apart, where something hangs on which of them comes first."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

from bigdebug import DebugSession
from bigdebug.errors import NondeterminismError, UnknownRecordError
from tests.spark.oracle import check, check_whole, restored


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


@pytest.mark.slow
def test_ties_on_one_side_of_the_border_do_no_harm(dbg: DebugSession, rows: Any) -> None:
    for first in (numbered(rows, "a").where("n = 1 and v = 0"), numbered(rows, "a").withColumnRenamed("n", "place").where("place < 2")):
        [row] = dbg.lineage(first).where("k = 2").goBackAll().collect()
        assert row.id == 2
    with pytest.raises(NondeterminismError, match="numbers rows"):
        dbg.lineage(numbered(rows, "a").where("n <= 2")).where("k = 2").goBackAll().collect()


@pytest.mark.parametrize("sql", [
    "select x from (select x, nullif(row_number() over (partition by k order by y), 1) r from t) where r is not null",
    "select x from (select x, nullif(row_number() over (partition by k order by y), 1) r from t) unpivot (v for n in (r))",
    "select x, v from (select x, row_number() over (partition by k order by y) r from t) unpivot (v for n in (r)) where v < 2",
    """select x from t where x not in (select x from (select x, nullif(row_number() over (partition by k order by y), 1) r from t) where r is not null)""",
])
def test_what_is_made_of_tied_numbers_and_may_be_null_decides(sql: str, dbg: DebugSession, spark: Any) -> None:
    spark.createDataFrame([(1, 1, 10), (1, 1, 20), (1, 2, 30)], "k int, y int, x int").createOrReplaceTempView("t")
    with pytest.raises(NondeterminismError, match="numbers rows"):
        dbg.lineage(spark.sql(sql)).goBackAll().count()
    again = sql.replace("order by y", "order by y, x")
    assert dbg.lineage(spark.sql(again)).goBackAll()["t"].count()


def test_ties_that_decide_nothing(dbg: DebugSession, rows: Any) -> None:
    ranked = rows.withColumn("r", F.rank().over(Window.partitionBy("k").orderBy("c"))).where("r = 1").groupBy("k").count()
    assert dbg.lineage(ranked).where("k = 2").goBackAll().count() == 3
    sorted_rows = numbered(rows, "c").orderBy("n").select("id", "k")
    assert dbg.lineage(sorted_rows).where("id = 7").count() == 1


@pytest.mark.slow
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


DUPLICATED = [
    "select k, t from (select *, row_number() over (partition by k order by t desc) n from twice) where n = 1",
    "select k, sum(t) s from (select *, row_number() over (partition by k, t order by t) n from twice) where n = 1 group by k",
    (
        "select k, t from (select *, row_number() over (partition by k order by t) n, rank() over (partition by k order by t) r from twice) "
        "where n in (2, 4) and r = 3"
    ),
    "select k, b, count(*) c from (select *, lag(t) over (partition by k order by t) b from twice) where b is not null group by k, b",
    "select *, ntile(3) over (order by t) n from twice where k > 0",
    "select *, last(t) over (partition by k order by t) l from twice where k > 0",
    "select k, t from twice order by k, t limit 3",
    "select t, k from twice where k = 1 order by k, t limit 2 offset 1",
    "select k, count(*) n from (select k, k + t s from twice order by k, s limit 7) group by k",
    "select *, row_number() over (partition by k order by t) n, nth_value(t, 2) over (partition by k order by t) m from twice where k = 1",
    (
        "select n, sum(c) s from (select c, row_number() over (order by c) n from (select k, t, count(*) c from twice group by k, t)) "
        "where n <= 3 group by n"
    ),
]


@pytest.fixture(scope="module")
def twice(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """In each group of ``k`` two rows, and each of them twice."""
    path = str(tmp_path_factory.mktemp("ties") / "twice.parquet")
    spark.range(12).selectExpr("id % 3 k", "id % 6 t").repartition(3).write.parquet(path)
    return spark.read.parquet(path)


@pytest.mark.many
@pytest.mark.parametrize("sql", DUPLICATED)
def test_which_of_equal_rows_comes_first_makes_no_difference(sql: str, dbg: DebugSession, spark: Any, twice: Any) -> None:
    views = {"twice": twice}
    restored(views)
    check(dbg, sql, views, spark.sql(sql).collect()[:5])
    check_whole(dbg, sql, views)


@pytest.mark.many
@pytest.mark.parametrize("sql", ["select k, t from twice order by k, t limit 3", "select t, k from twice order by k, t limit 4 offset 1"])
def test_the_rows_of_a_run_are_those_that_its_limit_kept(sql: str, dbg: DebugSession, spark: Any, twice: Any) -> None:
    restored({"twice": twice})
    with dbg.capture() as run:
        rows = spark.sql(sql).collect()
    for row in set(rows):
        back = dbg.lineage(run).where(row)
        assert back.count() == rows.count(row)
        assert len(back.goBackAll()["twice"].rids()) >= rows.count(row)
        assert Counter(dbg.lineage(run).where(row.asDict()).collect()) == Counter({row: rows.count(row)})


@pytest.mark.parametrize("limit", ["order by k limit 1", "limit 1"])
def test_rows_that_look_the_same_to_a_run_and_are_not_are_refused(limit: str, dbg: DebugSession, spark: Any, tmp_path: Path) -> None:
    spark.range(1).selectExpr("1 k", "timestamp '2024-01-01 00:00:00' at").write.parquet(str(tmp_path / "a"))
    spark.range(1000).coalesce(1).selectExpr("1 k", "timestamp '2025-01-01 00:00:00' at").write.parquet(str(tmp_path / "b"))
    spark.read.parquet(str(tmp_path / "a"), str(tmp_path / "b")).createOrReplaceTempView("dated")
    with dbg.capture() as run:
        [row] = spark.sql(f"select k, at from dated {limit}").collect()
    with pytest.raises(NondeterminismError, match="cuts"):
        dbg.lineage(run).where(row).goBackAll().count()


@pytest.mark.many
@pytest.mark.parametrize("strategy", ["lazy", "defer"])
def test_of_equal_rows_one_is_kept(strategy: str, dbg: DebugSession, twice: Any) -> None:
    with dbg.capture(strategy=strategy):
        kept = twice.withColumn("n", F.row_number().over(Window.partitionBy("k").orderBy(F.desc("t")))).where("n = 1").drop("n")
        kept.collect()
    lineage = dbg.lineage(kept)
    back = lineage.where("k = 2").goBackAll()["twice.parquet"]
    assert [tuple(row) for row in back.collect()] == [(2, 5)]
    one, other = dbg.lineage(twice).where("t = 5").rids().tolist()
    assert back.rids().tolist() == [one]
    assert back.at([one]).goNextAll().collect() == lineage.where("k = 2").collect()
    with pytest.raises(UnknownRecordError, match=rf"has no such record in this trace.*{other}"):
        back.at([other]).count()


@pytest.mark.parametrize("x", [
    "(3.5D - id) * 0D", "array((3.5D - id) * 0D)", "if(id < 4, 'a', 'A') collate utf8_lcase", "map(id, 1)",
])
def test_rows_that_are_equal_and_not_the_same(x: str, dbg: DebugSession, spark: Any) -> None:
    rows = spark.range(8).selectExpr("id % 2 k", f"{x} x")
    counted = rows.selectExpr("*", "row_number() over (partition by k order by k) n").where("n = 1")
    with pytest.raises(NondeterminismError, match="numbers rows"):
        dbg.lineage(counted).where("k = 1").goBackAll().collect()
