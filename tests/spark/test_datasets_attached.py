"""Recording as users meet it: attached, asked by dbg.datasets, without a call of theirs and without our own questions in it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from bigdebug.datasets.model import Cell, Process
from bigdebug.spark.rdd.actions import Actions


@pytest.fixture(scope="module")
def folder(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = str(tmp_path_factory.mktemp("attached"))
    spark.range(20).selectExpr("id % 5 as k", "id * 2 as v").coalesce(1).write.parquet(f"{folder}/in")
    Path(folder, "text").write_text("a\nb\n", encoding="utf-8")
    return folder


@pytest.fixture
def told(dbg: Any) -> Callable[[], list[Process]]:
    """The processes that are recorded from now on."""
    dbg.datasets.store.record()
    settle(dbg)
    before = {process.id for process in dbg.datasets.store.each()}

    def now() -> list[Process]:
        settle(dbg)
        return [process for process in dbg.datasets.store.each() if process.id not in before]

    return now


def settle(dbg: Any) -> None:
    dbg.datasets.find("")


def names(process: Process) -> tuple[list[str], list[str]]:
    return [Path(a.dataset.name).name for a in process.reads], [Path(a.dataset.name).name for a in process.writes if a.dataset.kind != "memory"]


def test_a_captured_action_is_recorded_with_its_run(dbg: Any, folder: str, told: Any) -> None:
    frame = dbg.spark.read.parquet(f"{folder}/in").groupBy("k").sum("v")
    with dbg.capture("sums") as run:
        frame.write.mode("overwrite").parquet(f"{folder}/out")
    (process,) = told()
    assert names(process) == (["in"], ["out"])
    assert process.run == run.latest.id
    assert dbg.datasets.trace(f"{folder}/out").count() == 5


def test_runs_of_rdds_are_named_too(dbg: Any, folder: str, told: Any) -> None:
    lines = dbg.context.textFile(f"{folder}/text").map(lambda line: (line, 1)).reduceByKey(lambda a, b: a + b)
    with dbg.capture() as run:
        lines.collect()
    (process,) = told()
    assert (process.sort, names(process), process.run) == ("rdd", (["text"], []), run.latest.id)


def test_what_a_captured_rdd_is_saved_to_is_recorded_with_its_run(dbg: Any, folder: str, told: Any) -> None:
    with dbg.capture() as run:
        dbg.context.textFile(f"{folder}/text").map(str.upper).saveAsTextFile(f"{folder}/upper")
    (process,) = told()
    assert (process.sort, names(process), process.run) == ("rdd", (["text"], ["upper"]), run.latest.id)
    assert process.writes[0].rows == 2


def test_a_query_whose_rows_are_kept_reads_what_the_user_asked_for(dbg: Any, folder: str, told: Any) -> None:
    frame = dbg.spark.read.parquet(f"{folder}/in").selectExpr("k", "rand() as r")
    with dbg.capture():
        frame.collect()
    (process,) = told()
    assert names(process) == (["in"], [])
    assert {(edge.column, edge.used) for edge in process.columns} == {("k", "k")}


def test_questions_of_ours_are_not_recorded(dbg: Any, folder: str, told: Any) -> None:
    frame = dbg.spark.read.parquet(f"{folder}/in").where("v > 3").groupBy("k").sum("v")
    with dbg.capture():
        frame.collect()
    lines = dbg.context.textFile(f"{folder}/text").map(lambda line: (line, 1)).reduceByKey(lambda a, b: a + b)
    with dbg.capture():
        lines.collect()
    known = {process.id for process in told()}
    assert len(known) == 2
    trace = dbg.lineage(frame).where("k = 1").goBackAll()
    trace.show()
    assert trace.count() == len(trace.collect()) == len(trace.toPandas())
    trace.replay().collect()
    dbg.index(dbg.runs[0])
    dbg.localize(frame, lambda row: row["sum(v)"] > 60)
    words = lines.getLineage().where(lambda pair: pair[0] == "a").goBackAll()
    assert words.collect() == ["a"]
    words.replay().collect()
    assert [process.job for process in told() if process.id not in known] == []


def test_questions_about_crashes_are_not_recorded(dbg: Any, folder: str, told: Any) -> None:
    from pyspark.sql.functions import udf

    frame = dbg.spark.read.parquet(f"{folder}/in").select(udf(lambda v: 1 // (v - 4), "long")("v"))
    with pytest.raises(Exception, match="ZeroDivisionError"), dbg.capture() as run:
        frame.collect()
    assert len(run.culprits) == 1
    assert [process.status for process in told()] == ["failed"]


def test_rows_of_a_dataframe_that_an_rdd_reads_are_its_sources(dbg: Any, folder: str, told: Any) -> None:
    dbg.spark.read.parquet(f"{folder}/in").rdd.map(lambda row: row.k).sum()
    dbg.spark.read.parquet(f"{folder}/in").foreach(lambda row: None)
    assert [names(process)[0] for process in told()] == [["in"], ["in"]]


def test_rows_of_a_dataframe_that_a_saved_rdd_reads_are_its_sources(dbg: Any, folder: str, told: Any) -> None:
    dbg.spark.read.parquet(f"{folder}/in").rdd.map(lambda row: str(row.k)).saveAsTextFile(f"{folder}/saved_rows")
    dbg.spark.read.parquet(f"{folder}/in").rdd.collect()
    assert [names(process) for process in told()] == [(["in"], ["saved_rows"]), (["in"], [])]


def test_what_a_user_writes_of_a_trace_is_recorded(dbg: Any, folder: str, told: Any) -> None:
    frame = dbg.spark.read.parquet(f"{folder}/in").groupBy("k").count()
    rows = dbg.lineage(frame).where("k = 1").goBackAll()["in"].toDF()
    rows.write.mode("overwrite").parquet(f"{folder}/of_trace")
    assert [names(process)[1] for process in told()] == [["of_trace"]]


def test_the_cell_that_ran_a_job_is_named(dbg: Any, folder: str, told: Any) -> None:
    cells = {True: Cell("a.ipynb", "x", 3)}
    began = datetime.now(timezone.utc)
    dbg.name_cells(lambda at: cells.get((at - began).total_seconds() > -1))
    dbg.spark.read.parquet(f"{folder}/in").count()
    assert [process.cell for process in told()] == [cells[True]]
    dbg.name_cells(lambda at: None)


def test_recording_can_be_turned_off_and_on(dbg: Any, folder: str, told: Any) -> None:
    from pyspark import RDD

    dbg.datasets.recording = False
    assert not hasattr(RDD.saveAsTextFile, "__wrapped__")
    frame = dbg.spark.read.parquet(f"{folder}/in").groupBy("k").count()
    with dbg.capture():
        frame.collect()
    assert dbg.lineage(frame).where("k = 1").goBackAll().count() == 4
    assert told() == []
    assert "Recording is off" in repr(dbg.datasets)
    assert "Recording is off" in " ".join(dbg.datasets.find().notes)
    dbg.datasets.recording = True
    with dbg.capture() as run:
        frame.collect()
    assert [process.run for process in told()] == [run.latest.id]
    assert "Recording is off" not in " ".join(dbg.datasets.find().notes)
    with pytest.raises(TypeError, match="True or False"):
        dbg.datasets.recording = "off"


def test_the_environment_turns_recording_off(spark: Any, dbg: Any, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from bigdebug.datasets.questions import Datasets
    from bigdebug.errors import DatasetsError

    for said, wanted in (("", True), ("on", True), ("OFF", False), ("0", False)):
        monkeypatch.setenv("BIGDEBUG_DATASETS", said)
        assert Datasets(dbg.datasets.store).recording is wanted
    monkeypatch.setenv("BIGDEBUG_DATASETS", "of")
    with pytest.raises(DatasetsError, match="on or to off"):
        Datasets(dbg.datasets.store)


def test_after_detach_nothing_is_recorded_and_nothing_is_left(dbg: Any, spark: Any, folder: str) -> None:
    from pyspark import RDD
    from pyspark.ml.base import Estimator

    import bigdebug

    dbg.detach()
    before = len(list(dbg.datasets.store.each()))
    spark.read.parquet(f"{folder}/in").count()
    assert not hasattr(RDD.saveAsTextFile, "__wrapped__")
    assert vars(Actions)["saveAsTextFile"].__wrapped__ is RDD.saveAsTextFile
    assert not hasattr(Estimator.fit, "__wrapped__") or Estimator.fit.__module__ == "pyspark.ml.base"
    assert bigdebug.attach(spark) is dbg
    settle(dbg)
    assert len(list(dbg.datasets.store.each())) == before
