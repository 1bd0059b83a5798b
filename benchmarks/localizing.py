"""P9: how long it takes to find the corrupt records behind a wrong output, beside the job in plain PySpark, and how many tests.

The job reads a million lines, adds a number up by key, and collects the sums: 1,000 keys, the corrupt lines behind one of them; or one key, so that all lines
are candidates. A test of BigSift's runs the program on some of them. How many a search takes alone, and how many delta debugging takes on the same question,
is counted without Spark.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
from pyroaring import BitMap
from pyspark import RDD, SparkContext

from benchmarks.inputs import Inputs
from benchmarks.jobs import PARTITIONS
from benchmarks.pairs import DifferentAnswersError, alternate, settle
from benchmarks.results import Result, of_sample
from benchmarks.sides import Captured, Sides

MOST = 0.2
MOST_TESTS = {1: 25, 2: 50, 4: 90, 8: 170}
CULPRITS = tuple(MOST_TESTS)
LINES = 1_000_000
SEED = 9
PLACES = 9
"""So many random places of the culprits, of which the median counts."""


@dataclass(frozen=True)
class Data:
    name: str
    keys: int


SHAPES = (Data("1,000 keys", 1_000), Data("one key", 1))


def parsed(line: str) -> tuple[str, int]:
    """Store and minutes, of a line: number, store, hour:minute, amount."""
    _, store, clock, amount = line.split(",")
    hours, minutes = clock.split(":")
    if int(hours) * 60 + int(minutes) > 24 * 60:
        raise ValueError(clock)
    return store, int(amount)


def sums(lines: RDD[str]) -> RDD[tuple[str, int]]:
    return lines.map(parsed).reduceByKey(add, PARTITIONS // 2)


def is_wrong(output: tuple[str, int]) -> bool:
    return output[1] < 0


def time_to_causes(sides: Sides, inputs: Inputs, scratch: Path, repeats: int) -> Iterator[Result]:
    """P9: the time of a localization for each number of culprits, and the tests of a search and of delta debugging."""
    if not isinstance(sides.second, Captured):
        return
    for culprits in CULPRITS:
        yield _tests(round(LINES * inputs.scale), culprits, inputs)
    for shape in SHAPES:
        for culprits in CULPRITS:
            yield measured(shape, culprits, sides, inputs, scratch, repeats)


def measured(shape: Data, culprits: int, sides: Sides, inputs: Inputs, scratch: Path, repeats: int) -> Result:
    """The time of a localization / of the job in plain PySpark, and that what was found is what is corrupt."""
    size = round(LINES * inputs.scale)
    path, corrupt = _lines(scratch, shape.keys, size, culprits)
    second, told = sides.second, list[Any]()
    assert isinstance(second, Captured)

    def program(sc: SparkContext) -> RDD[tuple[str, int]]:
        return sums(sc.textFile(path, PARTITIONS))

    def plain() -> float:
        settle(sides)
        began = time.perf_counter()
        sides.plain.run(lambda sc: program(sc).collect())
        return time.perf_counter() - began

    def localized() -> float:
        settle(sides)
        seconds, found = second.localized(program, is_wrong)
        blamed = sorted(source.origin.line for fault in found.fault_sets for source in fault.records)
        if blamed != [number + 1 for number in corrupt]:
            raise DifferentAnswersError(f"{shape.name}: the lines {blamed} were found, as {found.verdict}")
        told.append((found.cost.tests, found.verdict))
        return seconds

    pairs = alternate(plain, localized, repeats)
    subject = f"{shape.name}, {culprits} of {size:,} corrupt"
    remark = f"plain {pairs.first.median:.2f} s, localize {pairs.second.median:.2f} s, {told[-1][0]:,} tests, {told[-1][1]}"
    print(f"  {subject}: {remark}", file=sys.stderr)
    detail = {"plain_seconds": pairs.first.values, "localize_seconds": pairs.second.values, "first_pair": pairs.warmup, "tests": told}
    return of_sample("P9", subject, "x", pairs.ratios, inputs.scale, must=MOST, remark=remark, detail=detail)


def _lines(folder: Path, keys: int, size: int, culprits: int) -> tuple[str, list[int]]:
    """A file of lines, and the numbers of those in it that are corrupt, all of one key."""
    draws = np.random.default_rng([SEED, keys, culprits])
    stores, hours, minutes, amounts = (draws.integers(low, high, size) for low, high in ((0, keys), (6, 23), (0, 60), (5, 40)))
    corrupt = np.sort(draws.choice(np.flatnonzero(stores == 7 % keys), culprits, replace=False))
    amounts[corrupt] = -100 * size
    path = folder / f"sales-{keys}-{size}-{culprits}.txt"
    if not path.exists():
        with path.open("w") as file:
            file.writelines(f"{n},s{s},{h}:{m:02d},{a}\n" for n, (s, h, m, a) in enumerate(zip(stores.tolist(), hours.tolist(), minutes.tolist(), amounts.tolist())))
    return str(path), corrupt.tolist()


# ---- tests --------------------------------------------------------------------------------------------------------


def _tests(size: int, culprits: int, inputs: Inputs) -> Result:
    """Tests of a search where nothing tells who is suspicious, and the output is wrong if all culprits are there."""
    from bigdebug.localize.fewest import Fewest

    ours, others = [], []
    for seed in range(PLACES):
        members = BitMap(random.Random(seed).sample(range(size), culprits))
        tests = 0

        def wrong(sets: Sequence[BitMap], members: BitMap = members) -> list[bool]:
            nonlocal tests
            tests += len(sets)
            return [members <= each for each in sets]

        if Fewest(wrong, np.arange(size, dtype=np.uint32)).search() != members:
            raise DifferentAnswersError("A search found others than the culprits")
        ours.append(tests)
        others.append(delta_debugging(size, lambda config, members=members: all(any(start <= each < end for start, end in config) for each in members)))  # type: ignore[misc]
    remark = f"delta debugging {statistics.median(others):.0f}"
    value = statistics.median(ours)
    return Result("P9", f"tests of a search, {culprits} of {size:,}", "", value, None, inputs.scale, must=MOST_TESTS[culprits], remark=remark, detail={"search": ours, "ddmin": others})


def delta_debugging(size: int, fails: Callable[[list[tuple[int, int]]], bool]) -> int:
    """How many tests ddmin takes, as picire does it where it takes the fewest: complements alone, each behind the one that failed last.

    Zeller & Hildebrandt, Simplifying and isolating failure-inducing input; Hodován & Kiss, Practical improvements to the minimizing delta debugging algorithm.
    (picire itself keeps each configuration as a list of a million members; and it asks for a module that setuptools has given up.)
    """
    subsets, offset, tests = [(0, size)], 0, 0
    while True:
        if sum(end - start for start, end in subsets) < 2:
            return tests
        if len(subsets) < 2:
            subsets = _halves(subsets)
        for number in range(len(subsets)):
            at = (number + offset) % len(subsets)
            tests += 1
            if fails(subsets[:at] + subsets[at + 1:]):
                del subsets[at]
                offset = at
                break
        else:
            finer = _halves(subsets)
            if len(finer) == len(subsets):
                return tests
            offset = offset * len(finer) // len(subsets)
            subsets = finer


def _halves(subsets: list[tuple[int, int]]) -> list[tuple[int, int]]:
    cuts = [(start, (start + end) // 2, end) for start, end in subsets]
    return [part for start, middle, end in cuts for part in ((start, middle), (middle, end)) if part[0] < part[1]]
