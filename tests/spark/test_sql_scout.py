"""Several operators of one stage that may throw are looked at in one pass (P10), and each row is blamed on the one that throws on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

from bigdebug.spark.sql.crashes.waves import MOST

pytestmark = pytest.mark.usefixtures("untold", "unhurried")

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
    with pytest.raises(Exception, match=r"\[CAST_INVALID_INPUT\]|invalid literal|no number|DIVIDE_BY_ZERO|OVERFLOW|modulo by zero|Could not convert"):
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


@pytest.mark.many
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


class Calls:
    """How often a function was called on each text."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()

    def add(self, text: str) -> int:
        """One more; gives how many there are of it."""
        with (self._folder / text).open("a") as file:
            file.write(".")
        return (self._folder / text).stat().st_size

    def of(self, text: str) -> int:
        path = self._folder / text
        return path.stat().st_size if path.exists() else 0


@pytest.fixture
def calls(tmp_path: Path) -> Calls:
    return Calls(tmp_path / "calls")


def test_a_function_that_does_not_crash_each_time(dbg: Any, lines: Any, calls: Calls) -> None:
    """It crashes when the rows are found, and not when it is called on these alone: then it is called on all once more."""

    def moody(text: str) -> str:
        if text == "500" and calls.add(text) in (1, 3):  # when the rows are found, and when all are looked at once more
            raise ValueError("no number")
        return text

    kept = lines.filter("b != 'y307'").filter(F.col("a").cast("int") >= 300)
    run = failed(dbg, kept.select(F.udf(moody, "string", useArrow=False)("b")))
    found = [(culprit.operator.name, culprit.record["b"]) for culprit in run.culprits]
    assert [b for name, b in found if name != "Filter"] == ["500"]
    assert len(found) == 10
    assert calls.of("500") == 3


@pytest.mark.parametrize("arrow", [False, True])
def test_a_function_is_not_called_on_rows_that_never_came_to_it(dbg: Any, lines: Any, calls: Calls, arrow: bool) -> None:
    """On such rows it might hang, or end its worker."""

    def number_of(text: str) -> int:
        calls.add(text)
        return int(text)

    kept = lines.filter(F.col("a").cast("int") >= 300)
    run = failed(dbg, kept.select(F.udf(number_of, "int", useArrow=arrow)(F.col("b"))))
    assert {culprit.operator.name for culprit in run.culprits} > {"Filter"}
    assert calls.of("y308") > 1
    assert [calls.of(second(n)) for n in range(LINES) if first(n) == "x" or n < 300] == [0] * 307


