"""Records of a saved run of a DataFrame are those that the program saw, in its columns and types, where no Spark is; what cannot be read so is refused by name."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.ml.functions import array_to_vector
from pyspark.sql import functions as F

import bigdebug
from bigdebug.errors import IncompleteLineageError
from tests.spark.fresh import fresh

ALL = (
    "SELECT 1 id, 7L k, 2S s, 1Y y, float(0.5) f, 2.5D d, true b, map('a', struct(1 AS z, timestamp'2024-07-01 12:00:00' AS at)) m, interval '1 02:03:04' day to second it, "
    "named_struct('z', 1, 'w', array(1, NULL)) st, timestamp'2024-07-01 12:00:00.5' ts, timestamp'1883-01-01 00:00:00' old, timestamp_ntz'2024-07-01 12:00:00' ntz, "
    "date'2020-01-02' da, X'00ff' bi, decimal(1.50) de, array(struct(timestamp'2024-01-01 00:00:00' AS at), NULL) ar, 'x' te "
    "UNION ALL SELECT 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL"
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))


def saved(dbg: Any, run: Any, at: Path) -> Any:
    return bigdebug.open(dbg.save(at, run, lineage=True))


def unfolded(row: Any) -> Any:
    """What rows are made of, with the names of their fields: rows are equal to tuples."""
    if hasattr(row, "__fields__"):
        return "row", list(row.__fields__), [unfolded(value) for value in row]
    if isinstance(row, list):
        return "list", [unfolded(value) for value in row]
    if isinstance(row, dict):
        return "dict", [(key, unfolded(value)) for key, value in row.items()]
    return type(row).__name__, bytes(row) if isinstance(row, bytearray) else row


@pytest.mark.parametrize("moments", ["INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"])
def test_records_and_rows_are_as_the_program_saw_them(dbg: Any, spark: Any, tmp_path: Path, moments: str) -> None:
    spark.conf.set("spark.sql.parquet.outputTimestampType", moments)
    try:
        spark.sql(ALL).coalesce(1).write.parquet(str(tmp_path / "p"))
    finally:
        spark.conf.unset("spark.sql.parquet.outputTimestampType")
    frame = spark.read.parquet(str(tmp_path / "p"))
    with dbg.capture("computed") as computed:
        rows = frame.where("id > 0").collect()
    with dbg.capture("given") as given:
        ones = frame.groupBy("id").count().collect()
    opened = saved(dbg, [computed.latest, given.latest], tmp_path / "saved")
    trace = opened.lineage("computed")
    assert sorted(map(repr, map(unfolded, trace.collect()))) == sorted(map(repr, map(unfolded, rows)))
    assert sorted(trace.collect(), key=repr) == sorted(rows, key=repr)
    sources = trace.goBackAll().collect()
    assert sorted(map(repr, map(unfolded, sources))) == sorted(map(repr, map(unfolded, dbg.lineage(computed).goBackAll().collect())))
    assert sorted(map(repr, map(unfolded, sources))) == sorted(map(repr, map(unfolded, rows)))
    assert opened.lineage("given").collect() == ones
    for condition in (lambda r: r.id == 1, lambda r: "id" in r, lambda r: bool(r["m"]) and r["m"]["a"].z == 1, lambda r: r["ts"] is not None and r["ts"] < datetime.datetime(2025, 1, 1)):
        assert trace.where(condition).count() == dbg.lineage(computed).where(condition).count() > 0
    zone = "Asia/Tokyo" if os.environ.get("TZ") != "Asia/Tokyo" else "America/New_York"
    script = f"import os, time; os.environ['TZ'] = {zone!r}; time.tzset(); trace = session.lineage('computed'); answer = [repr(trace.collect()), repr(trace.goBackAll().collect())]"
    assert fresh(opened.path, script) == [repr(trace.collect()), repr(sources)]


def test_rows_that_the_action_gave_are_kept_in_their_types(dbg: Any, spark: Any, tmp_path: Path) -> None:
    frame = spark.sql("SELECT id, max(named_struct('z', id, 'at', timestamp'2024-07-01 12:00:00')) st, min(array(interval 1 day)) it FROM range(3) GROUP BY id")
    with dbg.capture("given") as run:
        rows = frame.collect()
    opened = saved(dbg, run, tmp_path / "saved")
    assert list(map(unfolded, opened.lineage("given").collect())) == list(map(unfolded, rows))


SPARKS: dict[str, Callable[[Any], Any]] = {
    "variant": lambda spark: spark.sql("SELECT id, parse_json('{\"a\": 1}') v FROM range(2) WHERE id >= 0"),
    "array<struct<v:variant>>": lambda spark: spark.sql("SELECT id, array(named_struct('v', parse_json('1'))) v FROM range(2) WHERE id >= 0"),
    "geometry": lambda spark: spark.sql("SELECT id, st_geomfromwkb(X'0101000000000000000000f03f0000000000000040') v FROM range(2) WHERE id >= 0"),
    "vector": lambda spark: spark.range(2).where("id >= 0").select("id", array_to_vector(F.array(F.lit(1.0))).alias("v")),
}


@pytest.mark.parametrize("empty", ["map()", "array(map())", "named_struct('a b', map('k', map()), 'n', 1L)"])
def test_a_map_without_keys_keeps_no_session_from_being_saved(dbg: Any, spark: Any, tmp_path: Path, empty: str) -> None:
    """PySpark's own toArrow has no type for its keys."""
    with dbg.capture("empty") as run:
        rows = spark.range(3).selectExpr("id", f"{empty} AS m").collect()
    trace = saved(dbg, run.latest, tmp_path / "saved").lineage("empty")
    assert [(row["id"], row["m"]) for row in trace.collect()] == [(row.id, str(row.m)) for row in rows]
    assert trace.numbered([1]).goBackAll().rids().tolist() == dbg.lineage(run).where("id = 1").goBackAll().rids().tolist()
    assert sorted(dbg.lineage(run).page(0, 2).rows) == sorted((row.id, row.m) for row in rows[:2])


