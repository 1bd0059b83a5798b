"""All queries of TPC-H: rows come out again from their lineage alone, and the same with and without capture."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.tpch import QUERIES, TABLES, generate
from tests.spark.oracle import check, restored


@pytest.fixture(scope="module")
def views(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    folder: Path = generate(tmp_path_factory.mktemp("tpch"), 0.01)
    tables = {name: spark.read.parquet(str(folder / f"{name}.parquet")) for name in TABLES}
    restored(tables)
    yield tables
    for name in TABLES:
        spark.catalog.dropTempView(name)


@pytest.mark.many
@pytest.mark.parametrize("number", QUERIES)
def test_a_row_comes_out_of_its_lineage(number: int, dbg: Any, views: dict[str, Any]) -> None:
    plain = dbg.spark.sql(QUERIES[number]).collect()
    frame = dbg.spark.sql(QUERIES[number])
    with dbg.capture(f"q{number}"):
        rows = frame.collect()
    assert rows == plain
    check(dbg, QUERIES[number], views, random.Random(number).sample(rows, min(1, len(rows))))


@pytest.mark.many
@pytest.mark.parametrize("number", [3, 13, 18, 22])
def test_indexes_answer_as_queries_do(number: int, dbg: Any, views: dict[str, Any]) -> None:
    frame = dbg.spark.sql(QUERIES[number])
    with dbg.capture() as run:
        rows = frame.collect()
    row = rows[len(rows) // 2]
    asked = dbg.lineage(run).where(row).goBackAll()
    found = {name: asked[name].rids().tolist() for name in asked.inputs}
    dbg.index(run)
    indexed = dbg.lineage(run).where(row).goBackAll()
    assert {name: indexed[name].rids().tolist() for name in indexed.inputs} == found
    assert row in asked[asked.inputs[0]].goNextAll().collect()


@pytest.mark.slow
def test_other_settings_give_the_same_lineage(dbg: Any, views: dict[str, Any]) -> None:
    found = []
    for adaptive in ("true", "false"):
        for ansi in ("true", "false"):
            dbg.spark.conf.set("spark.sql.adaptive.enabled", adaptive)
            dbg.spark.conf.set("spark.sql.ansi.enabled", ansi)
            try:
                frame = dbg.spark.sql(QUERIES[3])
                row = frame.collect()[0]
                lineage = dbg.lineage(frame).where(row).goBackAll()
                found.append((row, lineage.rids().tolist()))
            finally:
                dbg.spark.conf.unset("spark.sql.adaptive.enabled")
                dbg.spark.conf.unset("spark.sql.ansi.enabled")
    assert found == [found[0]] * 4
