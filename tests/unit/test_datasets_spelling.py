"""Columns that differ by case alone are one, as they are to Spark, unless a dataset has both."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from bigdebug.datasets.model import Access, ColumnEdge, Dataset, Field, Process
from bigdebug.datasets.questions import Datasets
from bigdebug.datasets.spelling import merged
from bigdebug.datasets.store import DatasetStore

AT = datetime(2026, 11, 1, tzinfo=timezone.utc)

RAW, ORDERS, UPPER = Dataset("file", "/raw"), Dataset("file", "/orders"), Dataset("file", "/upper")
TABLE = Dataset("file:/wh", "default.orders", "table", "parquet", "file:/orders")


@pytest.fixture
def asked(tmp_path: Path) -> Datasets:
    return Datasets(DatasetStore(tmp_path / "datasets.sqlite"))


def wrote(number: int, output: Dataset, column: str, source: Dataset, used: str, schema: str = "") -> Process:
    at = AT + timedelta(minutes=number)
    reads = tuple(Field(name, "int") for name in (schema or used).split())
    return Process(
        str(number), f"job {number}", "write", "s", at, at, "succeeded", reads=(Access(source, schema=reads),),
        writes=(Access(output, "created", (Field(column, "int"),)),), columns=(ColumnEdge(output, column, source, used, "IDENTITY"),),
    )


@pytest.mark.parametrize("source", [ORDERS, TABLE])
def test_a_column_that_is_read_under_another_case_is_that_column(asked: Datasets, source: Dataset) -> None:
    asked.store.record(wrote(1, ORDERS, "amt", RAW, "v"), wrote(2, UPPER, "x", source, "AMT"))
    assert asked.upstream("upper", "x").column("dataset")[-1] == "file:/raw"
    assert ("fails or loses it", "job 2") in [row[:2] for row in asked.impact("/orders", "amt").rows]
    assert asked.downstream("/orders", "AMT").column("dataset") == ["file:/upper"]


def test_it_is_that_column_also_where_it_is_read_before_anybody_wrote_it(asked: Datasets) -> None:
    asked.store.record(wrote(1, UPPER, "x", ORDERS, "AMT"), wrote(2, ORDERS, "amt", RAW, "v"))
    assert asked.upstream("upper", "x").column("dataset") == ["file:/orders", "file:/raw"]
    assert [(row["column"], row["type"]) for row in asked.columns("/orders")] == [("AMT", "int")]
    assert asked.upstream("/orders", "amt").column("dataset") == ["file:/raw"]


def test_a_dataset_that_has_both_has_both(asked: Datasets) -> None:
    asked.store.record(wrote(1, ORDERS, "amt", RAW, "v"), wrote(2, UPPER, "x", ORDERS, "AMT", schema="amt AMT"))
    assert asked.upstream("upper", "x").column("column") == ["AMT"]
    assert asked.impact("/orders", "amt").column("job") == []


def test_columns_are_listed_once() -> None:
    assert merged(["id", "amt"], ["AMT", "z"]) == ["id", "AMT", "z"]
    assert merged(["amt", "AMT"], ["AMT", "Amt"]) == ["amt", "AMT", "Amt"]
    assert merged(["amt"], ["AMT", "amt"]) == ["amt", "AMT"]
    assert merged(["Straße"], ["STRASSE", "straße"]) == ["straße", "STRASSE"]