@pytest.mark.parametrize("kind", SPARKS)
def test_rows_of_types_that_are_sparks_own_are_refused_by_name(dbg: Any, spark: Any, tmp_path: Path, kind: str) -> None:
    frame = SPARKS[kind](spark)
    with dbg.capture("given") as run:
        rows = frame.collect()
    trace = saved(dbg, run, tmp_path / "saved").lineage("given")
    assert trace.count() == len(rows)
    with pytest.raises(IncompleteLineageError, match=re.escape(f"Column 'v' was saved as text: values of type {kind}")):
        trace.collect()
    assert len(trace.record_table().rows) == len(rows)


def read(spark: Any, folder: Path) -> str:
    spark.sql("SELECT 1 id, 7 k, 'x' Name").coalesce(1).write.parquet(str(folder / "p"))
    return str(folder / "p")


def viewed(spark: Any, path: str, columns: str) -> Any:
    spark.read.parquet(path).selectExpr(columns.split(", ")).createOrReplaceTempView("seen")
    return spark.table("seen").where("k > 0")


def kept(dbg: Any, frame: Any, folder: Path) -> tuple[Any, Any]:
    """The run of a query, and what is saved of it behind its result."""
    with dbg.capture("read") as run:
        frame.collect()
    return run, saved(dbg, run, folder / "saved").lineage("read").goBackAll()


READ: dict[str, Callable[[Any, str], Any]] = {
    "the user's columns": lambda spark, path: spark.read.schema("k int, id int").parquet(path),
    "a wider type": lambda spark, path: spark.read.schema("k long").parquet(path),
    "a column that the file has not": lambda spark, path: spark.read.schema("lacking string, id int").parquet(path),
    "a view of some columns": lambda spark, path: viewed(spark, path, "k, id"),
}


