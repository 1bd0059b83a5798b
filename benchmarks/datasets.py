"""A2: how long a question about datasets takes once 10,000 processes have been recorded, and how long one takes to be recorded.

Three histories: 400 jobs that ran 25 times each, as a warehouse has them; one table that 10,000 different queries were asked about; and 5,000 days, each a
directory of its own below one that is read as a whole. Each question is asked once after the first time; the store is in a file.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

from benchmarks.inputs import Inputs
from benchmarks.results import Result
from benchmarks.sides import Sides
from bigdebug.datasets.model import Access, ColumnEdge, Dataset, Field, Process
from bigdebug.datasets.naming import of_path, of_session
from bigdebug.datasets.questions import Datasets
from bigdebug.datasets.store import DatasetStore
from bigdebug.views.datasetsview import DatasetsView

PROCESSES = 10_000
MOST = 100.0
"""Milliseconds that a question may take."""
COLUMNS = [f"c{number}" for number in range(20)]
BEGAN = datetime(2026, 1, 1, tzinfo=timezone.utc)


def question_times(sides: Sides, inputs: Inputs, scratch: Path, repeats: int) -> Iterator[Result]:
    """A2: each question over each history; and what recording costs."""
    for name, make, first, last in (("jobs", _jobs, "d1", "d400"), ("queries", _queries, "d0", "d0"), ("days", _days, "/in/day=7", "report")):
        store = DatasetStore(scratch / name / "datasets.sqlite")
        made = make(int(PROCESSES * inputs.scale))
        began = time.perf_counter()
        store.record(*made)
        yield Result("A2", f"{name}: recorded, each", "ms", (time.perf_counter() - began) * 1e3 / len(made), None, inputs.scale)
        for question, ask in _questions(Datasets(store, "app"), first, last, made[-1].job):
            times = [_taken(ask) for _ in range(max(3, repeats))][1:]
            yield Result("A2", f"{name}: {question}", "ms", statistics.median(times), None, inputs.scale, MOST if inputs.scale == 1 else None)
        store.close()


def _questions(asked: Datasets, first: str, last: str, job: str) -> Iterator[tuple[str, Callable[[], object]]]:
    yield "upstream", lambda: asked.upstream(last)
    yield "downstream", lambda: asked.downstream(first)
    yield "upstream of a column", lambda: asked.upstream(last, "c1")
    yield "downstream of a column", lambda: asked.downstream(first, "c1")
    yield "downstream of a key", lambda: asked.downstream(first, "c0")
    yield "impact", lambda: asked.impact(first, "c1")
    yield "history", lambda: asked.history(first)
    yield "changed", lambda: asked.changed(job)
    yield "columns", lambda: asked.columns(first)
    yield "find", lambda: asked.find("d1")
    yield "processes", asked.processes
    yield "graph, drawn", lambda: DatasetsView(asked).answer({"version": 1, "id": 1, "request": "graph", "content": {}})


def _taken(ask: Callable[[], object]) -> float:
    began = time.perf_counter()
    ask()
    return (time.perf_counter() - began) * 1e3


def _jobs(count: int) -> list[Process]:
    drawn = random.Random(7)
    jobs = [([_data(drawn.randrange(max(1, job - 30), job + 1)) for _ in range(2)], [_data(job + 1)]) for job in range(1, 401)]
    return [_process(number, f"job{number % len(jobs)}", *jobs[number % len(jobs)]) for number in range(count)]


def _queries(count: int) -> list[Process]:
    return [_process(number, f"query{number}", [_data(0)], [of_session("app", f"result {number}", "memory")]) for number in range(count)]


def _days(count: int) -> list[Process]:
    days = [_process(number, "load", [of_path(f"/in/day={number}")], [of_path(f"/out/day={number}")]) for number in range(count // 2)]
    return days + [_process(number, "report", [of_path("/out")], [of_path("/report")]) for number in range(count // 2, count)]


def _data(number: int) -> Dataset:
    return of_path(f"/data/d{number}")


def _process(number: int, job: str, reads: list[Dataset], writes: list[Dataset]) -> Process:
    """Ten columns go from each input to each output, and a key decides over all."""
    schema = tuple(Field(name, "int") for name in COLUMNS)
    edges = [ColumnEdge(to, name, of, name, "IDENTITY") for to in writes for of in reads for name in COLUMNS[:10]]
    edges += [ColumnEdge(to, "", of, COLUMNS[0], "JOIN") for to in writes for of in reads]
    return Process(
        f"p{number}", job, "write", "app", BEGAN + timedelta(minutes=number), BEGAN + timedelta(minutes=number, seconds=3), "succeeded",
        reads=tuple(Access(each, schema=schema, rows=number) for each in reads), writes=tuple(Access(each, "overwritten", schema, number) for each in writes),
        columns=tuple(edges),
    )
