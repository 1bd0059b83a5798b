"""DataFrames whose Python code crashes on the flights with NA in them, by every way in which Spark calls Python (FEATURES B1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, Window
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, DoubleType, IntegerType, StructType

SCHEMA = "id string, dep string, arr string"


def number(text):  # type: ignore[no-untyped-def]  # by hints, PySpark would take it for one of pandas
    return int(text)


def crashing_once(mark: Path) -> Callable[[Any], int]:
    """A function that crashes the first time that it is called, and then never again."""
    def once(text):  # type: ignore[no-untyped-def]
        if not mark.exists():
            mark.touch()
            raise OSError("the first time")
        return 1

    return once


plain = F.udf(number, IntegerType(), useArrow=False)
arrow = F.udf(number, IntegerType(), useArrow=True)
inverse = F.udf(lambda x: 1 / x, DoubleType(), useArrow=True)
unfit = F.udf(lambda text: text, IntegerType(), useArrow=True)
no_day = F.udf(lambda text: text if text == "NA" else None, DateType(), useArrow=False)


def _numbers(texts: pd.Series) -> pd.Series:
    return texts.astype(int)


def _batches(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
    for texts in batches:
        yield texts.astype(int)


def _unchanged(texts: pd.Series) -> pd.Series:
    return texts


def _total(texts: pd.Series) -> float:
    return float(texts.astype(int).sum())


columns = F.pandas_udf(_numbers, IntegerType())  # type: ignore[call-overload]
stream = F.pandas_udf(_batches, IntegerType())  # type: ignore[call-overload]
unfit_columns = F.pandas_udf(_unchanged, IntegerType())  # type: ignore[call-overload]
total = F.pandas_udf(_total, DoubleType())  # type: ignore[call-overload]


@F.udtf(returnType=StructType().add("y", IntegerType()), useArrow=True)
class Twice:
    def eval(self, text):  # type: ignore[no-untyped-def]
        yield (0,)
        yield (int(text),)


@F.udtf(returnType=StructType().add("y", IntegerType()), useArrow=False)
class Sums:
    def __init__(self) -> None:
        self.sum = 0

    def eval(self, row):  # type: ignore[no-untyped-def]
        self.sum += int(row["dep"])
        yield (self.sum,)

    def terminate(self):  # type: ignore[no-untyped-def]
        yield (self.sum,)


def frames_in(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for frame in frames:
        frame["dep"].astype(int)
        yield frame


def batches_in(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        assert "NA" not in batch.column("dep").to_pylist()
        yield batch


def group_of_pandas(group: pd.DataFrame) -> pd.DataFrame:
    return group.assign(dep=group["dep"].astype(int).astype(str))


def group_of_arrow(key: Any, group: pa.Table) -> pa.Table:
    assert "NA" not in group.column("dep").to_pylist()
    return group


def at_most_one(group: pd.DataFrame) -> pd.DataFrame:
    assert (group["dep"] == "NA").sum() < 2
    return group


def right_of_two(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    right["dep"].astype(int)
    return left


def parity() -> Column:
    return (F.col("id") % 2).alias("odd")


CRASHING: dict[str, tuple[Callable[[Any], Any], list[tuple[str, str, list[int]]]]] = {
    # what is run; then of each culprit the operator, the exception, and the lines of its sources
    "plain": (lambda df: df.select("id", plain("dep")), [("Project", "ValueError", [3]), ("Project", "ValueError", [5])]),
    "arrow": (lambda df: df.select("id", arrow("dep") + 1), [("Project", "ValueError", [3]), ("Project", "ValueError", [5])]),
    "named argument": (lambda df: df.select("id", arrow(text="dep")), [("Project", "ValueError", [3]), ("Project", "ValueError", [5])]),
    "filter": (lambda df: df.filter(arrow("dep") > 3), [("Filter", "ValueError", [3]), ("Filter", "ValueError", [5])]),
    "key of groups": (lambda df: df.groupBy(arrow("arr")).count(), [("Project", "ValueError", [4]), ("Project", "ValueError", [5])]),
    "one on the other": (lambda df: df.select("id", inverse(arrow("dep"))), [
        ("Project", "ValueError", [3]), ("Project", "ValueError", [5]), ("Project", "ZeroDivisionError", [6]),
    ]),
    "two of one operator": (lambda df: df.select("id", plain("dep"), plain("arr")), [
        ("Project", "ValueError", [3]), ("Project", "ValueError", [4]), ("Project", "ValueError", [5]),
    ]),
    "Spark's above": (lambda df: df.select("id", arrow("dep").alias("d")).select("id", 1 / F.col("d")), [
        ("Project", "ArithmeticException", [6]), ("Project", "ValueError", [3]), ("Project", "ValueError", [5]),
    ]),
    "Spark's below": (lambda df: df.select("id", inverse(F.col("dep").cast("int"))), [
        ("Project", "NumberFormatException", [3]), ("Project", "NumberFormatException", [5]), ("Project", "ZeroDivisionError", [6]),
    ]),
    "pandas": (lambda df: df.select("id", columns("dep")), [("Project", "ValueError", [3]), ("Project", "ValueError", [5])]),
    "pandas, iterator": (lambda df: df.select("id", stream("dep")), [("Project", "ValueError", [3]), ("Project", "ValueError", [5])]),
    "mapInPandas": (lambda df: df.mapInPandas(frames_in, SCHEMA), [("MapInPandas", "ValueError", [3]), ("MapInPandas", "ValueError", [5])]),
    "mapInArrow": (lambda df: df.mapInArrow(batches_in, SCHEMA), [("MapInArrow", "AssertionError", [3]), ("MapInArrow", "AssertionError", [5])]),
    "applyInPandas": (lambda df: df.groupBy(parity()).applyInPandas(group_of_pandas, SCHEMA), [
        ("FlatMapGroupsInPandas", "ValueError", [3]), ("FlatMapGroupsInPandas", "ValueError", [5]),
    ]),
    "applyInArrow": (lambda df: df.groupBy(parity()).applyInArrow(group_of_arrow, SCHEMA), [
        ("FlatMapGroupsInArrow", "AssertionError", [3]), ("FlatMapGroupsInArrow", "AssertionError", [5]),
    ]),
    "only together": (lambda df: df.groupBy(parity()).applyInPandas(at_most_one, SCHEMA), [("FlatMapGroupsInPandas", "AssertionError", [3, 5])]),
    "cogroup": (lambda df: df.groupBy(parity()).cogroup(df.filter("id < 4").groupBy(parity())).applyInPandas(right_of_two, SCHEMA), [
        ("FlatMapCoGroupsInPandas", "ValueError", [3]),
    ]),
    "aggregate": (lambda df: df.groupBy(parity()).agg(total("dep")), [("Aggregate", "ValueError", [3, 5])] * 2),
    "window": (lambda df: df.select("id", total("dep").over(Window.partitionBy(parity()).orderBy("id").rowsBetween(-1, 0))), [
        ("Window", "ValueError", [3]), ("Window", "ValueError", [5]),
    ]),
    "table function": (lambda df: df.lateralJoin(Twice(F.col("dep").outer())), [("Generate", "ValueError", [3]), ("Generate", "ValueError", [5])]),
    "table function of a table": (lambda df: Sums(df.asTable().partitionBy("arr")), [("Generate", "ValueError", [3]), ("Generate", "ValueError", [5])]),
    "what it gives does not fit": (lambda df: df.select("id", unfit("dep")), [
        ("Project", "pyarrow.lib.ArrowInvalid", [3]), ("Project", "pyarrow.lib.ArrowInvalid", [5]),
    ]),
    "what plain code gives does not fit": (lambda df: df.select("id", no_day("dep")), [
        ("Project", "AttributeError", [3]), ("Project", "AttributeError", [5]),
    ]),
    "what pandas gives does not fit": (lambda df: df.select("id", unfit_columns("dep")), [
        ("Project", "pyarrow.lib.ArrowInvalid", [3]), ("Project", "pyarrow.lib.ArrowInvalid", [5]),
    ]),
}