@pytest.mark.parametrize("name", READ)
def test_the_columns_of_a_source_are_those_of_the_program(dbg: Any, spark: Any, tmp_path: Path, name: str) -> None:
    run, behind = kept(dbg, READ[name](spark, read(spark, tmp_path)).where("true"), tmp_path)
    assert list(map(unfolded, behind.collect())) == list(map(unfolded, dbg.lineage(run).goBackAll().collect()))


REFUSED: dict[str, Callable[[Any, str], Any]] = {
    "other letters": lambda spark, path: spark.read.schema("NAME string").parquet(path),
    "a view that computes": lambda spark, path: viewed(spark, path, "k + 1 AS k, id"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_spark_reads_otherwise_is_refused(dbg: Any, spark: Any, tmp_path: Path, name: str) -> None:
    _, behind = kept(dbg, REFUSED[name](spark, read(spark, tmp_path)).where("true"), tmp_path)
    assert behind.count() == 1
    with pytest.raises(IncompleteLineageError):
        behind.collect()


def test_what_the_names_of_folders_tell_is_in_no_file(dbg: Any, spark: Any, tmp_path: Path) -> None:
    spark.sql("SELECT 1 id, 7 k").write.partitionBy("k").parquet(str(tmp_path / "p"))
    frames = {"whole": spark.read.parquet(str(tmp_path / "p")), "folder": spark.read.parquet(str(tmp_path / "p" / "k=7"))}
    for name, frame in frames.items():
        with dbg.capture(name):
            frame.where("id > 0").collect()
    opened = saved(dbg, dbg.runs[-2:], tmp_path / "saved")
    with pytest.raises(IncompleteLineageError):
        opened.lineage("whole").goBackAll().collect()
    assert list(map(unfolded, opened.lineage("folder").goBackAll().collect())) == list(map(unfolded, frames["folder"].collect()))


def test_lines_have_the_name_that_the_program_gave_them(dbg: Any, spark: Any, tmp_path: Path) -> None:
    (tmp_path / "k=1").mkdir()
    (tmp_path / "k=1" / "lines.txt").write_text("a\nb\n")
    frames = {"named": spark.read.schema("line string").text(str(tmp_path / "k=1")), "parted": spark.read.option("basePath", str(tmp_path)).text(str(tmp_path / "k=1"))}
    for name, frame in frames.items():
        with dbg.capture(name):
            frame.where("true").collect()
    opened = saved(dbg, dbg.runs[-2:], tmp_path / "saved")
    assert [row.line for row in opened.lineage("named").goBackAll().collect()] == ["a", "b"]
    with pytest.raises(IncompleteLineageError):
        opened.lineage("parted").goBackAll().collect()


def test_lines_of_a_view_that_has_them_twice_are_there_twice(dbg: Any, spark: Any, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("a\nb\n")
    spark.read.text(str(tmp_path / "lines.txt")).select("value", "value").createOrReplaceTempView("twice")
    with dbg.capture("read") as run:
        spark.table("twice").where("true").collect()
    trace = saved(dbg, run, tmp_path / "saved").lineage("read")
    assert list(map(unfolded, trace.goBackAll().collect())) == list(map(unfolded, dbg.lineage(run).goBackAll().collect()))


def test_orc_has_its_columns_and_no_moments(dbg: Any, spark: Any, tmp_path: Path) -> None:
    spark.sql("SELECT 1 id, map('a', struct(2 AS z)) m, interval 1 day it").coalesce(1).write.orc(str(tmp_path / "plain"))
    spark.sql("SELECT 1 id, timestamp'2024-07-01 12:00:00' ts").coalesce(1).write.orc(str(tmp_path / "moments"))
    for name in ("plain", "moments"):
        with dbg.capture(name):
            spark.read.orc(str(tmp_path / name)).where("id > 0").collect()
    plain, moments = dbg.runs[-2:]
    opened = saved(dbg, [plain, moments], tmp_path / "saved")
    assert list(map(unfolded, opened.lineage("plain").goBackAll().collect())) == list(map(unfolded, dbg.lineage(plain).goBackAll().collect()))
    with pytest.raises(IncompleteLineageError, match="'ts'"):
        opened.lineage("moments").goBackAll().collect()
