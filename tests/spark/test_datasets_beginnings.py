"""What is recorded before a job that counts begins: schemas that are looked for in files, and what fails to start; and of what is named in several ways."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bigdebug.datasets.questions import Datasets
from bigdebug.datasets.store import DatasetStore
from tests.spark.recorded import Recorded


@pytest.fixture(scope="module")
def recorded(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    made = Recorded(spark, tmp_path_factory.mktemp("datasets"))
    spark.range(4).selectExpr("id as k", "cast(id as double) as v").coalesce(1).write.parquet(f"{made.folder}/in")
    made.recording.open()
    yield made
    made.recording.close()


FILES = {
    "xml": ("<r><row><a>1</a></row></r>", lambda spark, path: spark.read.option("rowTag", "row").xml(path)),
    "json": ('{"a": 1}', lambda spark, path: spark.read.option("multiLine", "true").json(path)),
    "csv": ("a\n1\n", lambda spark, path: spark.read.options(multiLine="true", header="true", inferSchema="true").csv(path)),
}


@pytest.mark.parametrize("form", FILES)
def test_a_schema_that_is_looked_for_in_whole_files_reads_these(recorded: Recorded, form: str) -> None:
    said, read = FILES[form]
    Path(f"{recorded.folder}/whole.{form}").write_text(said)
    processes = recorded.of(lambda spark, folder: read(spark, f"{folder}/whole.{form}"))
    assert {recorded.text(process) for process in processes} == {f"rdd succeeded\nread files whole.{form}"}


def test_an_rdd_that_the_user_calls_so_reads_nothing(recorded: Recorded) -> None:
    def job(spark: Any, folder: str) -> None:
        spark.sparkContext.parallelize([1]).setName("XMLFile: file:/nowhere").count()

    assert "nowhere" not in recorded.said(job)


def test_a_fit_that_fails_has_read_its_data(recorded: Recorded) -> None:
    def job(spark: Any, folder: str) -> None:
        from pyspark.ml.regression import LinearRegression

        LinearRegression(featuresCol="nowhere", labelCol="v").fit(spark.read.parquet(f"{folder}/in"))

    (process,) = recorded.of(job)
    assert recorded.text(process) == "fit failed\nread files in"
    assert "nowhere" in process.error


def test_a_stream_that_fails_to_start_is_recorded_with_why(recorded: Recorded) -> None:
    def job(spark: Any, folder: str) -> None:
        stream = spark.readStream.schema("k long, v double").parquet(f"{folder}/in")
        stream.writeStream.outputMode("complete").option("checkpointLocation", f"{folder}/check").start(f"{folder}/out", queryName="never", format="parquet")

    (process,) = recorded.of(job)
    assert recorded.text(process) == "stream failed\nread files in\nappended files out"
    assert process.text == "never"
    assert "complete" in process.error
    assert "complete" in recorded.raised


def test_a_stream_of_made_up_rows_that_fails_to_start_is_recorded(recorded: Recorded) -> None:
    def job(spark: Any, folder: str) -> None:
        spark.readStream.format("rate").load().writeStream.outputMode("complete").toTable("d_never", format="parquet")

    processes = recorded.of(job)
    recorded.spark.sql("drop table if exists d_never")
    assert [recorded.text(process).splitlines()[:2] for process in processes if process.sort == "stream"] == [["stream failed", "read stream rate"]]


def test_a_frame_that_is_turned_reads_what_it_was_made_of(recorded: Recorded) -> None:
    processes = recorded.of(lambda spark, folder: spark.read.parquet(f"{folder}/in").where("k < 2").transpose().write.parquet(f"{folder}/turned"))
    assert [recorded.text(process) for process in processes if process.sort == "write"] == ["""
write succeeded opaque Transpose
read files in
created files turned 1 rows
""".strip()]


def test_a_table_of_a_database_is_one_by_its_catalog_and_by_its_url(recorded: Recorded) -> None:
    url, driver = f"jdbc:derby:{recorded.folder}/shop;create=true", "org.apache.derby.jdbc.EmbeddedDriver"
    catalog = {
        "spark.sql.catalog.derby_shop": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog", "spark.sql.catalog.derby_shop.url": url,
        "spark.sql.catalog.derby_shop.driver": driver,
    }

    def job(spark: Any, folder: str) -> None:
        for name, value in catalog.items():
            spark.conf.set(name, value)
        spark.sql("create table derby_shop.APP.T1 (id int, s varchar(20))")
        spark.sql("insert into derby_shop.APP.T1 select 1, 'a'")
        spark.sql("select s from derby_shop.APP.T1").collect()
        spark.read.jdbc(url, "APP.T1", properties={"driver": driver}).collect()
        spark.sql("alter table derby_shop.APP.T1 rename to APP.T2")
        spark.sql("alter table derby_shop.APP.T2 rename to T3")

    processes = recorded.of(job)
    for name in catalog:
        recorded.spark.conf.unset(name)
    names = {access.dataset.name.removeprefix(f"{recorded.folder}/") for process in processes for access in (*process.reads, *process.writes) if access.dataset.kind == "jdbc"}
    assert names == {"shop.APP.T1", "shop.APP.T2", "shop.APP.T3"}
    assert {access.dataset.kind for process in processes for access in process.writes} == {"jdbc", "memory"}


def test_a_database_that_is_dropped_drops_the_tables_in_its_folder(recorded: Recorded, tmp_path: Path) -> None:
    def make(spark: Any, folder: str) -> None:
        spark.sql("create database d_gone")
        spark.sql("create table d_gone.t using parquet as select 1 as a")

    def drop(spark: Any, folder: str) -> None:
        spark.sql("drop database d_gone cascade")
        spark.sql("drop database if exists d_gone cascade")

    store = DatasetStore(tmp_path / "s.sqlite")
    store.record(*recorded.of(make), *recorded.of(drop))
    history = Datasets(store).history("d_gone.t")
    assert history.column("what") == ["dropped", "created"]
    assert [process.opaque for process in store.each() if any(access.mode == "dropped" for access in process.writes)] == [("tables of d_gone in other folders",)]
    store.close()
