"""Sources of DataFrames: their rows are found again, and named by where they came from."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from bigdebug.errors import SourceChangedError, UntraceableError


def found(dbg: Any, frame: Any, key: int) -> Any:
    """What the group of a key came from."""
    back = dbg.lineage(frame.groupBy("k").count()).where(f"k = {key}").goBackAll()
    return back[back.inputs[0]]


@pytest.mark.parametrize(("form", "files"), [("parquet", 1), ("parquet", 3), ("parquet", 40), ("csv", 2), ("json", 2), ("orc", 2)])
def test_files(form: str, files: int, dbg: Any, spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / f"numbers é %.{form}")
    spark.range(400).selectExpr("id", "id % 7 k").repartition(files).write.format(form).save(path)
    frame = spark.read.schema("id long, k long").format(form).load(path)
    trace = found(dbg, frame, 3)
    rows = trace.toPandas()
    assert sorted(rows.id) == [i for i in range(400) if i % 7 == 3]
    assert trace.inputs == (f"numbers é %.{form}",)
    origin, _, row = rows.origin[11].rstrip("]").rpartition("[")
    alone = tmp_path / "alone"
    shutil.copy(origin, alone)
    assert spark.read.schema("id long, k long").format(form).load(str(alone)).collect()[int(row)].id == rows.id[11]
    assert trace.where(f"id = {rows.id[5]}").goNextAll().collect() == frame.groupBy("k").count().where("k = 3").collect()


def test_lines_of_text(dbg: Any, spark: Any, tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("".join(f"{i % 3} line {i}\n" for i in range(30)))
    frame = spark.read.text(str(tmp_path / "log.txt")).selectExpr("cast(substr(value, 1, 1) as int) k", "value")
    trace = found(dbg, frame, 2)
    assert [origin.line for origin in trace.origins()] == list(range(3, 31, 3))
    assert trace.origins()[0].path == str(tmp_path / "log.txt")


def test_collections(dbg: Any, spark: Any) -> None:
    rows = [(i, i % 3) for i in range(30)]
    pandas = pd.DataFrame(rows, columns=["id", "k"])
    for frame in (
        spark.createDataFrame(rows, "id long, k long"), spark.createDataFrame(pandas),
        spark.createDataFrame(pa.Table.from_pandas(pandas)), spark.range(30).selectExpr("id", "id % 3 k"),
        spark.sql("select * from values (1, 1), (2, 2), (4, 1) as q(id, k)"),
    ):
        trace = found(dbg, frame, 1)
        expected = sorted(r.id for r in frame.collect() if r.k == 1)
        assert sorted(r[0] for r in trace.collect()) == expected
        assert [frame.collect()[origin.index][0] for origin in trace.origins()] == expected


def test_tables_views_and_caches(dbg: Any, spark: Any) -> None:
    spark.range(30).selectExpr("id", "id % 3 k").write.mode("overwrite").saveAsTable("kept")
    spark.range(30).selectExpr("id", "id % 3 k", "id % 2 part").write.mode("overwrite").partitionBy("part").saveAsTable("parted")
    try:
        spark.sql("create or replace temp view seen as select id, k from kept where id > 3")
        cached = spark.table("kept").cache()
        for frame, name in (
            (spark.table("kept"), "kept"), (spark.table("seen"), "kept"), (cached, "kept"), (spark.table("parted").where("part = 1"), "parted"),
        ):
            trace = found(dbg, frame, 1)
            assert trace.inputs == (name,)
            assert sorted(r.id for r in trace.collect()) == sorted(r.id for r in frame.where("k = 1").collect())
        cached.unpersist()
    finally:
        spark.sql("drop table kept")
        spark.sql("drop table parted")


def test_files_that_changed_or_went(dbg: Any, spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "numbers.parquet"
    pd.DataFrame({"k": [1, 2, 1]}).to_parquet(path)
    frame = spark.read.parquet(str(path)).groupBy("k").count()
    with dbg.capture():
        rows = frame.collect()
    assert dbg.lineage(frame).where(rows[0]).goBackAll().count() == rows[0]["count"]
    pd.DataFrame({"k": [1, 1, 2, 2]}).to_parquet(path)
    with pytest.raises(SourceChangedError, match=r"numbers\.parquet has changed"):
        dbg.lineage(frame).where(rows[0]).goBackAll().count()
    os.remove(path)
    with pytest.raises(SourceChangedError, match=r"numbers\.parquet is gone"):
        dbg.lineage(frame).where(rows[0]).goBackAll().count()


def test_a_stream_is_refused(dbg: Any, spark: Any) -> None:
    with pytest.raises(UntraceableError, match="stream"):
        dbg.lineage(spark.readStream.format("rate").load()).goBackAll()


class Ticking(DataSource):
    """A source that gives something else each time."""

    @classmethod
    def name(cls) -> str:
        return "ticking"

    def schema(self) -> str:
        return "i int, t double"

    def reader(self, schema: Any) -> DataSourceReader:
        return TickingReader()


class TickingReader(DataSourceReader):
    def partitions(self) -> list[InputPartition]:
        return [InputPartition(i) for i in range(2)]

    def read(self, partition: InputPartition) -> Any:
        return ((partition.value * 5 + i, random.random()) for i in range(5))


def test_a_source_that_cannot_be_read_again_is_refused_or_kept(dbg: Any, spark: Any) -> None:
    spark.dataSource.register(Ticking)
    frame = spark.read.format("ticking").load().groupBy((F.col("i") % 2).alias("k")).agg(F.sum("t").alias("s"))
    with dbg.capture():
        frame.collect()
    with pytest.raises(UntraceableError, match=r"DataSourceV2Relation#1 cannot be read again.*inject"):
        dbg.lineage(frame).goBackAll().count()
    with dbg.capture(strategy="inject"):
        rows = frame.collect()
    for row in rows:
        back = dbg.lineage(frame).where(row).goBackAll()
        assert back.inputs == ("ticking",)
        assert sorted(r.i % 2 for r in back.collect()) == [row.k] * 5
        assert sum(r.t for r in back.collect()) == pytest.approx(row.s)
