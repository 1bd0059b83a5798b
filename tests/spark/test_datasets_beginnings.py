"""What is recorded before a job that counts begins: schemas that are looked for in files, and what fails to start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

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
