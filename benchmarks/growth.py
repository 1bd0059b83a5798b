"""P12: how capture and traces of the word count grow with the data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.capture import cost_in_time
from benchmarks.inputs import Inputs
from benchmarks.jobs import WORD_COUNT
from benchmarks.plot import Series, chart
from benchmarks.results import Result
from benchmarks.sides import Sides
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
    for series in curves(seen):
        (small, before), *_, (large, after) = series.points
        exponent = math.log(after / before) / math.log(large / small)
        remark = f"{before:.3g} s at {small:g}, {after:.3g} s at {large:g} M words"
        yield Result("P12", f"{series.name}: exponent", "", exponent, None, inputs.scale, MOST_EXPONENT, remark)


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


def picture(results: list[Result]) -> str:
    """The curves of P12 as SVG."""
    return chart("Word count and its traces as the text grows", "million words", "seconds", curves(results))


def _steady(subject: str) -> str:
    """One name for the same question at every scale."""
    return "backward, rids, the most frequent word" if "occurs" in subject else subject
