"""P3: how fast one record is traced through the word count, back to the lines and ahead to the words."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pyspark import RDD, SparkContext

from benchmarks.inputs import Inputs
from benchmarks.jobs import PARTITIONS, words
from benchmarks.pairs import Pairs, Sample, alternate, settle, stopwatch
from benchmarks.results import Result, of_sample
from benchmarks.sides import Captured, Following, Sides

MOST_RIDS_MS, MOST_RECORDS_MS = 50.0, 500.0
ASKED = 50
"""Records that are traced, drawn evenly from all words and from all lines."""
SEED = 3


class WrongTraceError(Exception):
    """A trace that does not give the lines of its word: how fast it came says nothing."""


def trace_times(sides: Sides, inputs: Inputs, scratch: Path, repeats: int) -> Iterator[Result]:
    """P3: rids backward, raw records backward, rids forward, and the raw records beside plain PySpark's way to them."""
    if not isinstance(sides.second, Captured):
        return
    def text(sc: SparkContext) -> RDD[str]:
        return sc.textFile(str(inputs.text), PARTITIONS)

    # Each first question is asked of a run that nobody has asked anything about its associations.
    asked, fresh = (sides.second.following(text, words) for _ in range(2))
    draws = np.random.default_rng(SEED)
    outputs = asked.outputs()  # of the other run too: rids do not depend on when a record is computed
    some_words = _some(draws, np.fromiter(outputs, dtype=np.int64))
    some_lines = _some(draws, asked.inputs())

    def measured(subject: str, ask: Callable[[int], Any], rids: Sequence[int], must: float) -> Result:
        settle(sides)
        return _result(subject, stopwatch(ask, rids), inputs.scale, must)

    yield measured("backward, rids", fresh.backward, some_words, MOST_RIDS_MS)
    yield measured("backward, raw records", fresh.backward_records, some_words, MOST_RECORDS_MS)
    yield measured("forward, rids", asked.forward, some_lines, MOST_RIDS_MS)
    top = max(outputs, key=lambda rid: outputs[rid][1])
    yield measured(f"backward, rids, the word that occurs {outputs[top][1]:,} times", fresh.backward, [top] * 6, MOST_RIDS_MS)
    for rid in {*some_words, top}:
        _check(fresh, rid, outputs[rid])

    pairs = beside_plain(sides, fresh, inputs, [(rid, outputs[rid][0]) for rid in some_words], repeats)
    remark = f"filter {1e3 * pairs.first.median:.0f} ms, trace {1e3 * pairs.second.median:.1f} ms"
    detail = {"plain_seconds": pairs.first.values, "second_seconds": pairs.second.values, "first_pair": pairs.warmup}
    yield of_sample(
        "P3", "raw records by trace / by a plain filter", "x", pairs.ratios, inputs.scale,
        remark=remark, detail=detail,
    )


def beside_plain(
    sides: Sides, run: Following, inputs: Inputs, asked: Sequence[tuple[int, str]], repeats: int
) -> Pairs:
    """The lines of a word: by a plain PySpark job that looks for it, and by its trace. Another word for each pair."""
    left, right = iter(asked), iter(asked)

    def search() -> float:
        _, word = next(left)
        return _seconds(lambda: sides.plain.run(
            lambda sc: sc.textFile(str(inputs.text), PARTITIONS).filter(lambda line: word in line.split(" ")).collect()
        ))

    def trace() -> float:
        rid, _ = next(right)
        return _seconds(lambda: run.backward_records(rid))

    settle(sides)
    return alternate(search, trace, repeats)


def _result(subject: str, sample: Sample, scale: float, must: float) -> Result:
    """Milliseconds of all questions but the first, which is told apart."""
    first, *warm = (1e3 * seconds for seconds in sample.values)
    remark = f"first {first:.1f} ms, slowest after it {max(warm):.1f} ms"
    detail = {"first_ms": first, "warm_ms": warm}
    return of_sample("P3", subject, "ms", Sample(tuple(warm)), scale, must=must, remark=remark, detail=detail)


def _some(draws: np.random.Generator, rids: Any) -> list[int]:
    """ASKED of ``rids`` and one more for the first question."""
    chosen: list[int] = rids[np.floor(draws.random(ASKED + 1) * len(rids)).astype(np.int64)].tolist()
    return chosen


def _check(run: Following, rid: int, output: tuple[str, int]) -> None:
    word, count = output
    found = [line.split(" ").count(word) for line in run.backward_records(rid)]
    if sum(found) != count or 0 in found:
        raise WrongTraceError(f"{word!r} occurs {count} times, its trace of {len(found)} lines holds {sum(found)}")


def _seconds(ask: Callable[[], Any]) -> float:
    started = time.perf_counter()
    ask()
    return time.perf_counter() - started
