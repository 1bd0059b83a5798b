"""Views that compute columns: a relation has the columns that its name shows."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

from bigdebug.errors import UnknownColumnError, UnknownOperatorError
from tests.spark.oracle import check


@pytest.fixture
def t(spark: Any) -> Any:
    frame = spark.range(40).selectExpr("id", "id % 7 k", "id * 10 v")
    frame.createOrReplaceTempView("t")
    return frame


def test_its_columns_are_those_of_the_view(dbg: Any, spark: Any, t: Any) -> None:
    frame = spark.sql("select k, sum(v) s from t where id > 3 group by k")
    back = dbg.lineage(frame).where("k = 2").goBackAll()["t"]
    assert back.toDF().columns == ["id", "k", "v"]
    assert sorted(tuple(row) for row in back.collect()) == [(i, 2, i * 10) for i in range(9, 40, 7)]
    assert [tuple(row) for row in back.where("v > 200 and k = 2").collect()] == [(23, 2, 230), (30, 2, 300), (37, 2, 370)]
    assert back.where(F.col("v") == 230).rids().tolist() == back.where({"v": 230}).rids().tolist()
    assert back.grouped("k", sums="v").values.tolist() == [[2, 5, sum(range(90, 400, 70))]]
    assert list(back.toPandas().columns) == ["rid", "origin", "id", "k", "v"]
    assert back.where("v = 230").goNextAll().collect() == frame.where("k = 2").collect()
    with pytest.raises(UnknownColumnError, match="The columns are id, k, v"):
        back.where("w = 1")


def test_what_it_was_read_from_is_there_as_it_is(dbg: Any, spark: Any) -> None:
    raw = spark.createDataFrame([("1", "5"), ("2", "7")], "_1 string, _2 string")
    raw.selectExpr("cast(_1 as int) a", "cast(_2 as int) b").where("a > 0").createOrReplaceTempView("parsed")
    frame = spark.sql("select a, sum(b) s from parsed group by a")
    assert dbg.lineage(frame).where("a = 2").goBackAll()["parsed"].collect() == [(2, 7)]
    assert dbg.lineage(frame).where("a = 2").back_to(raw).collect() == [("2", "7")]
    assert dbg.lineage(frame).where("a = 2").back_to(spark.table("parsed")).collect() == [(2, 7)]
    assert dbg.lineage(frame).columns == {"a": ("parsed.a",), "s": ("parsed.b",)}
    assert {name: cells.collect() for name, cells in dbg.lineage(frame).where("a = 2").cells("s").items()} == {"parsed": [(7,)]}


@pytest.mark.many
@pytest.mark.parametrize("sql", [
    "select k, count(*) n from t group by k",
    "select a.k, b.v from t a join t b on a.id = b.k",
    "select k from t where not exists (select 1 from u where u.k = t.id)",
    "select k, (select max(v) from u where u.k = t.k) m from t where id < 9",
])
def test_a_row_comes_out_again(sql: str, dbg: Any, spark: Any, t: Any) -> None:
    u = spark.range(5).select((F.col("id") * 2).alias("k"), F.lit("x").alias("w"), F.col("id").alias("v"))
    views = {"t": t, "u": u}
    for name, frame in views.items():
        frame.createOrReplaceTempView(name)
    check(dbg, sql, views, spark.sql(sql).collect()[:3])


def test_a_view_that_calls_columns_by_each_others_names(dbg: Any, spark: Any) -> None:
    swapped = spark.createDataFrame([(1, 2), (2, 3)], "a int, b int").selectExpr("b a", "a b")
    swapped.createOrReplaceTempView("swapped")
    frame = spark.sql("select a, b from swapped")
    assert dbg.lineage(frame).where("a = 3").goBackAll()["swapped"].collect() == [(3, 2)]
    assert dbg.lineage(frame).columns == {"a": ("swapped.a",), "b": ("swapped.b",)}
    check(dbg, "select a, count(*) n from swapped group by a", {"swapped": swapped}, spark.sql("select a, count(*) n from swapped group by a").collect())


def test_a_view_that_asks_another(dbg: Any, spark: Any, t: Any) -> None:
    views = {"t": t, "asking": spark.sql("select id + 1 a, (select max(v) from t) m from range(3) r")}
    views["asking"].createOrReplaceTempView("asking")
    sql = "select a, count(*) n from asking where m > 0 group by a"
    [(_, back)] = check(dbg, sql, views, spark.sql(sql).collect()[:1])
    assert back["asking"].toDF().columns == ["a", "m"]


def test_columns_of_several_views(dbg: Any, spark: Any, t: Any) -> None:
    spark.createDataFrame([(2, 9)], "p int, q int").selectExpr("p + 0 p", "q").createOrReplaceTempView("other")
    frame = spark.sql("select distinct y from (select v y from t union all select p from other)")
    assert dbg.lineage(frame).columns == {"y": ("other.p", "t.v")}
    assert set(dbg.lineage(frame).where("y = 20").cells("y")) == {"other", "t"}


def test_what_is_declared_speaks_of_them(dbg: Any, spark: Any, t: Any) -> None:
    def query() -> Any:
        return spark.sql("select k, sum(v) s from t group by k")

    frame = query()
    asked = dbg.lineage(frame).where("k = 2").goBackAll()["t"]
    expected = asked.where("v = 230").rids().tolist()
    assert len(expected) == 1
    for declared in ({"where": "v = 230"}, {"partition_by": "v"}, {"partition_by": ["v", "k"]}):
        frame = query()
        dbg.declare(frame, **declared)
        dbg.index(frame)
        back = dbg.lineage(frame).where("k = 2").goBackAll()["t"]
        for condition in ("v = 230", {"v": 230}, "K = 2 and V = 230", {"k": 2, "v": 230}):
            assert back.where(condition).rids().tolist() == expected
        assert not len(back.where("v = 230 and k = 3").rids())
    frame = query()
    dbg.declare(frame, group_by="k", sums="v")
    dbg.index(frame)
    back = dbg.lineage(frame).where("k = 2").goBackAll()["t"]
    assert back.grouped("k", sums="v").values.tolist() == [[2, 6, sum(range(20, 400, 70))]]


def test_questions_of_a_view_leave_accumulators_alone(dbg: Any, spark: Any) -> None:
    calls = spark.sparkContext.accumulator(0)

    def counted(x: int) -> int:
        calls.add(1)
        return x + 1

    spark.range(4).select(F.udf(counted, "long", useArrow=False)("id").alias("x")).createOrReplaceTempView("counted")
    frame = spark.sql("select x, count(*) n from counted group by x")
    back = dbg.lineage(frame).where("x = 2").goBackAll()["counted"]
    assert (back.collect(), back.where("x = 2").count(), calls.value) == ([(2,)], 1, 0)


def test_two_views_of_one_source(dbg: Any, spark: Any) -> None:
    raw = spark.createDataFrame([(1, 2), (2, 3)], "a int, b int")
    raw.selectExpr("a x", "b y").createOrReplaceTempView("one")
    raw.selectExpr("b x", "a y").createOrReplaceTempView("two")
    frame = spark.sql("select one.x, two.y from one join two on one.x = two.x")
    back = dbg.lineage(frame).goBackAll()
    assert {name: back[name].collect() for name in back.inputs} == {"one": [(2, 3)], "two": [(2, 1)]}
    same = raw.selectExpr("a x", "b y").alias("s").join(raw.selectExpr("b x", "a y").alias("s2"), "x")
    back = dbg.lineage(same).goBackAll()
    assert [row.asDict() for row in back.collect()] == [{"a": 1, "b": 2}, {"a": 2, "b": 3}]


@pytest.mark.slow
def test_a_row_of_the_source_is_followed_ahead_into_another_query(dbg: Any, spark: Any, t: Any) -> None:
    totals = spark.table("t").groupBy("k").agg(F.sum("v").alias("s"))
    assert [row.k for row in dbg.lineage(spark.table("t")).where("id = 9").forward_to(totals).collect()] == [2]
    numbered = totals.withColumn("r", F.row_number().over(Window.orderBy("k")))
    assert [(row.k, row.r) for row in dbg.lineage(totals).where("k = 2").forward_to(numbered).collect()] == [(k, k + 1) for k in range(2, 7)]
    assert [row.r for row in dbg.lineage(numbered.select("*")).where("k = 2").forward_to(numbered.select("*").where("r < 4")).collect()] == [3]
    assert dbg.lineage(numbered.select("*")).where("k = 99").forward_to(numbered.select("*").where("r < 4")).count() == 0
    counted = totals.where("k > 1").groupBy().count()
    assert dbg.lineage(totals).where("k = 2").forward_to(counted).count() == 1
    assert dbg.lineage(totals).where("k = 1").forward_to(counted).count() == 0


def test_rows_that_were_drawn_are_not_followed_into_another_execution(dbg: Any, spark: Any) -> None:
    drawn = spark.range(5).withColumn("r", F.rand())
    counted = drawn.where("r > 0.5").groupBy().count()
    with dbg.capture(strategy="inject"):
        drawn.collect()
        counted.collect()
    with pytest.raises(UnknownOperatorError, match=r"not made of this DataFrame.*forward_to"):
        dbg.lineage(drawn).where("id = 1").forward_to(counted)
