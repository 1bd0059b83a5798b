"""Crash culprits of what few queries do, and what is said of the rest: that it was not looked at, and not that no row crashes (FEATURES B1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from tests.spark.test_sql_culprits import culprits_of

BAD = [4, 9]
NONE = "No row crashed by itself"


@pytest.fixture
def rows(spark: Any) -> Any:
    return spark.createDataFrame([(i, f"x{i}" if i in BAD else str(i)) for i in range(12)], "id int, v string").coalesce(1)


def bad(culprits: Any) -> list[int]:
    assert culprits.unknown == []
    return sorted(culprit.record.id for culprit in culprits)


def test_rows_that_an_observed_metric_throws_on(dbg: Any, rows: Any) -> None:
    assert bad(culprits_of(dbg, rows.observe("o", F.sum(F.col("v").cast("int")), F.count("id")).where("id < 6"))) == BAD
    assert [row.id for row in dbg.runs[-1].resume(skip=True).result] == [0, 1, 2, 3, 5]
    found = culprits_of(dbg, rows.observe("o", F.sum(F.col("v").cast("int"))).groupBy("id").count())
    assert [culprit.operator.name for culprit in found] == ["Repartition"] * 2  # what gives the rows that are observed


def _is_bad(frame: Any) -> bool:
    return any(str(value).startswith("x") for value in frame["v"])


UNFIT: dict[str, Callable[[Any], Any]] = {
    "a column less": lambda d: d[["id"]] if _is_bad(d) else d,
    "another column": lambda d: d.rename(columns={"v": "w"}) if _is_bad(d) else d,
    "a column more": lambda d: d.assign(w=1) if _is_bad(d) else d,
    "another type": lambda d: d.assign(id=d["v"]) if _is_bad(d) else d,
    "numbers for text": lambda d: d.assign(v=[1] * len(d)).astype({"v": object}) if _is_bad(d) else d,
    "no frame": lambda d: None if _is_bad(d) else d,
}


@pytest.mark.parametrize("way", UNFIT)
def test_groups_of_which_a_function_gives_what_does_not_fit(way: str, dbg: Any, rows: Any) -> None:
    given = UNFIT[way]
    frame = rows.groupBy(F.col("id") % 5).applyInPandas(given, "id int, v string")
    assert bad(culprits_of(dbg, frame)) == BAD
    assert sorted(row.id for row in dbg.runs[-1].resume(skip=True).result) == [i for i in range(12) if i not in BAD]


def test_what_fits_by_being_cut_or_cast_is_not_blamed(dbg: Any, spark: Any) -> None:
    rows = spark.createDataFrame([(i, f"x{i}") for i in range(6)], "id int, v string")
    spark.conf.set("spark.sql.execution.pandas.convertToArrowArraySafely", "false")

    def given(frame: Any) -> Any:
        if (frame["id"] == 4).any():
            return frame[["id"]]
        odd = frame.assign(f=1.5, c=frame["v"].astype("category"), d=pd.Timestamp(2020, 1, 1).date(), m=[{"a": 1}] * len(frame), s=[(1, "b")] * len(frame), n=None, t=pd.Timestamp(2020, 1, 1))
        return pd.DataFrame() if (frame["id"] == 3).any() else odd[[*reversed(odd.columns)]]

    kind = "id int, v string, f int, c string, d date, m map<string, int>, s struct<a: int, b: string>, n string, t timestamp"
    frame = rows.groupBy("id").applyInPandas(given, kind)
    try:
        assert bad(culprits_of(dbg, frame)) == [4]
        assert sorted(row.id for row in dbg.runs[-1].resume(skip=True).result) == [0, 1, 2, 5]
    finally:
        spark.conf.unset("spark.sql.execution.pandas.convertToArrowArraySafely")


def test_groups_of_two_frames_of_which_a_function_gives_what_does_not_fit(dbg: Any, rows: Any) -> None:
    one, other = rows.groupBy("id"), rows.where("id <> 9").groupBy("id")
    frame = one.cogroup(other).applyInPandas(lambda a, b: UNFIT["no frame"](a), "id int, v string")
    assert sorted({culprit.record.id for culprit in culprits_of(dbg, frame)}) == BAD


def test_groups_of_arrow_of_which_a_function_gives_what_does_not_fit(dbg: Any, rows: Any) -> None:
    def given(table: pa.Table) -> pa.Table:
        return table.select(["id"]) if any(value.startswith("x") for value in table["v"].to_pylist()) else table

    assert bad(culprits_of(dbg, rows.groupBy("id").applyInArrow(given, "id int, v string"))) == BAD


@pytest.mark.parametrize("way", ["a column less", "another column", "another type", "no frame"])
def test_batches_of_which_a_function_gives_what_does_not_fit(way: str, dbg: Any, rows: Any) -> None:
    given = UNFIT[way]
    frame = rows.mapInPandas(lambda batches: map(given, batches), "id int, v string")
    assert bad(culprits_of(dbg, frame)) == BAD
    assert sorted(row.id for row in dbg.runs[-1].resume(skip=True).result) == [i for i in range(12) if i not in BAD]


def test_numbers_of_a_function_of_batches_that_are_text(dbg: Any, rows: Any) -> None:
    assert bad(culprits_of(dbg, rows.mapInPandas(lambda batches: (d[["v"]] for d in batches), "v int"))) == BAD


def test_batches_of_arrow_that_do_not_fit(dbg: Any, rows: Any) -> None:
    def given(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.select(["v", "id"]) if any(value.startswith("x") for value in batch["v"].to_pylist()) else batch

    assert bad(culprits_of(dbg, rows.mapInArrow(given, "id int, v string"))) == BAD


def test_a_table_function_that_gives_rows_of_another_width(dbg: Any, spark: Any, rows: Any) -> None:
    @F.udtf(returnType="n int")
    class Wide:
        def eval(self, v: str) -> Iterator[Any]:
            yield (1, 2) if v.startswith("x") else (1,)

    spark.udtf.register("wide", Wide)
    rows.createOrReplaceTempView("odd_rows")
    assert bad(culprits_of(dbg, spark.sql("select id, n from odd_rows, lateral wide(v)"))) == BAD


def test_a_table_function_that_crashes_at_its_end(dbg: Any, spark: Any, rows: Any) -> None:
    @F.udtf(returnType="n int")
    class Ending:
        def __init__(self) -> None:
            self.seen = 0

        def eval(self, v: str) -> Iterator[Any]:
            self.seen += 1
            yield (1,)

        def terminate(self) -> Iterator[Any]:
            yield (1 // (self.seen - 12),)

    spark.udtf.register("ending", Ending)
    rows.createOrReplaceTempView("odd_rows")
    (culprit,) = culprits_of(dbg, spark.sql("select id, n from odd_rows, lateral ending(v)"))
    assert (culprit.record, culprit.exception_type) == (None, "ZeroDivisionError")


@pytest.mark.parametrize("arrow", [False, True])
def test_a_function_of_a_row_that_raises_what_ends_generators(arrow: bool, dbg: Any, rows: Any) -> None:
    def leaving(v: str) -> str:
        if v == "x4":
            raise GeneratorExit("out")
        return v

    assert bad(culprits_of(dbg, rows.select("id", F.udf(leaving, "string", useArrow=arrow)("v")))) == [4]
    assert len(dbg.runs[-1].resume(skip=True).result) == 11


def test_a_checkpoint_that_is_taken_when_it_is_read(dbg: Any, rows: Any) -> None:
    original = rows.selectExpr("id", "int(v) n")
    found = culprits_of(dbg, original.localCheckpoint(eager=False).where("id > 5"))
    assert sorted(culprit.record.id for culprit in found) == BAD
    assert all("what is above" in said.lower() for said in found.unknown)


SAID: dict[str, tuple[str, str]] = {
    "an aggregate that throws": ("select bitmap_construct_agg(id * 100000) from range(4)", "bitmap_construct_agg() in Aggregate"),
    "a recursion": ("with recursive r(n) as (select 3 union all select n - 1 from r where 1 / n > 0) select n from r", "The query is recursive"),
}


@pytest.mark.parametrize("what", SAID)
def test_what_was_not_looked_at_is_named(what: str, dbg: Any, spark: Any) -> None:
    query, said = SAID[what]
    found = culprits_of(dbg, spark.sql(query))
    assert list(found) == []
    assert said in " ".join(found.unknown)
    assert not any(NONE in each or "INTERNAL_ERROR" in each for each in found.unknown)


DRAWN: dict[str, tuple[str, str]] = {
    "the place of a row": ("1 / (monotonically_increasing_id() - 3)", "monotonically_increasing_id() = 3"),
    "a number that is drawn": ("1 / cast(rand(7) * 4 as int)", "cast(rand(7) * 4 as int) = 0"),
}


@pytest.mark.parametrize("what", DRAWN)
def test_what_is_drawn_throws_on_the_rows_that_it_was_drawn_for(what: str, dbg: Any, spark: Any) -> None:
    throwing, where = DRAWN[what]
    found = culprits_of(dbg, spark.sql(f"select id, {throwing} q from range(0, 80, 1, 2)"))
    expected = [row.id for row in spark.sql(f"select id, {where} z from range(0, 80, 1, 2)").collect() if row.z]
    assert sorted(culprit.record.id for culprit in found) == expected
    assert found.unknown == []


def test_what_a_write_makes_of_rows_is_named(dbg: Any, spark: Any, tmp_path: Path) -> None:
    spark.sql(f"create table odd_numbers (n int) using parquet location '{tmp_path / 'numbers'}'")
    try:
        with pytest.raises(Exception, match="CAST_OVERFLOW"):
            spark.range(2**31 - 2, 2**31 + 2).write.insertInto("odd_numbers")
        found = dbg.runs[-1].culprits
        assert list(found) == []
        assert found.unknown == ["Whether the rows fit what they are written to, which the write itself sees, was not looked at."]
    finally:
        spark.sql("drop table odd_numbers")
