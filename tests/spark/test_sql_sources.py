"""Sources of DataFrames: their rows are found again, and named by where they came from."""

from __future__ import annotations

import os
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pandas as pd
import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from bigdebug.errors import IncompleteLineageError, SourceChangedError, UntraceableError
from bigdebug.spark.sql import recorder
from bigdebug.spark.sql.plans.executions import planned_at


def found(dbg: Any, frame: Any, key: int) -> Any:
    """What the group of a key came from."""
    back = dbg.lineage(frame.groupBy("k").count()).where(f"k = {key}").goBackAll()
    return back[back.inputs[0]]


@pytest.mark.many
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


@pytest.fixture
def busy(dbg: Any) -> Iterator[Any]:
    """Whatever bigdebug does beside actions waits, until the event is set."""
    go_on = threading.Event()
    for pool in (dbg._recorder.beside, dbg._frames.beside):
        for _ in range(pool._max_workers):
            pool.submit(go_on.wait, 60)
    yield go_on
    go_on.set()


def test_what_is_noted_too_late_is_refused(
    dbg: Any, spark: Any, tmp_path: Path, busy: Any, monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recorder, "PATIENCE", 0.1)
    path = tmp_path / "numbers.parquet"
    pd.DataFrame({"id": [1, 2, 3], "k": [1, 1, 2]}).to_parquet(path)
    frame = spark.read.parquet(str(path)).groupBy("k").count()
    with dbg.capture():
        rows = frame.collect()
    pd.DataFrame({"id": [901, 902, 903], "k": [1, 1, 2]}).to_parquet(path)
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    busy.set()
    try:
        with pytest.raises(IncompleteLineageError, match="not known when it ended"):
            dbg.lineage(frame).where(rows[0]).goBackAll().collect()
    finally:
        spark.conf.unset("spark.sql.session.timeZone")


def test_conditions_are_noted_while_spark_plans_the_query(spark: Any) -> None:
    """Spark notes the phases of a query in a map that says so where it is read and changed at once."""
    frame = spark.range(3)
    tracker = frame._jdf.queryExecution().tracker()
    field = tracker.getClass().getDeclaredField("phasesMap")
    field.setAccessible(True)
    phases = field.get(tracker)
    for number in range(400):  # reading them takes long enough to be met
        phases.put(f"phase {number}", None)
    read = threading.Event()

    def plan() -> None:
        number = 0
        while not read.is_set():
            phases.put(f"another {number}", None)
            number += 1

    planning = threading.Thread(target=plan)
    planning.start()
    try:
        assert {planned_at(frame, time.time()) for _ in range(40)} == {None}
        with pytest.raises(Py4JJavaError, match="ConcurrentModificationException"):
            sum(tracker.phases().size() for _ in range(1_000))
    finally:
        read.set()
        planning.join()


def test_files_are_those_that_the_query_listed(dbg: Any, spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "numbers.parquet"
    pd.DataFrame({"id": [1, 2, 3], "k": [1, 1, 2]}).to_parquet(path)
    frame = spark.read.parquet(str(path)).groupBy("k").count()
    before = path.stat()
    pd.DataFrame({"id": [901, 902, 903], "k": [1, 1, 2]}).to_parquet(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 2_000_000))
    with dbg.capture():
        row = frame.collect()[0]
    with pytest.raises(SourceChangedError, match=r"numbers\.parquet has changed since the query listed it.*anew"):
        dbg.lineage(frame).where(row).goBackAll().collect()
    again = spark.read.parquet(str(path)).groupBy("k").count()
    with dbg.capture():
        again.collect()
    assert [r.id for r in dbg.lineage(again).where("k = 2").goBackAll().collect()] == [903]


