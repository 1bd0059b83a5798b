"""Operators that are looked at in one pass (P10) are blamed for the rows, and in the way, that each is when it is looked at by itself; and for those on
which the query crashes alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, event, example, given, note
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from bigdebug.spark.sql.crashes.chains import chain
from tests.laws.test_sql_laws import SOME

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("untold")]

SCHEMA = "a string, b string, n bigint"

texts = st.sampled_from(["1", "2", "30", "4", "x", "y", "", None])
numbers = st.sampled_from([*range(8), None, 2**31, 2**61, -(2**63)])
tables = st.lists(st.tuples(texts, texts, numbers), min_size=3, max_size=24)


def number(text: str | None) -> int:
    return int(text or 0)


def large(value: int | None) -> int:
    return (value or 1) * 2**40 if (value or 0) % 5 else 0


def lenient(text: str | None) -> Any:
    return int(text) if text and text.isdigit() else text


def share(one: int | None, other: int | None) -> int:
    return (one or 0) // (other or 0)


PASSING: dict[str, Callable[[Any], Any]] = {
    "cast": lambda t: t.select(F.col("a").cast("int").cast("string").alias("a"), "b", "n"),
    "divide": lambda t: t.select("a", "b", F.expr("n + 12 div (n % 4)").alias("n")),
    "multiply": lambda t: t.select("a", "b", F.expr("n * 5000000000").alias("n")),
    "swap": lambda t: t.select(F.col("b").alias("a"), F.col("a").alias("b"), "n"),
    "twice": lambda t: t.select("a", F.col("a").alias("b"), "n"),
    "prune": lambda t: t.select("a", F.lit("1").alias("b"), "n"),
    "filter by text": lambda t: t.filter(F.col("b").cast("int") > 1),
    "filter by number": lambda t: t.filter("6 div (n % 3) < 6"),
    "filter safely": lambda t: t.filter("a is not null and n > 0"),
    "exchange": lambda t: t.repartition(3, F.col("b")),
}

LAST: dict[str, Callable[[Any], Any]] = {
    "nothing": lambda t: t,
    "sum": lambda t: t.agg(F.sum("n")),
    "sum by": lambda t: t.groupBy(F.col("a").cast("int")).agg(F.sum("n"), F.sum(F.col("n") + 1)),
    "sort": lambda t: t.orderBy(F.col("b").cast("int")),
    "explode": lambda t: t.select(F.explode(F.sequence(F.lit(1), F.col("a").cast("int")))),
    "function": lambda t: t.select(F.udf(number, "int", useArrow=False)("a")),
    "function over Arrow": lambda t: t.select(F.udf(lenient, "int", useArrow=True)("a")),
    "functions": lambda t: t.select(F.udf(number, "int", useArrow=False)("a"), F.udf(number, "int", useArrow=False)("b")),
    "function of a function": lambda t: t.select(F.udf(large, "bigint", useArrow=False)(F.udf(number, "bigint", useArrow=False)("a"))),
    "function of what throws": lambda t: t.select(F.udf(share, "bigint", useArrow=False)(F.col("a").cast("int"), F.expr("n div (n % 5)"))),
    "large function": lambda t: t.select(F.udf(large, "bigint", useArrow=False)("n").alias("n")).agg(F.sum("n")),
}

throwing = st.sampled_from(["cast", "divide", "filter by text", "filter by number"])
passing = st.builds(lambda first, then: [first, *then], throwing, st.lists(st.sampled_from(sorted(PASSING)), max_size=3))
ALONE: dict[str, Callable[[Any], Any]] = {
    **{name: last for name, last in LAST.items() if "sum" not in name and "large" not in name},
    "filtered": lambda t: t.agg(F.expr("sum(cast(a as int)) filter (where 6 div n > 1)"), F.count("*")),
    "counted": lambda t: t.agg(F.expr("count(if(n > 2, b, null), cast(a as int))")),
    "equal": lambda t: t.select(F.expr("cast(b as int) = cast(a as int)")),
    "either": lambda t: t.select(F.expr("coalesce(if(n > 2, cast(b as int), 6 div n), cast(a as int))")),
    "keys": lambda t: t.groupBy(F.expr("cast(b as int) = n")).count(),
}
"""What gives for a row, or throws on it, what it does if there are no others."""

programs = st.tuples(passing, st.sampled_from(sorted(LAST)))
alone = st.tuples(passing, st.sampled_from(sorted(ALONE)))


def read(spark: Any, rows: list[Any], partitions: int) -> Any:
    """Rows in so many partitions, which no optimizer computes."""
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, partitions), StructType.fromDDL(SCHEMA))


def told(run: Any) -> Counter[Any]:
    return Counter((c.operator.id, repr(c.record), c.exception_type, c.message, c.met) for c in run.culprits)


EXAMPLE = (["cast", "filter by text"], "function")
"""A chain of three operators."""


def crashes(frame: Any) -> bool:
    try:
        frame.collect()
    except PySparkException:
        return True
    return False


def made(frame: Any, program: tuple[list[str], str], last: dict[str, Callable[[Any], Any]]) -> Any:
    for name in program[0]:
        frame = PASSING[name](frame)
    return last[program[1]](frame)


@SOME
@example([("x", "1", 1), ("1", "y", 2)], 2, EXAMPLE)
@given(tables, st.integers(1, 9), programs)
def test_operators_are_blamed_together_as_each_is_alone(dbg: Any, spark: Any, rows: list[Any], partitions: int, program: tuple[list[str], str]) -> None:
    note(f"{program} of {rows} in {partitions} partitions")
    frame = made(read(spark, rows, partitions), program, LAST)
    runs, scouted = [], []

    def seen(*given: Any) -> Any:
        found = chain(*given)
        scouted.append(len(found))
        return found

    for chosen in (seen, lambda *given: []):
        before = len(dbg.runs)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("bigdebug.spark.sql.crashes.scouting.chain", chosen)
            if crashes(frame):
                runs.append(dbg.runs[before])
                len(runs[-1].culprits)
    event(f"chains of {max(scouted, default=0)}" if runs else "nothing crashed")
    if runs:
        together, alone = runs
        assert told(together) == told(alone)
        assert sorted(together.culprits.unknown) == sorted(alone.culprits.unknown)
        assert together.culprits.known
        if program == EXAMPLE:
            assert max(scouted) > 1


@SOME
@given(st.lists(st.tuples(texts, texts, numbers), min_size=2, max_size=5, unique=True), st.integers(1, 4), alone)
def test_a_row_is_blamed_if_the_query_crashes_on_it_alone(dbg: Any, spark: Any, rows: list[Any], partitions: int, program: tuple[list[str], str]) -> None:
    note(f"{program} of {rows} in {partitions} partitions")
    assume(not crashes(made(read(spark, [], 1), program, ALONE)))  # of constants that Spark moves together, whatever the rows
    expected = {row for row in rows if crashes(made(read(spark, [row], 1), program, ALONE))}
    before = len(dbg.runs)
    crashed = crashes(made(read(spark, rows, partitions), program, ALONE))
    event(f"{len(expected)} of {len(rows)}")
    assert crashed == bool(expected)
    if crashed:
        (run,) = dbg.runs[before:]
        assert {tuple(source.record) for culprit in run.culprits for source in culprit.sources} == expected
        assert run.culprits.unknown == []
