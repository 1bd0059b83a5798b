"""P12: how capture and traces of the word count, traces of queries, diagnoses and localizations grow with the data."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.capture import cost_in_time
from benchmarks.crashes import BAD, PROGRAMS, time_to_culprits
from benchmarks.inputs import Inputs
from benchmarks.jobs import WORD_COUNT
from benchmarks.localizing import SHAPES, measured
from benchmarks.plot import Series, chart
from benchmarks.queries import first_trace
from benchmarks.results import Result
from benchmarks.sides import Captured, Sides
from benchmarks.tracing import trace_times

FACTORS = (1, 4, 16)
MOST_EXPONENT = 1.1
"""Linear, with room for the noise of the machine."""


def growth(sides: Sides, inputs: Inputs, scratch: Path, repeats: int) -> Iterator[Result]:
    """P12: the results of P1 (word count) and P3 at 1, 4 and 16 times the scale of ``inputs``, and their exponents.

    An exponent is the slope in the log-log plot from the smallest to the largest: 1 is linear, less is better.
    """
    seen: list[Result] = []
    for factor in FACTORS:
        larger = Inputs(inputs.scale * factor, inputs.folder)
        for result in cost_in_time(sides, larger, scratch, repeats, [WORD_COUNT]):
            seen.append(replace(result, measure="P12"))
            yield seen[-1]
        for result in trace_times(sides, larger, scratch, repeats):
            if result.unit == "ms":
                seen.append(replace(result, measure="P12", subject=_steady(result.subject)))
                yield seen[-1]
    yield from _exponents("P12", curves(seen), inputs.scale, "M words")


def query_growth(sides: Sides, inputs: Inputs, scratch: Path, repeats: int) -> Iterator[Result]:
    """P12: the results of P5 at 1, 4 and 16 times the scale of ``inputs``, and their exponents."""
    seen: list[Result] = []
    for factor in FACTORS:
        for result in first_trace(sides, Inputs(inputs.scale * factor, inputs.folder), scratch, repeats):
            seen.append(replace(result, measure="P12-SQL"))
            yield seen[-1]
    yield from _exponents("P12-SQL", query_curves(seen), inputs.scale, "M lines")


def fault_growth(sides: Sides, inputs: Inputs, scratch: Path, repeats: int) -> Iterator[Result]:
    """P12: three culprits of P10 (a map, and a map before reduceByKey) and one corrupt record of P9 at 1, 4 and 16 times the scale of ``inputs``, and their exponents."""
    if not isinstance(sides.second, Captured):
        return
    seen: list[Result] = []
    for factor in FACTORS:
        larger = Inputs(inputs.scale * factor, inputs.folder)
        culprits = time_to_culprits(sides, larger, scratch, repeats, PROGRAMS[:2], BAD[:1])
        for result in (*culprits, *(measured(shape, 1, sides, larger, scratch, repeats) for shape in SHAPES)):
            seen.append(replace(result, measure="P12-FAULTS", must=None))  # P9 and P10 have targets at a size of their own
            yield seen[-1]
    yield from _exponents("P12-FAULTS", fault_curves(seen), inputs.scale, "M lines")


def _exponents(measure: str, found: list[Series], scale: float, unit: str) -> Iterator[Result]:
    for series in found:
        (small, before), *_, (large, after) = series.points
        exponent = math.log(after / before) / math.log(large / small)
        remark = f"{before:.3g} s at {small:g}, {after:.3g} s at {large:g} {unit}"
        yield Result(measure, f"{series.name}: exponent", "", exponent, None, scale, MOST_EXPONENT, remark)


def curves(results: list[Result]) -> list[Series]:
    """Seconds over millions of words, a series for each thing that was timed."""
    found: dict[str, list[tuple[float, float]]] = {}
    for result in results:
        words = 12 * result.scale
        if result.unit == "ms":
            found.setdefault(result.subject, []).append((words, result.value / 1e3))
        elif result.unit == "x":
            found.setdefault(f"{result.subject}, plain PySpark", []).append((words, result.detail["plain_median"]))
            second = f"{result.subject}, {result.detail['second_side']}"
            found.setdefault(second, []).append((words, result.detail["second_median"]))
    return [Series(name, tuple(points)) for name, points in found.items() if len(points) > 1]


def query_curves(results: list[Result]) -> list[Series]:
    """Seconds over millions of lines of orders: each query, its first trace, and a trace with an index."""
    found: dict[str, list[tuple[float, float]]] = {}
    for result in results:
        lines, name = 6 * result.scale, result.subject.split(",")[0]
        if result.unit == "ms":
            found.setdefault(f"{name}, second trace", []).append((lines, result.value / 1e3))
        elif result.unit == "x":
            found.setdefault(name, []).append((lines, statistics.median(result.detail["first_seconds"])))
            found.setdefault(f"{name}, first trace", []).append((lines, statistics.median(result.detail["second_seconds"])))
    return [Series(name, tuple(points), name.split(",")[0]) for name, points in found.items() if len(points) > 1]


def fault_curves(results: list[Result]) -> list[Series]:
    """Seconds over millions of lines of P9, four of P10 for each of these: the job, its diagnosis, and its localization."""
    found: dict[str, list[tuple[float, float]]] = {}
    for result in results:
        name = result.subject.split(" of ")[0].rsplit(",", 1)[0]
        for kind, what in (("culprits_seconds", "all culprits"), ("localize_seconds", "localization")):
            if kind in result.detail:
                for seconds, side in ((result.detail["plain_seconds"], "plain PySpark"), (result.detail[kind], what)):
                    found.setdefault(f"{name}, {side}", []).append((result.scale, statistics.median(seconds)))
        if result.unit == "s":
            found.setdefault(f"{name}, first culprit", []).append((result.scale, result.value))
    return [Series(name, tuple(points), name.rsplit(",", 1)[0]) for name, points in found.items() if len(points) > 1]


def fault_picture(results: list[Result]) -> str:
    """The curves of P12-FAULTS as SVG."""
    return chart("Diagnoses and localizations as the input grows", "scale (1: a million lines, or four)", "seconds", fault_curves(results))


def query_picture(results: list[Result]) -> str:
    """The curves of P12-SQL as SVG."""
    return chart("Queries of TPC-H and their traces as the tables grow", "million lines of orders", "seconds", query_curves(results))


def picture(results: list[Result]) -> str:
    """The curves of P12 as SVG."""
    return chart("Word count and its traces as the text grows", "million words", "seconds", curves(results))


def _steady(subject: str) -> str:
    """One name for the same question at every scale."""
    return "backward, rids, the most frequent word" if "occurs" in subject else subject
