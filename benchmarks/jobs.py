"""The jobs, written once, as functions of a SparkContext: a plain one or a LineageContext.

grep and word count are Titian's (5.1); L2, L6 and L7 are PigMix's latency queries of those names, on RDDs. Each ends in
the action that a real job would end in.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from operator import add
from pathlib import Path
from typing import Any

from pyspark import RDD, SparkContext

from benchmarks.inputs import Inputs
from benchmarks.zipftext import vocabulary

PARTITIONS = 8
GREP_RANK = 100
"""grep looks for the term of this rank: it is on about one line in a hundred."""

Program = Callable[[SparkContext, Inputs, Path], Any]


@dataclass(frozen=True)
class Job:
    """A program and the inputs it reads. ``run(sc, inputs, out)`` may write to ``out``, a path that does not exist."""

    name: str
    reads: tuple[str, ...]
    run: Program

    def input_bytes(self, inputs: Inputs) -> int:
        return sum(inputs.path(name).stat().st_size for name in self.reads)


def grep(sc: SparkContext, inputs: Inputs, out: Path) -> int:
    """How many lines hold a term."""
    term = vocabulary()[GREP_RANK]
    return sc.textFile(str(inputs.text), PARTITIONS).filter(lambda line: term in line).count()


def word_count(sc: SparkContext, inputs: Inputs, out: Path) -> list[tuple[str, int]]:
    """Every word with its count."""
    return words(sc.textFile(str(inputs.text), PARTITIONS)).collect()


def words(lines: RDD[str]) -> RDD[tuple[str, int]]:
    return lines.flatMap(lambda line: line.split(" ")).map(lambda word: (word, 1)).reduceByKey(add)


def l2(sc: SparkContext, inputs: Inputs, out: Path) -> None:
    """Views of power users. (Pig replicates the small side; RDDs have the one join, which Titian ran too.)"""
    views = _table(sc, inputs, "page_views").map(lambda row: (row[0], row[6]))
    power = _table(sc, inputs, "power_users").map(lambda row: (row[0], row[0]))
    views.join(power).map(lambda row: f"{row[0]}\t{row[1][0]}\t{row[1][1]}").saveAsTextFile(str(out))


def l6(sc: SparkContext, inputs: Inputs, out: Path) -> None:
    """Time spent by user, query term, address and second: the key is a large part of the row, most keys are single."""
    views = _table(sc, inputs, "page_views").map(lambda row: ((row[0], row[3], row[4], row[5]), int(row[2])))
    totals = views.reduceByKey(add)
    totals.map(lambda row: "\t".join((*row[0], str(row[1])))).saveAsTextFile(str(out))


def l7(sc: SparkContext, inputs: Inputs, out: Path) -> None:
    """Views of each user in the morning and in the afternoon: a nested plan over the group."""

    def halves(seconds: Any) -> tuple[int, int]:
        morning = sum(1 for second in seconds if second < 43_200)
        return morning, len(seconds) - morning

    users = _table(sc, inputs, "page_views").map(lambda row: (row[0], int(row[5]))).groupByKey().mapValues(halves)
    users.map(lambda row: f"{row[0]}\t{row[1][0]}\t{row[1][1]}").saveAsTextFile(str(out))


def _table(sc: SparkContext, inputs: Inputs, name: str) -> RDD[list[str]]:
    return sc.textFile(str(inputs.path(name)), PARTITIONS).map(lambda line: line.split("\t"))


def answer(returned: Any, out: Path) -> Any:
    """What a job answered, to compare sides by: independent of order, small. Reads ``out`` if the job saved there."""
    if isinstance(returned, list):
        return frozenset(returned)
    if not out.exists():
        return returned
    lines = [line for part in sorted(out.glob("part-*")) for line in part.read_bytes().splitlines()]
    return len(lines), sum(map(zlib.crc32, lines))


JOBS = (
    Job("grep", ("text",), grep),
    Job("word count", ("text",), word_count),
    Job("PigMix L2", ("page_views", "power_users"), l2),
    Job("PigMix L6", ("page_views",), l6),
    Job("PigMix L7", ("page_views",), l7),
)
WORD_COUNT = JOBS[1]
