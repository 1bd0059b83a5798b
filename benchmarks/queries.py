"""P4, P5, P6: what lineage of SQL costs, and how fast it answers, on queries of TPC-H."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.inputs import Inputs
from benchmarks.pairs import DifferentAnswersError, Pairs, Sample, alternate, settle
from benchmarks.results import Result, of_sample
from benchmarks.sides import Captured, Queries, Sides
from benchmarks.tpch import QUERIES, TABLES

MOST_CAPTURE, MOST_FIRST, MOST_SECOND_MS, MOST_INDEX = 1.02, 1.0, 50.0, 1.5


def capture_cost(sides: Sides, inputs: Inputs, scratch: Path, repeats: int) -> Iterator[Result]:
    """P4: the queries with capture, default strategy, beside the same without."""
    for number, queries in _queries(sides, inputs):
        answers: list[Any] = []

        def timed(ask: Callable[[], Any], answers: list[Any] = answers) -> float:
            settle(sides)
            began = time.perf_counter()
            answers.append(ask())
            return time.perf_counter() - began

        sql = QUERIES[number]
        pairs = alternate(lambda: timed(lambda: queries.plain(sql)), lambda: timed(lambda: _kept(queries, sql)), repeats)  # noqa: B023
        if any(rows != answers[0] for rows in answers):
            raise DifferentAnswersError(f"Q{number} gives other rows with capture than without")
        yield _ratio("P4", f"Q{number}", pairs, inputs, MOST_CAPTURE)


def recording_cost(sides: Sides, inputs: Inputs, scratch: Path, repeats: int) -> Iterator[Result]:
    """P4-DATASETS: the queries with what they do with datasets recorded, beside the same without; what is recorded of one is not waited for."""
    for number, queries in _queries(sides, inputs):

        def timed(on: bool, queries: Queries = queries, number: int = number) -> float:
            queries.recorded(on)
            settle(sides)
            seconds, _ = _clock(lambda: queries.plain(QUERIES[number]))
            return seconds

        pairs = alternate(lambda: timed(False), lambda: timed(True), repeats, random.Random(number))
        yield _ratio("P4-DATASETS", f"Q{number}", pairs, inputs, MOST_CAPTURE)


def first_trace(sides: Sides, inputs: Inputs, scratch: Path, repeats: int) -> Iterator[Result]:
    """P5: one row of each query traced to its source records, first with nothing but the run, then with its index."""
    for number, queries in _queries(sides, inputs):
        seconds: list[tuple[float, float, float]] = []
        for _ in range(repeats + 1):
            settle(sides)
            query, (run, rows) = _clock(lambda: queries.captured(QUERIES[number]))  # noqa: B023
            first, found = _clock(lambda: queries.back(run, rows[len(rows) // 2]))  # noqa: B023
            queries.index(run)
            queries.back(run, rows[0])
            second, again = _clock(lambda: queries.back(run, rows[len(rows) // 2]))  # noqa: B023
            if again != found:
                raise DifferentAnswersError(f"Q{number}: the index gives {again} records and the query gave {found}")
            queries.forget(run)
            seconds.append((query, first, second))
            print(f"  Q{number}: query {query:.2f} s, first trace {first:.2f} s, with an index {1e3 * second:.1f} ms", file=sys.stderr)
        pairs = Pairs(Sample(tuple(s[0] for s in seconds[1:])), Sample(tuple(s[1] for s in seconds[1:])), seconds[0][:2])
        yield _ratio("P5", f"Q{number}, first trace / query", pairs, inputs, MOST_FIRST)
        later = Sample(tuple(1e3 * s[2] for s in seconds[1:]))
        yield of_sample("P5", f"Q{number}, second trace", "ms", later, inputs.scale, must=MOST_SECOND_MS, remark=f"{found:,} records")


def index_cost(sides: Sides, inputs: Inputs, scratch: Path, repeats: int) -> Iterator[Result]:
    """P6: the index of a whole query beside the query."""
    for number, queries in _queries(sides, inputs):
        runs: list[Any] = []

        def query(queries: Queries = queries, number: int = number, runs: list[Any] = runs) -> float:
            settle(sides)
            seconds, (run, _) = _clock(lambda: queries.captured(QUERIES[number]))
            runs.append(run)
            return seconds

        def index(queries: Queries = queries, runs: list[Any] = runs) -> float:
            seconds, _ = _clock(lambda: queries.index(runs[-1]))
            queries.forget(runs[-1])
            return seconds

        yield _ratio("P6", f"Q{number}, index / query", alternate(query, index, repeats), inputs, MOST_INDEX)


def _queries(sides: Sides, inputs: Inputs) -> Iterator[tuple[int, Queries]]:
    if not isinstance(sides.second, Captured):
        return
    queries = sides.second.queries()
    for name in TABLES:
        queries.view(name, inputs.tpch / f"{name}.parquet")
    for number in inputs.queries:
        yield number, queries


def _kept(queries: Queries, sql: str) -> list[Any]:
    run, rows = queries.captured(sql)
    queries.forget(run)
    return rows


def _clock(ask: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    found = ask()
    return time.perf_counter() - began, found


def _ratio(measure: str, subject: str, pairs: Pairs, inputs: Inputs, must: float) -> Result:
    remark = f"{pairs.first.median:.2f} s, {pairs.second.median:.2f} s"
    detail = {"first_seconds": pairs.first.values, "second_seconds": pairs.second.values, "first_pair": pairs.warmup}
    return of_sample(measure, subject, "x", pairs.ratios, inputs.scale, must=must, remark=remark, detail=detail)
