"""P10: how long after a failure what crashed is known, beside plain PySpark on the same records where none is bad.

Spark ends the Python workers of a job that fails, and a new one takes a third of a second: so plain PySpark, too, is measured right after a job
that failed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, udf
from pyspark.sql.functions import max as largest
from pyspark.sql.functions import sum as total
from pyspark.sql.pandas.functions import pandas_udf

from benchmarks.inputs import Inputs
from benchmarks.jobs import PARTITIONS
from benchmarks.pairs import DifferentAnswersError, Sample, alternate, settle
from benchmarks.parsing import cells, column_parser, is_even, keyed, parse, parsed, parsed_cells
from benchmarks.results import Result, of_sample
from benchmarks.sides import Captured, Failing, Sides

MOST_ALL, MOST_FIRST = 1.2, 2.0
SEED = 10
FIRST = 100
"""The line of the first bad record: the task that meets it fails before any other has finished, so all partitions are left."""


@dataclass(frozen=True)
class Program:
    """An action over lines of numbers of a file, in millions; it fails where one is none."""

    name: str
    millions: int
    run: Callable[[SparkContext, SparkSession, str], Any]
    second: bool = False
    """Whether it fails in its second stage: then the first one does not count for plain PySpark, for it had finished."""

    def records(self, inputs: Inputs) -> int:
        return round(1_000_000 * self.millions * inputs.scale)


def counting(sc: SparkContext, spark: SparkSession, path: str) -> int:
    return sc.textFile(path, PARTITIONS).map(parse).filter(is_even).count()


def reducing(sc: SparkContext, spark: SparkSession, path: str) -> list[tuple[int, int]]:
    return sc.textFile(path, PARTITIONS).map(parse).filter(is_even).map(keyed).reduceByKey(add, 1).collect()


def iterating(sc: SparkContext, spark: SparkSession, path: str) -> int:
    return sc.textFile(path, PARTITIONS).mapPartitions(parsed).count()


def iterating_over_lists(sc: SparkContext, spark: SparkSession, path: str) -> int:
    """Lists may be changed by the function that is given them, so a guard holds them as they were."""
    return sc.textFile(path, PARTITIONS).map(cells).mapPartitions(parsed_cells).count()


def iterating_behind_a_shuffle(sc: SparkContext, spark: SparkSession, path: str) -> int:
    """Lists that a shuffle hands over are made of nothing that a guard could hold in their place."""
    return sc.textFile(path, PARTITIONS).map(cells).repartition(PARTITIONS).mapPartitions(parsed_cells).count()


def of_rows(arrow: bool, sc: SparkContext, spark: SparkSession, path: str) -> Any:
    return _summed(spark.read.text(path).select(udf(parse, "long", useArrow=arrow)("value").alias("n")))


def of_columns(sc: SparkContext, spark: SparkSession, path: str) -> Any:
    column = pandas_udf(column_parser(), "long")("value")  # type: ignore[call-overload]
    return _summed(spark.read.text(path).select(column.alias("n")))


def casting(sc: SparkContext, spark: SparkSession, path: str) -> Any:
    return _summed(spark.read.text(path).select(col("value").cast("long").alias("n")))


def behind_a_shuffle(sc: SparkContext, spark: SparkSession, path: str) -> Any:
    """The largest number: that sums do not overflow takes another look at all rows, where some partitions had finished."""
    numbers = spark.read.text(path).repartition(PARTITIONS).select(udf(parse, "long", useArrow=False)("value").alias("n"))
    return numbers.agg(largest("n")).collect()


def _summed(numbers: DataFrame) -> Any:
    return numbers.agg(total("n")).collect()


PROGRAMS = (
    Program("RDD, map and count", 4, counting),
    Program("RDD, map before reduceByKey", 4, reducing),
    Program("RDD, mapPartitions", 8, iterating),
    Program("RDD, mapPartitions over lists", 8, iterating_over_lists),
    Program("RDD, mapPartitions over lists behind a shuffle", 8, iterating_behind_a_shuffle, second=True),
    Program("DataFrame, Python UDF", 16, partial(of_rows, False)),
    Program("DataFrame, Python UDF with Arrow", 16, partial(of_rows, True)),
    Program("DataFrame, Python UDF behind a shuffle", 16, behind_a_shuffle, second=True),
    Program("DataFrame, pandas UDF", 16, of_columns),
    Program("DataFrame, cast and aggregate", 80, casting),
)
"""Of sizes that plain PySpark takes two to eight seconds for: a diagnosis takes a few tenths of a second whatever the size (``--scale 0.25`` shows them)."""

BAD = (3, 2_000, 10_000)
"""The last is as many as are told of an operator of a DataFrame."""


def time_to_culprits(
    sides: Sides, inputs: Inputs, scratch: Path, repeats: int, programs: Sequence[Program] = PROGRAMS, numbers: Sequence[int] = BAD,
) -> Iterator[Result]:
    """P10: all culprits of each program with few, many and very many bad records, and the first one."""
    if not isinstance(sides.second, Captured):
        return
    with sides.second.failing() as failing:
        for program in programs:
            for bad in numbers:
                yield from _measured(program, bad, sides, failing, inputs, scratch, repeats)


def _measured(program: Program, bad: int, sides: Sides, failing: Failing, inputs: Inputs, scratch: Path, repeats: int) -> Iterator[Result]:
    records = program.records(inputs)
    fine, spoilt = (_numbers(scratch, records, number) for number in (0, bad))

    one_partition: list[float] = []

    def plain() -> float:
        settle(sides)
        failing.stumbles(lambda sc, spark: program.run(sc, spark, spoilt))
        began, at = time.perf_counter(), time.time()
        failing.plain(lambda sc, spark: program.run(sc, spark, fine))
        took = time.perf_counter() - began
        before, first = failing.plain(lambda sc, _: _stages(sc, at, program.second))
        one_partition.append(first)
        return took - before

    def culprits() -> float:
        settle(sides)
        failed, run = failing.fails(lambda sc, spark: program.run(sc, spark, spoilt))
        known = len(run.culprits)
        everything = time.perf_counter() - failed
        if known != bad or run.culprits.unknown:
            raise DifferentAnswersError(f"{program.name}: {known:,} of {bad:,} bad records were found. {run.culprits.unknown}")
        failing.forget(run)
        return everything

    def first() -> float:
        settle(sides)
        failed, run = failing.fails(lambda sc, spark: program.run(sc, spark, spoilt))
        run.culprits.one_will_do = True  # as for an exception; that waits no longer than two seconds, and this does
        next(iter(run.culprits))
        seconds = time.perf_counter() - failed
        failing.forget(run)
        return seconds

    pairs = alternate(plain, culprits, repeats)
    subject = f"{program.name}, {bad:,} of {records:,} bad"
    remark = f"plain {pairs.first.median:.2f} s, culprits {pairs.second.median:.2f} s"
    print(f"  {subject}: {remark}", file=sys.stderr)
    detail = {"plain_seconds": pairs.first.values, "culprits_seconds": pairs.second.values, "first_pair": pairs.warmup}
    yield of_sample("P10", f"{subject}: all", "x", pairs.ratios, inputs.scale, must=MOST_ALL, remark=remark, detail=detail)
    yield _first(subject, Sample(tuple(first() for _ in range(repeats))), Sample(tuple(one_partition[-repeats:])), inputs)


def _stages(sc: SparkContext, began: float, second: bool) -> tuple[float, float]:
    """Of the latest action: how long its first stage took, if the ``second`` is the one that counts, and how soon that had finished one of its partitions."""
    jsc: Any = sc._jsc  # type: ignore[attr-defined]
    jsc.sc().listenerBus().waitUntilEmpty(10_000)
    store = jsc.sc().statusStore()
    stages = store.stageList(None, False, False, getattr(store, "stageList$default$4")(), getattr(store, "stageList$default$5")())
    done = [stage for stage in map(stages.apply, range(stages.size())) if stage.completionTime().isDefined() and _at(stage.submissionTime().get()) >= began - 0.001]
    ran = sorted((stage for stage in done if int(stage.numCompleteTasks())), key=lambda stage: int(stage.stageId()))
    if len(ran) < 1 + second:
        raise DifferentAnswersError("The action did not run in the stages that it was made for")
    before = _at(ran[0].completionTime().get()) - _at(ran[0].submissionTime().get()) if second else 0.0
    stage = ran[int(second)]
    tasks = store.taskList(stage.stageId(), stage.attemptId(), 10_000)
    ends = [_at(task.launchTime()) + int(task.duration().get()) / 1000 for task in map(tasks.apply, range(tasks.size()))]
    return before, min(ends) - _at(stage.submissionTime().get())


def _at(date: Any) -> float:
    """Seconds of a date of Java's."""
    return int(date.getTime()) / 1000


