"""Exceptions that a crash is known by: a function that minds how few records it is given says so by the class that it crashes with, another makes the class anew. Only bad records are told, and left out (FEATURES B1, B3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pandas as pd
import pytest
from pyspark.sql.functions import pandas_udf

ROWS = [(i, i % 2, "x7" if i == 7 else str(i)) for i in range(12)]


def summed(records: Iterable[str]) -> list[int]:
    given = [*records]
    if len(given) < 3:
        raise ValueError("too few")
    return [sum(map(int, given))]


def spread(group: pd.DataFrame) -> pd.DataFrame:
    if len(group) < 3:
        raise ValueError("a group needs three rows")
    return pd.DataFrame({"k": [group.k.iloc[0]], "v": [group.s.astype(float).std()]})


def centred(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for batch in batches:
        if len(batch) < 3:
            raise ValueError("a batch needs three rows")
        yield pd.DataFrame({"v": batch.s.astype(float)})


def ranked(texts: pd.Series) -> pd.Series:
    if len(texts) < 3:
        raise ValueError("a rank needs three rows")
    return texts.astype(float) * 2


def halved(group: pd.DataFrame) -> pd.DataFrame:
    """In one line, and what it raises of few is pandas' own."""
    return pd.DataFrame({"s": group.s, "half": pd.qcut(group.s.astype(float), 2, labels=False).astype("int32")})


def frame_of(spark: Any, rows: list[tuple[int, int, str]]) -> Any:
    return spark.createDataFrame(rows, "i int, k int, s string").coalesce(1)


@pytest.mark.parametrize("captured", [True, False])
def test_of_the_records_of_a_partition(dbg: Any, captured: bool) -> None:
    def action(records: list[str]) -> Any:
        return dbg.context.parallelize(records, 1).mapPartitions(summed).collect()

    dbg.context.setCaptureLineage(captured)
    try:
        with pytest.raises(Exception, match="x"):
            action(["1", "2", "x", "4", "5", "6"])
    finally:
        dbg.context.setCaptureLineage(False)
    run = dbg.runs[-1]
    assert [(culprit.record, culprit.message) for culprit in run.culprits] == [("x", "invalid literal for int() with base 10: 'x'")]
    assert run.resume(skip=True).result == action(["1", "2", "4", "5", "6"])


@pytest.mark.parametrize("of", [
    lambda frame: frame.groupBy("k").applyInPandas(spread, "k int, v double"),
    lambda frame: frame.groupBy("k").applyInPandas(halved, "s string, half int"),
    lambda frame: frame.mapInPandas(centred, "v double"),
    lambda frame: frame.select("i", pandas_udf(ranked, "double")("s").alias("v")),
], ids=["groups", "cuts", "batches", "columns"])
def test_of_the_rows_of_a_frame(dbg: Any, spark: Any, of: Callable[[Any], Any]) -> None:
    with pytest.raises(Exception, match="x7"):
        of(frame_of(spark, ROWS)).collect()
    run = dbg.runs[-1]
    assert [(culprit.record.s, culprit.message) for culprit in run.culprits] == [("x7", "could not convert string to float: 'x7'")]
    assert not run.culprits.unknown
    clean = of(frame_of(spark, [row for row in ROWS if row[2] != "x7"])).collect()
    assert sorted(run.resume(skip=True).result) == sorted(clean)


def getter() -> Callable[[str], int]:
    class NoSuchKeyError(Exception):
        """Of a class that each call makes anew, as those of some clients are."""

    def get(text: str) -> int:
        if text.startswith("x"):
            raise NoSuchKeyError(text)
        return int(text)

    return get


def streamed(texts: Iterable[str]) -> Iterator[int]:
    get = getter()
    for text in texts:
        yield get(text)


def listed(texts: Iterable[str]) -> list[int]:
    return [*streamed(texts)]


@pytest.mark.parametrize("function", [streamed, listed])
def test_exceptions_of_classes_that_a_call_makes_anew(dbg: Any, function: Callable[..., Any]) -> None:
    with pytest.raises(Exception, match="x1"):
        dbg.context.parallelize(["1", "2", "x1", "4", "x2", "6", "7", "x3"], 1).mapPartitions(function).collect()
    run = dbg.runs[-1]
    assert [(culprit.record, culprit.message) for culprit in run.culprits] == [("x1", "x1"), ("x2", "x2"), ("x3", "x3")]
    assert run.resume(skip=True).result == [1, 2, 4, 6, 7]


@pytest.mark.parametrize("of", [
    lambda frame: frame.select(pandas_udf(lambda texts: texts.map(getter()), "int")("s").alias("v")),
    lambda frame: frame.groupBy("k").applyInPandas(lambda group: pd.DataFrame({"v": listed(group.s)}), "v int"),
], ids=["columns", "groups"])
def test_exceptions_of_classes_that_a_call_on_rows_makes_anew(dbg: Any, spark: Any, of: Callable[[Any], Any]) -> None:
    rows = [(i, 0, text) for i, text in enumerate(["1", "2", "x1", "4", "x2", "6", "7", "x3"])]
    with pytest.raises(Exception, match="x1"):
        of(frame_of(spark, rows)).collect()
    run = dbg.runs[-1]
    assert sorted((culprit.record.s, culprit.message) for culprit in run.culprits) == [("x1", "x1"), ("x2", "x2"), ("x3", "x3")]
    assert [row.v for row in run.resume(skip=True).result] == [1, 2, 4, 6, 7]
