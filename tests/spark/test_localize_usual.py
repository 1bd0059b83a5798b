"""What is usual: whether a value is lost without a record is known by outputs that are right. Where null is what these hold, its cause is the culprit; where all hold a value, it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import add
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import functions as F

FACTS = [(key, value) for key in "abcdefgh" for value in (1, 2, 3)]


def captured(dbg: Any, rdd: Any) -> Any:
    with dbg.capture():
        rdd.count()
    return rdd


def said(found: Any) -> tuple[str, list[list[Any]]]:
    return found.verdict, [[source.record for source in fault.records] for fault in found.fault_sets]


# ---- null is what is right ------------------------------------------------------------------------------------------


def of_error(pair: tuple[str, int]) -> tuple[str, int, str | None]:
    return pair[0], pair[1], "negative" if pair[1] < 0 else None


def by_name(pair: tuple[str, int]) -> dict[str, Any]:
    return {"key": pair[0], "total": pair[1], **({"error": "negative"} if pair[1] < 0 else {})}


def in_a_list(pair: tuple[str, int]) -> tuple[str, list[Any]]:
    return pair[0], [pair[1], "negative" if pair[1] < 0 else None]


def first_loss(pair: tuple[str, Iterable[int]]) -> tuple[str, int | None]:
    return pair[0], min((each for each in pair[1] if each < 0), default=None)


@pytest.mark.many
@pytest.mark.parametrize("partitions", [1, 4])
@pytest.mark.parametrize(
    ("shape", "wrong"),
    [(of_error, lambda out: out[2] is not None), (by_name, lambda out: "error" in out), (in_a_list, lambda out: out[1][1] is not None)], ids=["in a tuple", "by name", "in a list"],
)
def test_where_right_outputs_hold_null_the_cause_of_a_value_is_the_culprit(dbg: Any, partitions: int, shape: Callable[[Any], Any], wrong: Callable[[Any], bool]) -> None:
    rdd = dbg.context.parallelize([*FACTS, ("c", -50)], partitions).reduceByKey(add, partitions).map(shape)
    assert said(dbg.localize(captured(dbg, rdd), wrong)) == ("culprit", [[("c", -50)]])


def test_so_it_is_where_the_null_is_all_that_an_output_holds(dbg: Any) -> None:
    rdd = dbg.context.parallelize([*FACTS, ("c", -50)], 3).groupByKey(2).map(first_loss)
    assert said(dbg.localize(captured(dbg, rdd), lambda out: out[1] is not None)) == ("culprit", [[("c", -50)]])


def test_a_test_counts_once_though_the_task_that_tries_begins_again(dbg: Any) -> None:
    """What was answered, and found, before somebody looked at right outputs is known."""
    facts = dbg.context.parallelize([*FACTS, ("c", -50)], 2).reduceByKey(add, 2)
    plain, of_null = dbg.localize(captured(dbg, facts), lambda out: out[1] < 0), dbg.localize(captured(dbg, facts.map(of_error)), lambda out: out[2] is not None)
    assert said(plain) == said(of_null) == ("culprit", [[("c", -50)]])
    assert of_null.cost.tests <= plain.cost.tests + 2


@pytest.mark.many
@pytest.mark.parametrize("test", ["error is not null", lambda row: row.error is not None], ids=["SQL", "a function"])
def test_in_a_query_too(dbg: Any, spark: Any, test: Any) -> None:
    facts = spark.createDataFrame([*FACTS, ("c", -50)], "key string, value int")
    frame = facts.groupBy("key").agg(F.sum("value").alias("total")).withColumn("error", F.when(F.col("total") < 0, F.lit("negative")))
    (culprit,) = (found := dbg.localize(frame, test)).fault_sets
    assert (found.verdict, [tuple(source.record) for source in culprit.records]) == ("culprit", [("c", -50)])


# ---- a value is what is right ---------------------------------------------------------------------------------------

RATES = [(key, 2) for key in "abcdefgh"]


def total(sides: tuple[Iterable[int], Iterable[int]]) -> int | None:
    rates = list(sides[1])
    return sum(sides[0]) * rates[0] if rates else None


PLACES: dict[str, Callable[[Any], Any]] = {
    "null": lambda pair: {"key": pair[0], "total": total(pair[1])},
    "no place": lambda pair: {"key": pair[0]} | ({} if (known := total(pair[1])) is None else {"total": known}),
    "a Series": lambda pair: pd.Series({"key": pair[0], "total": total(pair[1])}),
    "a Series of less": lambda pair: pd.Series({"key": pair[0]} | ({} if (known := total(pair[1])) is None else {"total": known})),
    "deep inside": lambda pair: [[[[[[[[[[{"key": pair[0], "total": total(pair[1])}]]]]]]]]]],
}


def held(output: Any) -> Any:
    while isinstance(output, list):
        output = output[0]
    return output.get("total")


@pytest.mark.many
@pytest.mark.parametrize("place", PLACES)
def test_where_all_right_outputs_hold_a_value_what_it_is_not_there_without_is_not_the_culprit(dbg: Any, place: str) -> None:
    """Two facts of a key are corrupt, so no fact alone repairs it; its rate is right."""
    facts = dbg.context.parallelize([*FACTS, ("c", 5_000), ("c", 5_000)], 2)
    rdd = facts.cogroup(dbg.context.parallelize(RATES, 2), 2).map(PLACES[place])
    found = dbg.localize(captured(dbg, rdd), lambda out: (held(out) or 0) > 100)
    assert found.verdict == "ambiguous"
    assert [source.record for source in found.fault_sets[0].records] == [("c", 5_000), ("c", 5_000)]


def test_where_there_are_no_right_outputs_a_place_may_be_gone(dbg: Any) -> None:
    """What is counted by categories has those that there are."""
    counted = dbg.context.parallelize(["fine", "fine", "strange", "fine"], 2).map(lambda kind: ("all", {kind: 1})).reduceByKey(_both, 1)
    assert said(dbg.localize(captured(dbg, counted), lambda out: "strange" in out[1])) == ("culprit", [["strange"]])


def _both(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {kind: one.get(kind, 0) + other.get(kind, 0) for kind in {**one, **other}}


@pytest.mark.many
@pytest.mark.parametrize("test", ["total > 100", lambda row: (row.total or 0) > 100, "status = 'bad'", lambda row: row.status == "bad"], ids=["SQL", "a function", "SQL of another column", "a function of another column"])
@pytest.mark.parametrize("others", [["c"], [*"abcdefgh"]], ids=["the only one with a rate", "all with a rate"])
def test_in_a_query_a_record_that_a_value_is_not_there_without_is_not_the_culprit(dbg: Any, spark: Any, test: Any, others: list[str]) -> None:
    """Two facts of a key are corrupt; its rate is right, and behind an outer join."""
    facts = spark.createDataFrame([*FACTS, ("c", 5_000), ("c", 5_000)], "key string, value int")
    rates = spark.createDataFrame([(key, 2) for key in others], "key string, rate int")
    sums = facts.groupBy("key").agg(F.sum("value").alias("sum")).join(rates, "key", "left").select("key", (F.col("sum") * F.col("rate")).alias("total"))
    found = dbg.localize(sums.withColumn("status", F.when(F.col("total") > 100, "bad").otherwise("fine")), test)
    assert found.verdict == "ambiguous"
    assert {tuple(source.record) for source in found.fault_sets[0].records} == {("c", 5_000)}


def test_so_it_is_in_a_program_where_no_other_key_has_one(dbg: Any) -> None:
    facts = dbg.context.parallelize([*FACTS, ("c", 5_000), ("c", 5_000)], 2)
    rdd = facts.cogroup(dbg.context.parallelize([("c", 2)], 2), 2).map(PLACES["null"])
    found = dbg.localize(captured(dbg, rdd), lambda out: (out["total"] or 0) > 100)
    assert found.verdict == "ambiguous"
    assert [source.record for source in found.fault_sets[0].records] == [("c", 5_000), ("c", 5_000)]
