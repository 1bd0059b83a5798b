"""Hard crashes: a worker that segfaults, exits or is killed names the records in flight (FEATURES U5)."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from operator import add
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from bigdebug.spark.rdd.crashes import endings
from bigdebug.trace.culprits import Culprits
from bigdebug.trace.operators import operator_of


def deadly(n: int) -> int:
    if n == 7:
        os._exit(3)
    if n == 12:
        ctypes.string_at(0)
    if n == 15:
        raise ValueError("soft")
    if n == 25:
        os.kill(os.getpid(), signal.SIGKILL)
    return n


def culprits_of(dbg: Any, action: Callable[[], Any], captured: bool = True) -> Culprits:
    before = len(dbg.runs)
    with pytest.raises(Exception, match="Python worker exited unexpectedly"), dbg.capture("crash") if captured else nullcontext():
        action()
    found: Culprits = dbg.runs[before].culprits
    return found


@pytest.mark.parametrize("captured", [True, False])
def test_every_record_that_a_worker_ends_on(captured: bool, dbg: Any) -> None:
    found = culprits_of(dbg, dbg.context.parallelize(range(30), 3).map(str).map(int).map(deadly).count, captured)
    assert [(c.record, c.exception_type) for c in found] == [
        (7, "WorkerEnded"), (12, "WorkerEnded"), (15, "ValueError"), (25, "WorkerEnded"),
    ]
    assert [c.sources[0].origin.index for c in found] == [7, 12, 15, 25]
    assert found.unknown == []


def test_the_line_that_segfaults(dbg: Any) -> None:
    (culprit,) = culprits_of(dbg, dbg.context.parallelize([1, 12], 1).map(deadly).count)
    assert "Segmentation fault" in culprit.message
    assert culprit.user_line is not None
    assert Path(culprit.user_line.file).name == Path(__file__).name


@pytest.mark.many
@pytest.mark.parametrize(("define", "records"), [
    (lambda sc: sc.parallelize(range(10), 2).flatMap(lambda x: (y for y in [x, deadly(x)])), [7]),
    (lambda sc: sc.parallelize(range(14), 2).mapPartitions(lambda part: (deadly(x) for x in part)), [7, 12]),
    (lambda sc: sc.parallelize(range(14), 2).mapPartitions(lambda part: [deadly(x) for x in list(part)]), [7, 12]),
    (lambda sc: sc.parallelize(range(14), 1).mapPartitions(lambda part: [sum(map(deadly, part))]), [7, 12]),
    (lambda sc: sc.parallelize(range(14), 2).filter(deadly), [7, 12]),
    (lambda sc: sc.parallelize([(i % 2, i) for i in range(10)], 2).reduceByKey(lambda a, b: a + deadly(b)), [(1, 7)]),
    (lambda sc: sc.parallelize([(i, i) for i in range(10)], 2).partitionBy(2, deadly), [(7, 7)]),
    (lambda sc: sc.parallelize([(0, 3), (0, 7)], 2).partitionBy(1).reduceByKey(lambda a, b: a + deadly(b)), [(0, 7)]),
], ids=["flatMap", "mapPartitions", "a list of all", "a sum of all", "filter", "reducer", "partitioner", "reducer after a shuffle"])
def test_wherever_a_worker_ends(define: Any, records: list[Any], dbg: Any) -> None:
    assert [c.record for c in culprits_of(dbg, define(dbg.context).count)] == records


def test_what_a_function_over_an_iterator_raises_where_its_worker_ends_too(dbg: Any) -> None:
    def over(numbers: Iterator[int]) -> Iterator[int]:
        for number in numbers:
            if number == 20:
                os._exit(5)
            if number % 37 == 5:
                raise ValueError(number)
            yield number

    found = culprits_of(dbg, dbg.context.parallelize([*range(5), *range(6, 100), 5], 1).mapPartitions(over).count)
    assert [(c.record, c.exception_type) for c in found] == [(20, "WorkerEnded"), (42, "ValueError"), (79, "ValueError"), (5, "ValueError")]
    assert [c.sources[0].record for c in found] == [20, 42, 79, 5]


def test_more_than_are_looked_for(dbg: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endings, "MOST_ENDED", 2)
    found = culprits_of(dbg, dbg.context.parallelize([7, 15, 7, 2, 7, 15, *range(30, 36)], 2).map(deadly).count)
    assert [(c.record, c.sources[0].origin.index) for c in found] == [(7, 0), (15, 1), (7, 2)]
    assert found.unknown == ["Python workers ended on 2 records or more; in partition 0, what comes behind the last one that is told was not looked at."]


def test_a_record_that_is_another_when_it_comes_again_is_nobodys_fault(dbg: Any) -> None:
    def timed(number: int) -> tuple[int, float]:
        return number, time.time()

    def ends(pair: tuple[int, float]) -> tuple[int, float]:
        return pair if pair[0] != 7 else os._exit(7)

    found = culprits_of(dbg, dbg.context.parallelize(range(12), 1).map(timed).map(ends).count)
    assert list(found) == []
    assert found.unknown == ["Partition 0 gave other records when it was run again, so that on which of them its Python worker ended cannot be told."]


def gives_first(numbers: Iterator[int]) -> Iterator[int]:
    for n in numbers:
        yield n
        deadly(n)


@pytest.mark.many
@pytest.mark.parametrize("behind", [
    lambda rdd: rdd, lambda rdd: rdd.map(str), lambda rdd: rdd.mapPartitions(lambda texts: (str(t) for t in texts)),
    lambda rdd: rdd.mapPartitions(list), lambda rdd: rdd.filter(lambda n: True).flatMap(lambda n: [n, n]),
])
def test_a_function_that_has_given_something_of_a_record_already(behind: Callable[[Any], Any], dbg: Any) -> None:
    found = culprits_of(dbg, behind(dbg.context.parallelize(range(11), 2).mapPartitions(gives_first)).collect)
    assert [c.record for c in found] == [7]


@pytest.mark.parametrize("before", [lambda rdd: rdd.map(deadly), lambda rdd: rdd.mapPartitions(lambda numbers: map(deadly, numbers)), lambda rdd: rdd.mapPartitions(gives_first)])
def test_what_reads_of_a_function_that_ends_its_worker_is_innocent(before: Callable[[Any], Any], dbg: Any) -> None:
    ending = before(dbg.context.parallelize(range(11), 2))
    (found,) = culprits_of(dbg, ending.mapPartitions(list).mapPartitions(lambda numbers: (str(n) for n in numbers)).collect)
    assert (found.record, found.operator) == (7, operator_of(dbg.runs[-1], ending))


def test_a_worker_that_ends_before_it_has_read_anything(dbg: Any) -> None:
    found = culprits_of(dbg, dbg.context.parallelize(range(10), 2).mapPartitions(lambda numbers: os._exit(3)).collect)
    assert [(c.record, c.exception_type, c.partition) for c in found] == [(None, "WorkerEnded", 0), (None, "WorkerEnded", 1)]


@pytest.mark.slow
def test_a_worker_that_ends_on_many_records_at_once(dbg: Any) -> None:
    def at_most_two(numbers: Iterator[int]) -> list[int]:
        rows = list(numbers)
        if len(rows) > 2:
            os._exit(3)
        return rows

    found = culprits_of(dbg, dbg.context.parallelize(range(9), 2).mapPartitions(at_most_two).collect)
    assert [c.record for c in found] == [2, 3, 6, 7, 8]
    assert found.unknown == []
    assert dbg.runs[-1].resume(skip=True).result == [0, 1, 4, 5]


def slowly(n: int) -> int:
    time.sleep(0.05)
    return deadly(n)


@pytest.mark.slow
def test_who_works_beside_a_worker_that_ends_is_innocent(dbg: Any) -> None:
    """Spark kills the other workers of a job that it gives up, in whatever they do."""
    found = culprits_of(dbg, dbg.context.parallelize([*range(8), *range(30, 80)], 2).map(slowly).count)
    assert [c.record for c in found] == [7]


@pytest.mark.slow
def test_who_is_looked_at_when_the_exception_waits_no_longer_is_innocent(dbg: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bigdebug.spark.crashes.PATIENCE", 1.0)
    found = culprits_of(dbg, dbg.context.parallelize([*range(30, 90), 7], 1).map(slowly).count)
    assert found.known == []
    assert [c.record for c in found] == [7]


def ends_on_seven(n: int) -> int:
    if n == 7:
        os._exit(3)
    if n == 15:
        raise ValueError("soft")
    return n


def unless_seven(one: int, other: int) -> int:
    return one + ends_on_seven(other)


@pytest.mark.many
@pytest.mark.parametrize(("define", "records"), [
    (lambda rdd: rdd.map(ends_on_seven), range(20)),
    (lambda rdd: rdd.filter(lambda n: ends_on_seven(n) < 100), range(20)),
    (lambda rdd: rdd.flatMap(lambda n: [ends_on_seven(n), -n]), range(20)),
    (lambda rdd: rdd.flatMap(lambda n: [2 * n, 2 * n + 1, 7]).map(ends_on_seven), range(10)),
    (lambda rdd: rdd.mapPartitions(lambda numbers: map(ends_on_seven, numbers)), range(20)),
    (lambda rdd: rdd.map(lambda n: (n % 2, n)).combineByKey(ends_on_seven, unless_seven, add), range(20)),
    (lambda rdd: rdd.map(lambda n: (n % 2, n)).partitionBy(1).mapPartitions(list, True).reduceByKey(unless_seven), range(20)),
    (lambda rdd: rdd.map(lambda n: (n, n)).partitionBy(3, ends_on_seven), range(20)),
    (lambda rdd: rdd.map(lambda n: (n, n)).join(rdd.map(lambda n: (n, -n))).mapValues(lambda pair: ends_on_seven(pair[0])), range(20)),
])
def test_resume_without_records_that_end_their_workers(define: Callable[[Any], Any], records: range, dbg: Any, spark: Any) -> None:
    with pytest.raises(Exception, match=r"Python worker exited|soft"), dbg.capture("crash") as run:
        define(dbg.context.parallelize(records, 4)).collect()
    resumed = run.resume(skip=True)
    bad = [culprit for culprit in run.culprits if culprit.exception_type == "WorkerEnded"]
    assert bad
    assert sorted(map(repr, (c.record for c in run.culprits))) == sorted(map(repr, (c.record for c in resumed.run.culprits)))
    clean = define(spark.sparkContext.parallelize([n for n in records if n not in (7, 15)], 4)) if len(records) == 20 else None
    assert sorted(resumed.result) == (sorted(clean.collect()) if clean is not None else [n for n in range(20) if n not in (7, 15)])


@pytest.mark.parametrize(("how", "instead"), [
    ({"repair": lambda n: n + 1000}, [1007, 1015]), ({"fix": lambda n: -n}, [-7, -15]), ({"first": 21}, [21]),
])
def test_repair_of_records_that_end_their_workers(how: dict[str, Any], instead: list[int], dbg: Any) -> None:
    found = culprits_of(dbg, dbg.context.parallelize(range(20), 1).map(ends_on_seven).collect)
    first = found[0]
    what = {"repair": {first: 21}, "skip": True} if "first" in how else {"fix": {first.operator: how["fix"]}} if "fix" in how else how
    assert sorted(dbg.runs[-1].resume(**what).result) == sorted([*(n for n in range(20) if n not in (7, 15)), *instead])


def test_resume_finds_first_what_would_end_workers(dbg: Any, untold: None) -> None:
    """The action had failed of something that can be caught."""
    def late(n: int) -> int:
        time.sleep(0.5 if n == 10 else 0)
        return ends_on_seven(17 - n)

    with pytest.raises(Exception, match="soft"), dbg.capture("crash") as run:
        dbg.context.parallelize([2, 3, 9, 11, 10], 1).map(late).collect()
    assert run.culprits.known == []
    assert run.resume(skip=True).result == [14, 8, 6]
    assert [c.exception_type for c in run.culprits] == ["ValueError", "WorkerEnded"]


def test_memory_that_runs_out_is_an_exception(dbg: Any) -> None:
    with pytest.raises(Exception, match="MemoryError"), dbg.capture("crash") as run:
        dbg.context.parallelize([1, 2], 1).map(lambda n: bytearray(sys.maxsize) if n == 2 else n).count()
    assert [(c.record, c.exception_type) for c in run.culprits] == [(2, "MemoryError")]


def kept(text):  # type: ignore[no-untyped-def]  # by hints, PySpark would take it for one of pandas
    if text == "3":
        os._exit(3)
    if text == "5":
        ctypes.string_at(0)
    if text == "6":
        raise ValueError("soft")
    return text


def kept_series(texts: pd.Series) -> pd.Series:
    return texts.map(kept)


def kept_stream(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
    for texts in batches:
        yield texts.map(kept)


def longest(texts: pd.Series) -> int:
    return int(texts.map(kept).str.len().max())


def kept_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for text in batch.column("s").to_pylist():
            kept(text)
        yield batch


def kept_group(key: tuple[Any, ...], group: pd.DataFrame) -> pd.DataFrame:
    return group.assign(s=group["s"].map(kept))


@F.udtf(returnType="y string")
class Kept:
    def eval(self, text):  # type: ignore[no-untyped-def]
        yield (kept(text),)


@F.udtf(returnType="y int")
class Running:
    def __init__(self) -> None:
        self.total = 0

    def eval(self, text: str) -> Iterator[tuple[int]]:
        if text == "3":
            os._exit(3)
        self.total += int(text)
        yield (self.total,)

    def terminate(self) -> Iterator[tuple[int]]:
        yield (-self.total,)


ENDING: dict[str, Callable[[Any], Any]] = {
    "plain": lambda df: df.select(F.udf(kept, "string", useArrow=False)("s")),
    "pandas": lambda df: df.select(F.pandas_udf(kept_series, "string")("s")),
    "pandas, iterator": lambda df: df.select(F.pandas_udf(kept_stream, "string")("s")),
    "mapInArrow": lambda df: df.mapInArrow(kept_batches, "s string"),
    "applyInPandas": lambda df: df.groupBy(F.col("s") % 1).applyInPandas(kept_group, "s string"),
    "aggregate": lambda df: df.groupBy(F.col("s") % 1).agg(F.pandas_udf(longest, "int")("s")),
    "table function": lambda df: df.lateralJoin(Kept(F.col("s").outer())),
}


@pytest.mark.many
@pytest.mark.parametrize("way", ENDING)
def test_every_row_that_a_worker_ends_on(way: str, dbg: Any, spark: Any) -> None:
    rows = spark.createDataFrame([(str(n),) for n in range(8)], "s string")
    found = culprits_of(dbg, ENDING[way](rows).collect)
    told = sorted((c.record[0], c.exception_type, "Segmentation fault" in c.message) for c in found)
    assert told == [("3", "WorkerEnded", False), ("5", "WorkerEnded", True), ("6", "ValueError", False)]
    assert found.unknown == []
    resumed = dbg.runs[-1].resume(skip=True)
    good = rows.where("s not in ('3', '5', '6')")
    assert resumed.run.culprits.unknown == []
    assert Counter(resumed.result) == Counter(ENDING[way](good).collect())


@pytest.mark.slow
def test_a_table_function_keeps_what_it_has_counted(dbg: Any, spark: Any) -> None:
    rows = spark.createDataFrame([(str(n),) for n in range(1, 5)], "s string").coalesce(1)
    found = culprits_of(dbg, rows.lateralJoin(Running(F.col("s").outer())).collect)
    assert [c.record[0] for c in found] == ["3"]
    good = rows.where("s <> '3'").lateralJoin(Running(F.col("s").outer())).collect()
    assert Counter(dbg.runs[-1].resume(skip=True).result) == Counter(good)
    assert ("4", -7) in good


def test_the_line_of_a_dataframe_that_segfaults(dbg: Any, spark: Any) -> None:
    rows = spark.createDataFrame([("4",), ("5",)], "s string")
    (culprit,) = culprits_of(dbg, rows.select(F.udf(kept, "string")("s")).collect)
    assert culprit.user_line is not None
    assert culprit.user_line.line == kept.__code__.co_firstlineno + 4
