"""Functions of the user over columns and over groups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import Row, Window
from pyspark.sql import functions as F

from bigdebug.errors import NondeterminismError, UntraceableError


@pytest.fixture(scope="module")
def rows(spark: Any) -> Any:
    return spark.createDataFrame([(i, (i % 4 if i % 5 else None), float(i)) for i in range(40)], "id int, k int, v double")


def extremes(data: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"m": [data.v.max(), data.v.min()]})


def by_position(key: Any, data: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame([[key[0], len(data)]])


def counted(table: pa.Table) -> pa.Table:
    return pa.table({"m": [table.num_rows * 100 + table["id"][0].as_py()]})


def programs(rows: Any) -> dict[str, tuple[Any, dict[str, Any], Any]]:
    """By name: the DataFrame, a row of it, and whether a source row belongs to it."""

    @F.pandas_udf("double")
    def mean(values: pd.Series) -> float:
        return float(values.mean())

    @F.pandas_udf("long")
    def following(values: pd.Series) -> pd.Series:
        return values + 1

    return {
        "applyInPandas": (rows.groupBy("k").applyInPandas(extremes, "m double"), {"m": 39.0}, lambda r: r.k == 3),
        "filtered": (rows.groupBy("k").applyInPandas(extremes, "m double").where("m > 38"), {"m": 39.0}, lambda r: r.k == 3),
        "by position": (rows.groupBy("k").applyInPandas(by_position, "k int, n int"), {"k": None}, lambda r: r.k is None),
        "of an expression": (
            rows.groupBy((F.col("id") % 3).alias("z")).applyInPandas(extremes, "m double"), {"m": 2.0}, lambda r: r.id % 3 == 2,
        ),
        "applyInArrow": (rows.groupBy("k").applyInArrow(counted, "m long"), {"m": 803}, lambda r: r.k == 3),
        "grouped aggregate": (rows.groupBy("k").agg(mean("v").alias("q")), {"k": 2}, lambda r: r.k == 2),
        "scalar": (rows.select(following("id").alias("p"), "k"), {"p": 4}, lambda r: r.id == 3),
        "plain": (rows.select(F.udf(lambda x: x * 2, "int")("id").alias("p")).where("p > 3"), {"p": 6}, lambda r: r.id == 3),
    }


NAMES = ["applyInPandas", "filtered", "by position", "of an expression", "applyInArrow", "grouped aggregate", "scalar", "plain"]


@pytest.mark.many
@pytest.mark.parametrize("name", NAMES)
def test_functions(name: str, dbg: Any, rows: Any) -> None:
    frame, row, belongs = programs(rows)[name]
    with dbg.capture():
        result = frame.collect()
    back = dbg.lineage(frame).where(row).goBackAll()["createDataFrame"]
    assert sorted(r.id for r in back.collect()) == [r.id for r in rows.collect() if belongs(r)]
    reached = back.goNextAll().collect()
    assert all(r in result for r in reached)
    assert any(all(r[k] == v for k, v in row.items()) for r in reached)


def test_two_groups_of_a_key(dbg: Any, spark: Any, rows: Any) -> None:
    others = spark.createDataFrame([(i % 6, i) for i in range(12)], "k int, w int")

    def sizes(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"a": [len(left)], "b": [len(right)], "w": [right.w.sum()]})

    frame = rows.groupBy("k").cogroup(others.groupBy("k")).applyInPandas(sizes, "a int, b int, w long")
    with dbg.capture():
        frame.collect()
    back = dbg.lineage(frame).where("w = 10").goBackAll()
    assert back.inputs == ("createDataFrame", "createDataFrame#2")
    assert [r.w for r in back["createDataFrame#2"].collect()] == [2, 8]
    assert {r.k for r in back["createDataFrame"].collect()} == {2}
    alone = dbg.lineage(frame).where("w = 14").goBackAll()
    assert [alone[name].count() for name in alone.inputs] == [0, 2]


def test_a_row_of_a_group_is_one_row(dbg: Any, rows: Any) -> None:
    frame = rows.groupBy("k").applyInPandas(extremes, "m double")
    with dbg.capture():
        frame.collect()
    one = dbg.lineage(frame).where("m = 39")
    assert one.collect() == [Row(m=39.0)]
    assert one.count() == 1
    assert sorted(r.m for r in one.goBackAll().goNextAll().collect()) == [3.0, 39.0]


def test_rows_that_differ_in_where_they_have_nothing(dbg: Any, rows: Any) -> None:
    def halves(data: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"a": [1, None], "b": [None, 1]}, dtype="Int64")

    trace = dbg.lineage(rows.groupBy("k").applyInPandas(halves, "a long, b long")).where("a = 1")
    assert trace.count() == len(trace.collect()) == 5
    assert {tuple(row) for row in trace.collect()} == {(1, None)}


def test_partitions_are_those_of_the_query_or_refused(dbg: Any, spark: Any, tmp_path: Path) -> None:
    def sizes(batches: Any) -> Any:
        yield pd.DataFrame({"n": [sum(map(len, batches))]})

    spark.range(3000).write.csv(str(tmp_path / "numbers"), header=True)
    spark.conf.set("spark.sql.files.maxPartitionBytes", "2k")
    spark.conf.set("spark.sql.files.openCostInBytes", "0")
    try:
        frame = spark.read.csv(str(tmp_path / "numbers"), header=True).mapInPandas(sizes, "n long")
        plain = frame.collect()
        assert len(plain) > 2
        with dbg.capture(strategy="inject"):
            assert sorted(frame.collect()) == sorted(plain)
        with pytest.raises(NondeterminismError, match="whole partitions"):
            dbg.lineage(frame).collect()
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
        spark.conf.unset("spark.sql.files.openCostInBytes")


@pytest.mark.many
@pytest.mark.parametrize("divided", [
    lambda rows: rows.groupBy("k", "id").agg(F.sum("v").alias("v")), lambda rows: rows.repartition(3), lambda rows: rows.repartition("k"),
    lambda rows: rows.repartitionByRange(3, "v"), lambda rows: rows.sort("v"), lambda rows: rows.join(rows.select("id"), "id"),
])
def test_rows_that_spark_may_divide_otherwise_are_held_in_the_run_or_refused(divided: Any, dbg: Any, rows: Any) -> None:
    def numbers(batches: Any) -> Any:
        yield pd.DataFrame({"ids": [",".join(str(i) for batch in batches for i in sorted(batch.id))]})

    frame = divided(rows).mapInPandas(numbers, "ids string")
    with dbg.capture():
        frame.collect()
    with pytest.raises(NondeterminismError, match="may divide its rows otherwise"):
        dbg.lineage(frame).goBackAll()["createDataFrame"].count()
    with dbg.capture(strategy="inject"):
        result = frame.collect()
    for row in result:
        back = dbg.lineage(frame).where(row).goBackAll()
        assert {r.id for r in back["createDataFrame"].collect()} == {int(i) for i in row.ids.split(",") if i}


@pytest.mark.slow
def test_equal_rows_of_a_group_are_all_counted(dbg: Any, rows: Any) -> None:
    frame = rows.groupBy("k").applyInPandas(lambda data: data.assign(id=1, v=0.5), rows.schema)
    assert dbg.lineage(frame).where("k = 2").count() == dbg.lineage(frame).where("k = 2").goBackAll().count() == 8
    assert dbg.lineage(frame.select("k")).where("k = 2").count() == 8
    numbered = frame.select("k", F.row_number().over(Window.partitionBy("k").orderBy("id")).alias("n"))
    trace = dbg.lineage(numbered).where("k = 2 and n = 3")
    assert trace.collect() == [Row(k=2, n=3)]
    assert trace.goBackAll().count() == 8


def adding(calls: Any, rows: Any) -> dict[str, Any]:
    """DataFrames whose functions add to an accumulator, in all the places where a plan may have one."""

    def noted(value: Any) -> Any:
        calls.add(1)
        return value

    def each(batches: Any) -> Any:
        yield from map(noted, batches)

    @F.pandas_udf("double")
    def mean(values: pd.Series) -> float:
        return float(noted(values).mean())

    class Twice:
        def eval(self, value: float) -> Any:
            yield noted((value,))
            yield (value,)

    twice = F.udtf(Twice, returnType="a double")  # type: ignore[call-overload]
    plain = F.udf(lambda value: noted(value), "double")  # noqa: PLW0108 (types of noted's would be looked at)
    return {
        "column": rows.select(plain("v").alias("p")).where("p > 3"),
        "within": rows.select(F.when(plain("v") > 5, F.array(plain(plain("v")))).alias("p")),
        "aggregate": rows.groupBy("k").agg(F.sum(plain("v")).alias("p")),
        "cube": rows.cube("k").agg(F.sum(plain("v")).alias("p")),
        "of a group": rows.groupBy("k").agg(mean("v").alias("p")),
        "window": rows.select(mean("v").over(Window.partitionBy("k")).alias("p")),
        "explode": rows.select(F.explode(F.array(plain("v"))).alias("p")),
        "subquery": rows.crossJoin(rows.select(F.max(plain("v")).alias("p"))),
        "applyInPandas": rows.groupBy("k").applyInPandas(noted, rows.schema),
        "mapInPandas": rows.mapInPandas(each, rows.schema),
        "mapInArrow": rows.mapInArrow(each, rows.schema),
        "table function": rows.lateralJoin(twice(F.col("v").outer())),
        "settled table function": rows.lateralJoin(twice.asDeterministic()(F.col("v").outer())),
    }


ADDING = [
    "column", "within", "aggregate", "cube", "of a group", "window", "explode", "subquery", "applyInPandas", "mapInPandas", "mapInArrow",
    "table function", "settled table function",
]


@pytest.mark.many
@pytest.mark.parametrize("name", ADDING)
def test_questions_leave_accumulators_alone(name: str, dbg: Any, spark: Any, rows: Any) -> None:
    calls = spark.sparkContext.accumulator(0)
    frame = adding(calls, rows)[name]
    with dbg.capture():
        first = frame.collect()[-1]
    before = calls.value
    assert before > 0
    assert dbg.lineage(frame).where(first).goBackAll()["createDataFrame"].count() > 0
    assert calls.value == before


def doubled(batches: Any) -> Any:
    for data in batches:
        yield data.assign(v=data.v * 2)


@pytest.mark.many
@pytest.mark.parametrize("strategy", ["auto", "inject"])
def test_a_function_over_partitions_is_opaque(strategy: str, dbg: Any, rows: Any) -> None:
    parts = rows.repartition(3, "id")
    together = {frozenset(r.id for r in part) for part in parts.rdd.glom().collect()}
    frame = parts.mapInPandas(doubled, rows.schema).where("v > 20")
    with dbg.capture(strategy=strategy):
        result = frame.collect()
    row = next(r for r in result if r.id == 30)
    back = dbg.lineage(frame).where(row).goBackAll()["createDataFrame"]
    assert frozenset(r.id for r in back.collect()) in together
    reached = back.goNextAll().collect()
    assert row in reached
    assert all(r in result and r.v > 20 for r in reached)
    assert dbg.lineage(frame).where(row).collect() == [row]


PLACES = {"twice": "auto", "below a group": "auto", "above one": "inject", "of a join": "inject", "in a subquery": "auto"}


@pytest.mark.many
@pytest.mark.parametrize("name", PLACES)
def test_functions_over_partitions_anywhere(name: str, dbg: Any, spark: Any, rows: Any) -> None:
    def same(batches: Any) -> Any:
        yield from batches

    parts = rows.repartition(2, "id")
    others = spark.createDataFrame([(i % 6, i) for i in range(12)], "k int, w int")
    frame = {
        "twice": parts.mapInPandas(doubled, rows.schema).mapInArrow(same, rows.schema),
        "below a group": parts.mapInPandas(doubled, rows.schema).groupBy("k").agg(F.sum("v").alias("v")),
        "above one": parts.groupBy("k").agg(F.sum("v").alias("v")).mapInPandas(doubled, "k int, v double"),
        "of a join": parts.join(others, "k").mapInPandas(doubled, "k int, id int, v double, w int"),
        "in a subquery": others.where(F.col("w") > parts.mapInPandas(doubled, rows.schema).agg(F.max("v") - 70).scalar()),
    }[name]
    with dbg.capture(strategy=PLACES[name]):
        result = frame.collect()
    trace = dbg.lineage(frame).where(result[-1])
    back = trace.goBackAll()
    assert all(back[source].count() for source in back.inputs)
    assert result[-1] in back[back.inputs[0]].goNextAll().collect()
    dbg.index(frame)
    again = dbg.lineage(frame).where(result[-1]).goBackAll()
    assert [list(again[source].rids()) for source in back.inputs] == [list(back[source].rids()) for source in back.inputs]


@F.udtf(returnType="n int")  # type: ignore[arg-type]
class Counting:
    """Knows how many rows it was given when it has been given all."""

    def __init__(self) -> None:
        self.n = 0

    def eval(self, row: Any) -> None:
        self.n += 1

    def terminate(self) -> Any:
        yield (self.n,)


@pytest.mark.parametrize("sql", [
    "select * from counting(table(rows) partition by k)",
    "select * from counting(table(rows) with single partition)",
    "select k, n from rows, lateral counting(v)",
])
def test_table_functions_that_see_more_than_a_row_are_refused(sql: str, dbg: Any, spark: Any, rows: Any, caplog: Any) -> None:
    rows.createOrReplaceTempView("rows")
    spark.udtf.register("counting", Counting)
    frame = spark.sql(sql)
    with dbg.capture(strategy="inject"):
        result = frame.collect()
    assert result == spark.sql(sql).collect()
    assert "bigdebug keeps nothing of collect: " in caplog.text
    with pytest.raises(UntraceableError, match=r"counting.*applyInPandas"):
        dbg.lineage(frame).goBackAll().count()
