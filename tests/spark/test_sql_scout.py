"""Several operators of one stage that may throw are looked at in one pass (P10), and each row is blamed on the one that throws on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

from bigdebug.spark.sql.waves import MOST

pytestmark = pytest.mark.usefixtures("untold")

LINES = 1_000


@pytest.fixture
def lines(spark: Any, tmp_path: Path) -> Any:
    """Lines of two fields, in both of which there are things that are no numbers."""
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"{first(n)},{second(n)}\n" for n in range(LINES)))
    return spark.read.csv(str(path), schema="a string, b string")


def first(n: int) -> str:
    return "x" if n % 100 == 7 else str(n)


def second(n: int) -> str:
    return f"y{n}" if is_bad(n) else str(n)


def is_bad(n: int) -> bool:
    return n % 50 in (7, 8) or n == LINES - 1


def number(text: str) -> int:
    return int(text)


def failed(dbg: Any, frame: Any) -> Any:
    before = len(dbg.runs)
    with pytest.raises(Exception, match=r"\[CAST_INVALID_INPUT\]|invalid literal|no number"):
        frame.collect()
    (run,) = dbg.runs[before:]
    return run


def read(spark: Any, action: Callable[[], Any]) -> int:
    """How many records of sources the jobs of an action read."""
    sc = spark.sparkContext._jsc.sc()
    store = sc.statusStore()

    def jobs() -> list[Any]:
        sc.listenerBus().waitUntilEmpty(10_000)
        found = store.jobsList(None)
        return [found.apply(i) for i in range(found.length())]

    before = {int(job.jobId()) for job in jobs()}
    action()
    stages = {int(job.stageIds().apply(i)) for job in jobs() if int(job.jobId()) not in before for i in range(job.stageIds().length())}
    return sum(int(store.lastStageAttempt(stage).inputRecords()) for stage in stages)


WAYS: dict[str, Callable[[Any], Any]] = {
    "casts": lambda kept: kept.select(F.col("b").cast("int").alias("n")),
    "function": lambda kept: kept.select(F.udf(number, "int", useArrow=False)("b").alias("n")),
    "function over Arrow": lambda kept: kept.select(F.udf(number, "int", useArrow=True)("b").alias("n")),
    "sum": lambda kept: kept.groupBy(F.col("a").cast("int") % 3).agg(F.sum(F.col("b").cast("int"))),
    "sort": lambda kept: kept.orderBy(F.col("b").cast("int")),
    "explode": lambda kept: kept.select(F.explode(F.sequence(F.lit(1), F.col("b").cast("int") % 3 + 2))),
}


@pytest.mark.parametrize("way", WAYS)
def test_each_row_is_blamed_on_the_operator_that_throws_on_it(dbg: Any, spark: Any, lines: Any, way: str) -> None:
    kept = lines.filter(F.col("a").cast("int") >= 300)
    run = failed(dbg, WAYS[way](kept))
    assert read(spark, lambda: len(run.culprits)) == LINES
    found = [(culprit.operator.name, culprit.record["b"]) for culprit in run.culprits]
    in_filter = [second(n) for n in range(LINES) if first(n) == "x"]
    behind = [second(n) for n in range(300, LINES) if first(n) != "x" and is_bad(n)]
    assert sorted(found[: len(in_filter)]) == sorted(("Filter", b) for b in in_filter)
    assert sorted(b for _, b in found[len(in_filter) :]) == sorted(behind)
    assert "Filter" not in {name for name, _ in found[len(in_filter) :]}
    assert run.culprits.unknown == []
    last = run.culprits[-1]
    (source,) = last.sources
    assert source.record["b"] == last.record["b"]
    assert source.record["a"] == last.record["b"][1:]


def test_a_row_that_a_filter_drops_or_throws_on_is_not_blamed_on_what_is_behind(dbg: Any, lines: Any) -> None:
    run = failed(dbg, lines.filter(F.col("a").cast("int") < 9).select(F.udf(number, "int", useArrow=False)("b")))
    assert [culprit.record["b"] for culprit in run.culprits if culprit.operator.name != "Filter"] == ["y8"]


def test_what_a_projection_changes_is_told_as_it_was_below(dbg: Any, lines: Any) -> None:
    run = failed(dbg, lines.select(F.col("a").cast("int").alias("a"), F.concat("b", F.lit("0")).alias("b")).orderBy(F.col("b").cast("int")))
    assert {(c.record["a"], c.record["b"]) for c in run.culprits} == (
        {("x", second(n)) for n in range(LINES) if first(n) == "x"} | {(n, f"y{n}0") for n in range(LINES) if first(n) != "x" and is_bad(n)}
    )


def test_a_function_that_does_not_crash_each_time(dbg: Any, lines: Any, tmp_path: Path) -> None:
    """It crashes when the rows are found, and not when it is called on these alone: then it is called on all once more."""
    folder = tmp_path / "calls"
    folder.mkdir()

    def moody(text: str) -> str:
        if text != "500":
            return text
        calls = folder / "500"
        with calls.open("a") as file:
            file.write(".")
        if calls.stat().st_size % 3:
            raise ValueError("no number")
        return text

    run = failed(dbg, lines.filter("a != 'x'").filter(F.col("a").cast("int") >= 0).select(F.udf(moody, "string", useArrow=False)("b")))
    assert [culprit.record["b"] for culprit in run.culprits] == ["500"]


def test_more_rows_than_are_told_of_an_operator(dbg: Any, spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "many.txt"
    path.write_text("".join(f"{n}\n" if n % 3 else "x\n" for n in range(4 * MOST)) + "y\n")
    values = spark.read.text(str(path))
    run = failed(dbg, values.filter((F.col("value") == "y") | (F.col("value").cast("int") >= 0)).select(F.udf(number, "int", useArrow=False)("value")))
    told = [culprit.operator.name for culprit in run.culprits]
    assert told.count("Filter") == MOST
    assert len(told) == MOST + 1
    assert any(f"More than {MOST:,} rows" in why for why in run.culprits.unknown)


def test_large_numbers_are_no_culprits(dbg: Any, lines: Any) -> None:
    large = lines.select(F.col("a").cast("bigint").alias("a"), (F.col("b").cast("bigint") * 10_000_000_000).alias("n")).filter(F.col("a") + 1 > 0)
    run = failed(dbg, large.groupBy().agg(F.sum("n")))
    assert {culprit.record["a"] for culprit in run.culprits} == {first(n) for n in range(LINES) if first(n) == "x" or is_bad(n)}