@pytest.mark.parametrize("arrow", [False, True])
def test_what_throws_in_the_arguments_of_a_function(dbg: Any, spark: Any, lines: Any, arrow: bool) -> None:
    share = F.udf(lambda n, m: n // (m % 10), "int", useArrow=arrow)
    run = failed(dbg, lines.select(share(F.col("b").cast("int"), F.col("a").cast("int"))))
    assert read(spark, lambda: len(run.culprits)) == LINES
    found = [(culprit.exception_type, culprit.record["b"]) for culprit in run.culprits]
    assert sorted(b for kind, b in found if kind == "NumberFormatException") == sorted(second(n) for n in range(LINES) if is_bad(n) or first(n) == "x")
    assert sorted(b for kind, b in found if kind == "ZeroDivisionError") == sorted(second(n) for n in range(0, LINES, 10))


def test_a_function_that_gives_what_may_not_fit(dbg: Any, spark: Any, tmp_path: Path) -> None:
    """A task tells once of something that has to be looked at; a row that never came to the function does not use that up."""
    path = tmp_path / "lines.csv"
    path.write_text("x,zz\n1,zz\n2,3\n")
    table = spark.read.csv(str(path), schema="a string, b string")
    lenient = F.udf(lambda text: int(text) if text.isdigit() else text, "int", useArrow=True)
    run = failed(dbg, table.filter(F.col("a").cast("int") > 0).select(lenient("b")))
    assert [(culprit.operator.name, culprit.record["b"]) for culprit in run.culprits] == [("Filter", "zz"), ("Project", "zz")]


def test_a_function_that_gives_large_numbers(dbg: Any, spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "lines.csv"
    path.write_text(f"x,{2**62}\n" + f"1,{2**62}\n" * 3)
    table = spark.read.csv(str(path), schema="a string, b string")
    numbers = table.filter(F.col("a").cast("int") > 0).select(F.udf(int, "bigint", useArrow=False)("b").alias("n"))
    run = failed(dbg, numbers.agg(F.sum("n")))
    assert [culprit.operator.name for culprit in run.culprits] == ["Filter", "Aggregate"]
    assert run.culprits[0].record["a"] == "x"


def test_a_function_of_what_throws_gives_large_numbers(dbg: Any, spark: Any) -> None:
    large = F.udf(lambda n: n * 2**61, "bigint", useArrow=False)
    run = failed(dbg, spark.range(8).select(large(F.expr("1 + 0 div (id + 1)")).alias("n")).agg(F.sum("n")))
    assert [culprit.operator.name for culprit in run.culprits] == ["Aggregate"]


def test_large_numbers_that_come_in_several_waves(dbg: Any, spark: Any) -> None:
    """That a number is only large is no reason to forget which rows later waves would find."""
    numbers = spark.range(0, 1_000, 1, 8).select(F.expr("id * 10000000000 + 1 div if(id in (5, 999), 0, 1)").alias("y"))
    run = failed(dbg, numbers.select("y", (F.col("y") + F.col("y")).alias("z")).agg(F.sum("y"), F.sum("z")))
    assert [culprit.record["id"] for culprit in run.culprits] == [5, 999]
    assert run.culprits.unknown == []
    kept = [n * 10**10 for n in range(1_000) if n not in (5, 999)]
    assert [tuple(row) for row in run.resume(skip=True).result] == [(sum(kept) + len(kept), 2 * (sum(kept) + len(kept)))]


def test_what_is_behind_a_shuffle_is_looked_at_over_some_rows_only(dbg: Any, spark: Any) -> None:
    """What the analyzer writes in another way is found again, or looked at by itself; no row is told of twice."""
    some = spark.range(0, 1_000, 1, 4).select(F.expr("id + if(id = 7, 9223372036854775807, 0)").alias("x"))
    shares = some.repartition(4, "x").select(F.expr("100 div (x % 5)").alias("y"))
    run = failed(dbg, shares.select("y", (F.col("y") + F.col("y")).alias("z")).agg(F.sum("y"), F.sum("z")))
    assert [culprit.record["id"] for culprit in run.culprits if "Overflow" in culprit.message or "OVERFLOW" in culprit.message] == [7]
    shared = sorted(culprit.record["x"] for culprit in run.culprits if "x" in culprit.record)
    assert shared == list(range(0, 1_000, 5))


def test_the_stopped_diagnosis_of_a_chain_goes_on(dbg: Any, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from bigdebug.spark.sql.plans.catalyst import Catalyst

    numbers = spark.range(0, 1_000, 1, 16).filter("1 div (id % 100 - 3) < 9").select(F.expr("1 div (id % 100 - 4)").alias("n"))
    run = failed(dbg, numbers)
    held, asked = Catalyst.held, []

    def interrupted(self: Catalyst, frame: Any) -> Any:
        asked.append(frame)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return held(self, frame)

    with monkeypatch.context() as patched:
        patched.setattr(Catalyst, "held", interrupted)
        with pytest.raises(KeyboardInterrupt):
            len(run.culprits)
    assert [c.record["id"] for c in run.culprits] == [*range(3, 1_000, 100), *range(4, 1_000, 100)]


@pytest.mark.slow
def test_more_rows_than_are_told_of_an_operator(dbg: Any, spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "many.txt"
    path.write_text("".join(f"{n}\n" if n % 3 else "x\n" for n in range(4 * MOST)) + "y\n")
    values = spark.read.text(str(path))
    run = failed(dbg, values.filter((F.col("value") == "y") | (F.col("value").cast("int") >= 0)).select(F.udf(number, "int", useArrow=False)("value")))
    told = [culprit.operator.name for culprit in run.culprits]
    assert told.count("Filter") == MOST
    assert len(told) == MOST + 1
    assert any(f"More than {MOST:,} rows" in why for why in run.culprits.unknown)


def test_more_large_numbers_than_are_told(dbg: Any, spark: Any, tmp_path: Path) -> None:
    """Milliseconds are large: then rows are scouted without asking for that, and whether the sum overflows is computed."""
    path = tmp_path / "times.csv"
    path.write_text("1,1700000000000\n" * 4 * MOST + "x,1\n1,y\n")
    times = spark.read.csv(str(path), schema="a string, b string")
    run = failed(dbg, times.filter(F.col("a").cast("int") > 0).select(F.col("b").cast("long").alias("n")).agg(F.sum("n")))
    records = read(spark, lambda: len(run.culprits))
    assert [culprit.record["b"] for culprit in run.culprits] == ["1", "y"]
    assert records <= 3 * (4 * MOST + 2)


def test_large_numbers_are_no_culprits(dbg: Any, lines: Any) -> None:
    large = lines.select(F.col("a").cast("bigint").alias("a"), (F.col("b").cast("bigint") * 10_000_000_000).alias("n")).filter(F.col("a") + 1 > 0)
    run = failed(dbg, large.groupBy().agg(F.sum("n")))
    assert {culprit.record["a"] for culprit in run.culprits} == {first(n) for n in range(LINES) if first(n) == "x" or is_bad(n)}
