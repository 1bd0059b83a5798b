"""Functions of the user over columns and over groups."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import functions as F


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
    assert {r.k for r in back._occurrence("createDataFrame").collect()} == {2}
    alone = dbg.lineage(frame).where("w = 14").goBackAll()
    assert [alone._occurrence(name).count() for name in alone.inputs] == [0, 2]


def test_questions_leave_accumulators_alone(dbg: Any, spark: Any, rows: Any) -> None:
    calls = spark.sparkContext.accumulator(0)

    def noting(data: pd.DataFrame) -> pd.DataFrame:
        calls.add(1)
        return pd.DataFrame({"m": [data.v.max()]})

    frame = rows.groupBy("k").applyInPandas(noting, "m double")
    with dbg.capture():
        frame.collect()
    before = calls.value
    assert dbg.lineage(frame).where("m = 39").goBackAll()["createDataFrame"].count() == 8
    assert calls.value == before
