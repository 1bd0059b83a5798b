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


def test_files_that_were_added(dbg: Any, spark: Any) -> None:
    spark.range(10).selectExpr("id", "id % 2 k").coalesce(1).write.mode("overwrite").saveAsTable("growing")
    try:
        frame = spark.table("growing").groupBy("k").count()
        with dbg.capture():
            frame.collect()
        assert dbg.lineage(frame).where({"k": 0}).goBackAll()["growing"].count() == 5
        spark.sql("insert into growing values (100, 0)")
        with pytest.raises(SourceChangedError, match="was not there when the query ran"):
            dbg.lineage(frame).where({"k": 0}).goBackAll()["growing"].collect()
    finally:
        spark.sql("drop table growing")


def test_two_listings_of_a_folder_are_two_sources(dbg: Any, spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "days")
    spark.range(3).coalesce(1).write.parquet(path)
    before = spark.read.parquet(path)
    spark.range(10, 12).coalesce(1).write.mode("append").parquet(path)
    both = before.selectExpr("'before' w", "id").union(spark.read.parquet(path).selectExpr("'after' w", "id"))
    trace = dbg.lineage(both)
    for w, id_ in (("before", 1), ("after", 11)):
        back = trace.where(f"w = '{w}' and id = {id_}").goBackAll()
        assert sorted(r.id for name in back.inputs for r in back[name].collect()) == [id_]


@pytest.mark.parametrize("strategy", ["auto", "inject"])
def test_lines_that_are_dropped_by_what_is_read(strategy: str, dbg: Any, spark: Any, tmp_path: Path) -> None:
    (tmp_path / "lines.csv").write_text("1,1,1\n2,1,oops\n3,2,3\n4,1,4\n")
    frame = spark.read.schema("id int, k int, v int").option("mode", "DROPMALFORMED").csv(str(tmp_path / "lines.csv")).groupBy("k").count()
    plain = sorted(frame.collect())
    with dbg.capture(strategy=strategy):
        assert sorted(frame.collect()) == plain
    with pytest.raises(UntraceableError, match=r"DROPMALFORMED.*localCheckpoint"):
        dbg.lineage(frame).where("k = 1").goBackAll().collect()


def test_files_that_are_cached_have_the_same_rids(dbg: Any, spark: Any, tmp_path: Path) -> None:
    spark.range(60).selectExpr("id", "id % 3 k").repartition(5).write.csv(str(tmp_path / "lines"))
    frame = spark.read.schema("id long, k long").csv(str(tmp_path / "lines")).cache()
    assert frame.count() == 60
    trace = found(dbg, frame, 1)
    ids = sorted(r.id for r in trace.collect())
    assert ids == list(range(1, 60, 3)) == sorted(trace.toPandas().id)
    assert len(trace.origins()) == 20
    frame.unpersist()
    assert sorted(r.id for r in trace.collect()) == ids


def test_a_condition_is_what_the_session_knows_now(dbg: Any, spark: Any) -> None:
    frame = spark.range(10).groupBy(F.expr("id % 3 k")).count()
    for low in (2, 6):
        with dbg.capture():
            frame.collect()
        spark.udf.register("late", lambda x, low=low: x > low, "boolean")
        spark.range(low, 9).createOrReplaceTempView("suspects")
        back = dbg.lineage(frame).goBackAll()["range"]
        assert sorted(r.id for r in back.where("late(id)").collect()) == list(range(low + 1, 10))
        assert sorted(r.id for r in back.where("id in (select id from suspects)").collect()) == list(range(low, 9))


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_what_is_malformed_depends_on_the_columns_that_are_read(kind: str, dbg: Any, spark: Any, tmp_path: Path) -> None:
    lines = {"csv": ["1,2", "1,xx", "3,4"], "json": ['{"a":1,"b":2}', '{"a":1,"b":"xx"}', '{"a":3,"b":4}']}[kind]
    (tmp_path / "lines").write_text("\n".join(lines))
    read = spark.read.schema("a int, b int, bad string").option("columnNameOfCorruptRecord", "bad").format(kind).load(str(tmp_path / "lines"))
    counted = read.where("bad is null").groupBy("a").agg(F.max("b").alias("m"))
    with pytest.raises(UntraceableError, match=r"asks .* for bad, which records are malformed.*localCheckpoint"):
        dbg.lineage(counted).where("a = 1").goBackAll().collect()
    kept = read.localCheckpoint().where("bad is null").groupBy("a").agg(F.max("b").alias("m"))
    assert dbg.lineage(kept).where("a = 1").goBackAll().count() == 1
    unasked = read.groupBy("a").agg(F.max("b").alias("m"))
    assert dbg.lineage(unasked).where("a = 1").goBackAll().count() == 2