def _first(subject: str, seconds: Sample, one_partition: Sample, inputs: Inputs) -> Result:
    """Of the first culprit: within two seconds, or as soon as plain PySpark has finished one partition, of which some are as long as it takes to start a worker."""
    most = max(MOST_FIRST, one_partition.median)
    remark = f"plain PySpark finishes a partition after {one_partition.median:.2f} s"
    return of_sample("P10", f"{subject}: the first", "s", seconds, inputs.scale, must=most, remark=remark, detail={"one_partition_seconds": one_partition.values})


def _numbers(folder: Path, records: int, bad: int) -> str:
    """A file of this many numbers, a line each, with bad ones instead of some that are drawn evenly, and of the one at ``FIRST``."""
    path = folder / f"numbers-{records}-{bad}.txt"
    if not path.exists():
        numbers = np.random.default_rng(SEED).integers(100_000, 1_000_000, records).astype("S6")
        draws = np.random.default_rng([SEED, bad])
        spoilt = FIRST + 1 + draws.choice(records - FIRST - 1, max(bad - 1, 0), replace=False)
        numbers[spoilt] = b"12 345"
        numbers[FIRST:FIRST + min(bad, 1)] = b"12 345"
        path.write_bytes(b"\n".join(numbers.tolist()) + b"\n")
    return str(path)
