"""A saved run of a DataFrame has as many rows as the live one, and as the program saw them: whatever the query ends in, and whatever was asked before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bigdebug


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))


def saved(dbg: Any, run: Any, at: Path, **given: Any) -> Any:
    return bigdebug.open(dbg.save(at, run, **given))


@pytest.mark.parametrize("kind", ["parquet", "range"])
def test_a_source_as_it_is_has_all_its_rows_whatever_was_asked_before(dbg: Any, spark: Any, tmp_path: Path, kind: str) -> None:
    frame = spark.range(20)
    if kind == "parquet":
        frame.write.parquet(str(tmp_path / "p"))
        frame = spark.read.parquet(str(tmp_path / "p"))
    with dbg.capture("leaf") as run:
        frame.collect()
    assert dbg.lineage(run).goBackAll().count() == 20
    dbg.index(run)
    plain = saved(dbg, run, tmp_path / "plain")
    assert plain.lineage("leaf").count() == 20
    trace = saved(dbg, run, tmp_path / "saved", lineage=True).lineage("leaf")
    assert trace.count() == trace.goBackAll().count() == trace.goNextAll().count() == 20
    assert trace.rids().tolist() == dbg.lineage(run).rids().tolist()
    if kind == "parquet":
        assert sorted(row["id"] for row in trace.collect()) == list(range(20))


def test_a_source_that_was_written_as_it_is_leads_back_to_its_rows(dbg: Any, spark: Any, tmp_path: Path) -> None:
    spark.range(20).coalesce(1).write.parquet(str(tmp_path / "p"))
    frame = spark.read.parquet(str(tmp_path / "p"))
    with dbg.capture("convert") as run:
        frame.write.csv(str(tmp_path / "out"))
    assert dbg.lineage(run).count() == 20
    opened = saved(dbg, run, tmp_path / "saved", lineage=True)
    [step] = opened.steps
    [file] = [extent for extent in step.writes if "part-" in extent.path]
    line = Path(file.path).read_text().splitlines().index("7")
    [source] = opened.pipeline.backward(file.path, lines=[line + 1]).sources
    assert source.located.positions.tolist() == [7]
