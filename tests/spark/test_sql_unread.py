"""What Spark never read did not crash: partitions, and lines of files, that a filter's other conditions leave out (FEATURES B1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

from tests.spark.test_sql_culprits import culprits_of

BAD = (3, 5, 6)


@pytest.fixture
def numbers(spark: Any) -> Any:
    text = F.when(F.col("id").isin(*BAD), "NA").otherwise(F.col("id").cast("string"))
    return spark.range(8).select("id", text.alias("v"), (F.col("id") % 2).alias("day")).coalesce(1)


def ids(dbg: Any, frame: Any) -> list[int]:
    found = culprits_of(dbg, frame)
    assert found.unknown == []
    return sorted(source.record.id for culprit in found for source in culprit.sources)


@pytest.mark.many
@pytest.mark.parametrize("source", ["parquet", "orc", "csv", "json"])
@pytest.mark.parametrize("condition", ["int(v) >= 0 and day = 0", "day = 0 and int(v) >= 0", "int(v) >= 0 and day in (0, 2) and id > 1", "int(v) >= 0 and day < 1 and day is not null", "int(v) >= 0 and ((day = 0 and id > 1) or (day = 2 and id > 3))"])
def test_partitions_that_are_left_out(source: str, condition: str, numbers: Any, dbg: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "days")
    numbers.write.partitionBy("day").format(source).save(path)
    frame = dbg.spark.read.format(source).schema("id long, v string, day long").load(path).where(condition)
    assert ids(dbg, frame) == [6]
    assert sorted(row.id for row in dbg.runs[-1].resume(skip=True).result) == [n for n in (0, 2, 4) if n > 1 or "id > 1" not in condition]


@pytest.mark.many
@pytest.mark.parametrize("source", ["csv", "json"])
def test_lines_that_are_left_out(source: str, numbers: Any, dbg: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "lines")
    numbers.write.format(source).save(path)
    frame = dbg.spark.read.format(source).schema("id long, v string, day long").load(path)
    assert ids(dbg, frame.where("int(v) >= 0 and id < 4")) == [3]
    assert ids(dbg, frame.where("int(v) >= 0 and id + id < 8")) == [3, 5, 6]
    setting = f"spark.sql.{source}.filterPushdown.enabled"
    dbg.spark.conf.set(setting, "false")
    try:
        assert ids(dbg, frame.where("int(v) >= 0 and id < 4")) == [3, 5, 6]
    finally:
        dbg.spark.conf.unset(setting)


def test_what_a_join_left_out_as_it_went_is_resumed(numbers: Any, dbg: Any, tmp_path: Path) -> None:
    """Spark prunes partitions by what the other side of the join has."""
    path = str(tmp_path / "days")
    numbers.where("id <> 3 and id <> 5").write.partitionBy("day").parquet(path)
    days = dbg.spark.createDataFrame([(0, "x"), (1, "y")], "day long, name string")
    frame = dbg.spark.read.parquet(path).join(F.broadcast(days), "day").where("name = 'x' and int(v) >= 2").select("id")
    assert ids(dbg, frame) == [6]
    assert [row.id for row in dbg.runs[-1].resume(skip=True).result] == [2, 4]


def test_malformed_lines_are_read_before_they_are_left_out(dbg: Any, tmp_path: Path) -> None:
    path = tmp_path / "lines.csv"
    path.write_text("1,1\nx,NA\n3,NA\n")
    frame = dbg.spark.read.csv(str(path), schema="id long, v string, bad string", columnNameOfCorruptRecord="bad").cache()
    frame.unpersist()
    assert len(culprits_of(dbg, frame.where("int(v) > 0 and bad is null"))) == 2
    assert len(culprits_of(dbg, frame.where("int(v) > 0 and id is not null"))) == 1
