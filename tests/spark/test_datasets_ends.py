"""What is recorded of a program that ends as soon as its last job has, with a stream that still runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from bigdebug.datasets.store import DatasetStore
from tests.spark.one_by_one import told_by

PROGRAM = """
import os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["BIGDEBUG_HOME"] = os.path.abspath("home")
from pyspark.sql import SparkSession
import bigdebug

spark = SparkSession.builder.master("local[2]").appName("ends").config("spark.ui.enabled", "false").config("spark.log.level", "OFF").getOrCreate()
bigdebug.attach(spark)
stream = spark.readStream.schema("a int").json("in").writeStream.format("json").option("checkpointLocation", "check").start("streamed")
stream.processAllAvailable()
spark.range(5).write.parquet("last")
spark.stop()
"""


@pytest.mark.slow
def test_the_last_job_is_recorded_and_the_stream_is_lost(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one.json").write_text('{"a": 1}')
    assert told_by({"ends": PROGRAM}, tmp_path)["ends"][1] == ""
    asked = DatasetStore.of(tmp_path / "home" / "datasets.sqlite")
    told = {process.sort: (process.status, process.writes[0].dataset.name.rpartition("/")[2], process.writes[0].rows) for process in asked.each()}
    asked.close()
    assert told == {"write": ("succeeded", "last", 5), "stream": ("lost", "streamed", 1)}
