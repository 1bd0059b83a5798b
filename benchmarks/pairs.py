"""Pairs: A B A B ... inside one session, the first pair thrown away, and what is said about the rest."""

from __future__ import annotations

import gc
import random
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.inputs import Inputs
from benchmarks.jobs import Job, answer
from benchmarks.sides import Side, Sides

FEWEST = 5


class DifferentAnswersError(Exception):
    """The two sides of a measurement do not compute the same thing."""


@dataclass(frozen=True)
class Sample:
    """Measurements of one thing, in the order they were taken."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def quartiles(self) -> tuple[float, float]:
        if len(self.values) < 2:
            return self.values[0], self.values[0]
        low, _, high = statistics.quantiles(self.values, n=4, method="inclusive")
        return low, high


@dataclass(frozen=True)
class Pairs:
    """Seconds of both sides, pair by pair, without the first pair; ``warmup`` is that one."""

    first: Sample
    second: Sample
    warmup: tuple[float, float]

    @property
    def ratios(self) -> Sample:
        """second / first of each pair: what drifts in the machine from pair to pair is in neither."""
        return Sample(tuple(b / a for a, b in zip(self.first.values, self.second.values)))


def alternate(first: Callable[[], float], second: Callable[[], float], repeats: int, order: random.Random | None = None) -> Pairs:
    """Measure A B ``repeats`` + 1 times and keep all but the first pair. Each call gives its own seconds.

    With an ``order`` each side comes first as often as the other, in an order that is drawn: what always runs second may be slower for that alone (a query
    without anything of ours, in a round of four runs: its second run took 8 % longer than its first).
    """
    turns = [order is not None and number % 2 == 1 for number in range(repeats + 1)]
    if order is not None:
        order.shuffle(turns)
    measured = []
    for turned in turns:
        if not turned:
            measured.append((first(), second()))
        else:
            later = second()
            measured.append((first(), later))
    kept = measured[1:]
    return Pairs(Sample(tuple(a for a, _ in kept)), Sample(tuple(b for _, b in kept)), measured[0])


def job_pairs(job: Job, sides: Sides, inputs: Inputs, scratch: Path, repeats: int) -> Pairs:
    """Time a job on both sides. Raises DifferentAnswersError if any two of its runs differ in what they compute."""
    answers: dict[Any, str] = {}

    def timed(side: Side) -> float:
        seconds, found = run_job(job, side, sides, inputs, scratch)
        answers.setdefault(found, side.name)
        if len(answers) > 1:
            raise DifferentAnswersError(f"{job.name} gives one answer on side {answers[found]} and had given another")
        print(f"  {job.name}, {side.name}: {seconds:.2f} s", file=sys.stderr)
        return seconds

    job.input_bytes(inputs)  # generates the files
    return alternate(lambda: timed(sides.plain), lambda: timed(sides.second), repeats)


def run_job(job: Job, side: Side, sides: Sides, inputs: Inputs, scratch: Path) -> tuple[float, Any]:
    """Seconds of one fresh run of a job, from building its RDDs to the end of its action, and its answer."""
    out = scratch / "out"
    settle(sides)
    started = time.perf_counter()
    returned = side.run(lambda sc: job.run(sc, inputs, out))
    seconds = time.perf_counter() - started
    found = answer(returned, out)
    shutil.rmtree(out, ignore_errors=True)
    return seconds, found


def settle(sides: Sides) -> None:
    """Collect garbage on both ends before a measurement, not in it."""
    gc.collect()
    sides.settle()


def stopwatch(ask: Callable[[Any], Any], questions: Sequence[Any]) -> Sample:
    """Seconds of ``ask`` for each question."""
    taken = []
    for question in questions:
        started = time.perf_counter()
        ask(question)
        taken.append(time.perf_counter() - started)
    return Sample(tuple(taken))