def test_a_file_of_the_same_size_and_time(dbg: Any, spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "lines.csv"
    path.write_text("1,1\n2,2\n")
    frame = spark.read.schema("id int, k int").csv(str(path)).groupBy("k").count()
    with dbg.capture():
        row = frame.collect()[0]
    before = path.stat()
    path.write_text("7,1\n8,2\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(SourceChangedError, match=r"lines\.csv has changed"):
        dbg.lineage(frame).where(row).goBackAll().collect()


@pytest.mark.parametrize("again", [False, True])
def test_files_that_changed_behind_a_cache(again: bool, dbg: Any, spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "numbers.parquet"
    pd.DataFrame({"id": [1, 2, 3], "k": [1, 1, 2]}).to_parquet(path)
    cached = spark.read.parquet(str(path)).cache()
    assert cached.count() == 3
    rows = cached.groupBy("k").count()
    with dbg.capture():
        rows.collect()
    assert dbg.lineage(rows).where("k = 2").goBackAll().collect()[0].id == 3
    pd.DataFrame({"id": [901, 902, 903], "k": [1, 1, 2]}).to_parquet(path)
    # Spark takes what it holds for that of another reading of the same path, too.
    frame = (spark.read.parquet(str(path)) if again else cached).groupBy("k").count()
    with dbg.capture():
        row = frame.collect()[0]
    try:
        with pytest.raises(SourceChangedError, match=r"numbers\.parquet has changed"):
            dbg.lineage(frame).where(row).goBackAll().collect()
    finally:
        cached.unpersist()


def test_files_of_a_table_that_its_catalog_lists(dbg: Any, spark: Any) -> None:
    spark.range(8).selectExpr("id", "id % 3 k", "id % 2 part").write.mode("overwrite").partitionBy("part").saveAsTable("parts")
    try:
        frame = spark.table("parts").where("part = 1").groupBy("k").count()
        with dbg.capture():
            frame.collect()
        assert sorted(r.id for r in dbg.lineage(frame).where("k = 1").goBackAll().collect()) == [1, 7]
        [changed, *_] = [file for file in frame.inputFiles() if "part=1" in file]
        Path(unquote(urlsplit(changed).path)).write_bytes(b"nothing")
        with pytest.raises(SourceChangedError, match=r"part=1/.* has changed"):
            dbg.lineage(frame).where("k = 1").goBackAll().collect()
    finally:
        spark.sql("drop table parts")


def test_a_stream_is_refused(dbg: Any, spark: Any) -> None:
    kept = spark.range(3).cache()  # Spark looks for cached parts of a plan by other rules
    with pytest.raises(UntraceableError, match="stream"):
        dbg.lineage(spark.readStream.format("rate").load()).goBackAll()
    kept.unpersist()


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


@pytest.fixture
def growing(spark: Any) -> Iterator[str]:
    spark.range(10).selectExpr("id", "id % 2 k", "id % 3 part").coalesce(1).write.mode("overwrite").saveAsTable("growing")
    yield "growing"
    spark.sql("drop table growing")


def grow(spark: Any) -> None:
    spark.sql("insert into growing values (100, 0, 1), (200, 0, 7)")


QUERIES: dict[str, Callable[[Any], Any]] = {
    "a group": lambda spark: spark.table("growing").groupBy("k").count(),
    "twice": lambda spark: spark.table("growing").alias("one").join(spark.table("growing").alias("other"), "id").groupBy("one.k").count(),
    "subqueries": lambda spark: spark.sql("select k, count(*) count from growing where id in (select id from growing) and id <= (select max(id) from growing) group by k"),
    "a view": lambda spark: spark.sql("with w as (select * from growing), v as (select * from w union all select * from w) select k, count(*) count from v group by k"),
}


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("parted", [False, True])
@pytest.mark.parametrize("asked", [False, True])
def test_files_that_were_added_are_none_of_the_query(asked: bool, parted: bool, query: str, dbg: Any, spark: Any, growing: str) -> None:
    """Whether something was asked before or not: Spark sees an INSERT in all DataFrames of the table."""
    if parted:
        spark.sql("drop table growing")
        spark.range(10).selectExpr("id", "id % 2 k", "id % 3 part").write.partitionBy("part").saveAsTable("growing")
    frame = QUERIES[query](spark)
    with dbg.capture() as run:
        rows = frame.collect()
    expected = set(range(10)) if query == "subqueries" else {0, 2, 4, 6, 8}  # of a subquery, all counts
    if asked:
        assert {row.id for row in dbg.lineage(run).where({"k": 0}).goBackAll()["growing"].collect()} == expected
    grow(spark)
    assert {row.id for row in dbg.lineage(run).where({"k": 0}).goBackAll()["growing"].collect()} == expected
    assert sorted(dbg.lineage(run).collect()) == sorted(rows)
    source = dbg.lineage(run).goBackAll()["growing"]
    assert {row.k for row in source.where("id = 4").goNextAll().collect()} == ({0, 1} if query == "subqueries" else {0})
    assert source.where("id = 100").count() == 0
    again = dbg.lineage(run).goBackAll().replay()
    assert sorted(again.collect()) == sorted(rows)
    assert dbg.lineage(run).where({"k": 0}).back_to(frame).count() == 1
    spark.sql("insert overwrite growing select 5 id, 0 k, 5 part")
    with pytest.raises(SourceChangedError, match="is gone"):
        dbg.lineage(run).where({"k": 0}).goBackAll().count()


def test_what_is_compared_with_a_replay_is_the_query_of_then(dbg: Any, spark: Any, growing: str) -> None:
    frame = spark.table(growing).groupBy("k").count()
    with dbg.capture() as run:
        frame.collect()
    without = dbg.lineage(run).goBackAll()["growing"].where("id = 4").replay(exclude=True)
    grow(spark)
    assert [(row.k, row["count"]) for rows in (without.compare().removed, without.compare().added) for row in rows] == [(0, 5), (0, 4)]


def test_a_dataframe_of_which_no_run_was_captured_is_asked_as_it_is_now(dbg: Any, spark: Any, growing: str) -> None:
    frame = spark.table(growing).where("k = 0")
    assert dbg.lineage(frame).goBackAll().count() == 5
    grow(spark)
    assert dbg.lineage(frame).goBackAll().count() == frame.count() == 7


def test_names_of_other_files_lead_nowhere(dbg: Any, spark: Any, growing: str) -> None:
    """A record is named by the number of its file among those of the query."""
    totals = spark.table(growing).groupBy("k").count()
    with dbg.capture():
        totals.collect()
    grow(spark)
    with pytest.raises(SourceChangedError, match="growing had other files when one of the two"):
        dbg.lineage(spark.table(growing)).where("id = 4").forward_to(totals).collect()


def test_what_is_cached_of_a_table_with_files_that_were_added_is_not_read(dbg: Any, spark: Any, growing: str) -> None:
    frame = spark.table(growing).groupBy("k").count()
    with dbg.capture() as run:
        frame.collect()
    cached = spark.table(growing).groupBy("k").count().cache()
    try:
        cached.count()
        grow(spark)
        with pytest.raises(SourceChangedError, match="was not there when the query ran"):
            dbg.lineage(run).where({"k": 0}).collect()
    finally:
        cached.unpersist()
    assert [row["count"] for row in dbg.lineage(run).where({"k": 0}).collect()] == [5]


def test_files_that_were_added_after_a_dataframe_was_first_run(dbg: Any, spark: Any) -> None:
    spark.range(10).selectExpr("id", "id % 2 k").coalesce(1).write.mode("overwrite").saveAsTable("growing")
    try:
        frame = spark.table("growing").where("k = 0")
        assert len(frame.collect()) == 5
        time.sleep(0.01)
        spark.sql("insert into growing values (100, 0)")
        with dbg.capture() as capture:
            assert len(frame.toPandas()) == 5  # a DataFrame is planned once
            assert frame.count() == 6
        with pytest.raises(SourceChangedError, match="has changed since"):
            dbg.lineage(capture.runs[0]).goBackAll().count()
        assert dbg.lineage(capture.runs[1]).goBackAll().count() == 6
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


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_the_name_of_the_file_is_known_by_the_record(kind: str, dbg: Any, spark: Any, tmp_path: Path) -> None:
    spark.range(20).repartition(3).write.format(kind).save(str(tmp_path / "rows"))
    rows = spark.read.schema("id long").format(kind).load(str(tmp_path / "rows")).withColumn("path", F.input_file_name())
    counted = rows.where("id % 2 = 0").groupBy("path").agg(F.count("*").alias("n"))
    expected = counted.collect()
    for row in expected:
        back = dbg.lineage(counted).where(row).goBackAll()
        assert back.count() == row.n
        assert {unquote(urlsplit(row.path).path)} == {origin.path for origin in back.origins()}


def test_a_frame_in_the_text_of_a_query_has_its_own_name(dbg: Any, spark: Any) -> None:
    orders = spark.createDataFrame([(1, 2.0)], "id int, amount double")
    trace = dbg.lineage(spark.sql("select id from {orders} where amount > {least}", orders=orders, least=1))
    assert trace.inputs == ("createDataFrame",)


def test_a_file_that_is_read_twice_is_refused(dbg: Any, spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "rows")
    spark.range(3).write.parquet(path)
    with pytest.raises(UntraceableError, match=r"reads a file twice.*union"):
        dbg.lineage(spark.read.parquet(path, path)).goBackAll().count()


@pytest.mark.slow
def test_text_of_a_bounded_length_keeps_its_type(dbg: Any, spark: Any) -> None:
    spark.conf.set("spark.sql.preserveCharVarcharTypeInfo", "true")
    try:
        spark.sql("create table bounded (c char(3), v varchar(5), n int) using parquet")
        spark.sql("insert into bounded values ('a', 'x', 1), ('a', 'x', 3), ('b', 'y', 2)")
        frame = spark.sql("select c, v, sum(n) s from bounded group by c, v")
        with dbg.capture():
            rows = frame.collect()
        assert sorted((row.s, dbg.lineage(frame).where(row).goBackAll().count()) for row in rows) == [(2, 1), (4, 2)]
        for condition in ("c = 'a'", "c = 'a  '", "v = 'x'"):
            assert dbg.lineage(frame).where(condition).count() == frame.where(condition).count(), condition
    finally:
        spark.conf.unset("spark.sql.preserveCharVarcharTypeInfo")
        spark.sql("drop table if exists bounded")


@pytest.mark.parametrize("captured", [False, True])
def test_a_condition_on_the_file_is_asked_of_the_file(captured: bool, dbg: Any, spark: Any, tmp_path: Path) -> None:
    spark.range(10).repartition(2).write.parquet(str(tmp_path / "two"))
    frame = spark.read.parquet(str(tmp_path / "two"))
    if captured:
        with dbg.capture():
            frame.collect()
    first = min(frame.inputFiles()).rsplit("/", 1)[1]
    expected = frame.where(F.input_file_name().endswith(first)).count()
    assert 0 < expected < 10
    assert dbg.lineage(frame).where(f"input_file_name() like '%{first}'").count() == expected
