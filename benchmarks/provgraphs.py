"""P8: how long a provenance query takes, by the three classes of CSProv's measurements: the index of bigdebug, cold and warm, and the paper's plans in Spark.

The graph has the shape of the paper's, repeated until it has the triples: scale 1 is 10 M and takes two copies (12.8 M), 10 takes sixteen (102 M), 50 is 500 M.
The paper counts items and triples together: its 10M is one copy (scale 0.639), its 500M forty-eight (30.6). Below one copy the whole graph is smaller, and has no query of
the third class.
Items of a table are numbered in no order, so nothing that is asked together lies together.
"""

from __future__ import annotations

import gc
import math
import multiprocessing
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import bigdebug
from benchmarks.inputs import Inputs
from benchmarks.pairs import DifferentAnswersError
from benchmarks.results import Result
from benchmarks.sides import Captured, Sides
from bigdebug.provgraph.paperlike import PaperLike
from bigdebug.provgraph.paperqueries import queries
from bigdebug.provgraph.papertables import splits
from bigdebug.provgraph.workflow import Workflow

TRIPLES = 10_000_000
COPY = 6_390_000
"""Triples of the paper's graph, and of one copy here."""
TIMES = 21
"""Each item is asked about so often, and its median counts."""
WARM = {"SC-SL": 2.0, "LC-SL": 2.0, "LC-LL": 10.0}
COLD = 200.0
"""Milliseconds that must be reached at 10 M; five times as many at 100 M."""
MEMORY = "1g"
PLANS = {"rq": 2, "ccprov": 5, "csprov": 5}
"""Of how many items of a class each plan is asked."""
MOST_IN_SPARK = 1.0
"""The scale up to which Spark's plans are measured: beyond it one machine takes hours."""


def query_times(sides: Sides, inputs: Inputs, scratch: Path, repeats: int) -> Iterator[Result]:
    """P8: the build of the index, each class of queries on it, and beside them the plans in Spark."""
    graph = Graph.of(inputs)
    index = scratch / "provenance"
    yield from graph.built(index)
    yield from graph.cold(index)
    yield from graph.warm(index)
    if isinstance(sides.second, Captured) and inputs.scale <= MOST_IN_SPARK:
        yield from graph.in_spark(index, sides.second)


@dataclass(frozen=True)
class Graph:
    """Triples in a file, what is asked of them, and results as they are found."""

    made: PaperLike
    copies: int
    triples: Path
    scale: float

    @classmethod
    def of(cls, inputs: Inputs) -> Graph:
        wanted = TRIPLES * inputs.scale
        copies = max(math.ceil(wanted / COPY), 1)
        made = PaperLike.generate(scale=min(wanted / COPY, 1.0))
        triples = len(made.src) * copies
        return cls(made, copies, inputs.made(f"provenance-{triples}.parquet", lambda path: made.write(path, copies)), inputs.scale)

    @property
    def edges(self) -> int:
        return len(self.made.src) * self.copies

    @property
    def workflow(self) -> Workflow:
        return self.made.workflow(self.copies)

    @cached_property
    def asked(self) -> dict[str, list[int]]:
        """The items of each class, in one of the copies."""
        found = {name: self.made.copied(items, self.copies // 2, self.copies).tolist() for name, items in queries(self.made).items()}
        return {name: items for name, items in found.items() if items}

    def built(self, index: Path) -> Iterator[Result]:
        """Time, memory and size of an index, built by a process of its own."""
        seconds, before, peak = _alone(_build, self.triples, index, self.workflow)
        size = sum(path.stat().st_size for path in index.iterdir())
        spelled = f"{self.edges:,} triples, {self.made.items * self.copies:,} items"
        yield self._result("the index is built", "s", seconds, f"{spelled}; {self.edges / seconds / 1e6:.2f} M triples a second", triples=self.edges)
        yield self._result("memory it took beyond the interpreter's", "MB", (peak - before) / 1e6, f"allowed: {MEMORY}", must=1 << 30 >> 20)
        yield self._result("its size", "bytes a triple", size / self.edges, f"{size / 1e6:,.0f} MB; the Parquet file {self.triples.stat().st_size / self.edges:.1f}")

    def cold(self, index: Path) -> Iterator[Result]:
        """The first question after the index was put out of memory, its opening included, in a process that has bigdebug."""
        found = _alone(_ask_cold, index, self.asked)
        for name, (seconds, read) in found.items():
            yield self._by_item(f"{name}, cold: opened, and asked once", seconds, COLD, f"{statistics.median(read) / 1e6:.1f} MB read")

    def warm(self, index: Path) -> Iterator[Result]:
        graph = bigdebug.open(index)
        for name, items in self.asked.items():
            seconds = [statistics.median(_timed(lambda item=item: graph.ancestors(item).items) for _ in range(TIMES)) for item in items]  # type: ignore[misc]
            sizes = sorted(len(graph.ancestors(item)) for item in items)
            yield self._by_item(f"{name}, warm", seconds, WARM[name], f"{sizes[0]:,} to {sizes[-1]:,} ancestors")

    def in_spark(self, index: Path, captured: Captured) -> Iterator[Result]:
        """The same items by each plan. Raises DifferentAnswersError if one finds other ancestors than the index."""
        truth = bigdebug.open(index)
        workflow, paper = self.workflow, splits()
        graph: Any = None
        for plan, count in PLANS.items():
            began = time.perf_counter()
            graph = captured.provenance(self.triples, workflow, plan, paper) if graph is None else graph.planned(plan)
            graph.ancestors(self.asked["SC-SL"][0])
            yield self._result(f"Spark, {plan}: prepared beyond what the plans above share, with its first answer", "s", time.perf_counter() - began)
            for name, items in self.asked.items():
                seconds = []
                for item in items[:count]:
                    began = time.perf_counter()
                    found = graph.ancestors(item).toPandas()
                    seconds.append(time.perf_counter() - began)
                    if set(found["item"]) != set(truth.ancestors(item)):
                        raise DifferentAnswersError(f"{plan} finds other ancestors of {item} than the index")
                yield self._by_item(f"{name}, Spark, {plan}", seconds, None, f"of {len(seconds)} items")

    def _by_item(self, subject: str, seconds: list[float], must: float | None, remark: str) -> Result:
        """The slowest of the items has to reach what must be reached."""
        times = [1000 * one for one in seconds]
        middle = statistics.median(times)
        allowed = None if must is None else must * (5 if self.scale > 1 else 1)
        return self._result(f"{subject}, the slowest item", "ms", max(times), f"median {middle:.3g} ms; {remark}" if middle < 1000 else f"median {middle:,.0f} ms; {remark}", allowed, milliseconds=times)

    def _result(self, subject: str, unit: str, value: float, remark: str = "", must: float | None = None, **detail: Any) -> Result:
        print(f"  {subject}: {value:.3g} {unit} {remark}", file=sys.stderr)
        return Result("P8", subject, unit, value, None, self.scale, must=must, remark=remark, detail=detail)


def _alone(function: Callable[..., Any], *given: Any) -> Any:
    """What a function gives in a new process, which has only what it needs."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *given).result()


def _build(triples: Path, index: Path, workflow: Workflow) -> tuple[float, int, int]:
    """Seconds, and bytes of memory before and at most."""
    before, peak, done = _memory(), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            peak[0] = max(peak[0], _memory())

    watching = threading.Thread(target=watch)
    watching.start()
    seconds = _timed(lambda: bigdebug.provenance(str(triples), workflow, at=index, memory=MEMORY, progress=False))
    done.set()
    watching.join()
    return seconds, before, peak[0]


def _ask_cold(index: Path, asked: dict[str, list[int]]) -> dict[str, tuple[list[float], list[int]]]:
    """By class: seconds, and bytes read from the disk, item by item."""
    bigdebug.open(index)  # imports what it needs
    found = {}
    for name, items in asked.items():
        seconds, read = [], []
        for item in items:
            gc.collect()
            _put_out(index)
            before = _read_from_disk()
            seconds.append(_timed(lambda item=item: bigdebug.open(index).ancestors(item).items))  # type: ignore[misc]
            read.append(_read_from_disk() - before)
        found[name] = seconds, read
    return found


def _put_out(index: Path) -> None:
    """Have the system forget what it holds of the files. It does for those that nobody has mapped."""
    for path in index.iterdir():
        file = os.open(path, os.O_RDONLY)
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def _read_from_disk() -> int:
    return _told("io", "read_bytes")


def _memory() -> int:
    """What this process holds of its own; pages of files that are mapped the system takes back when it needs them."""
    return 1024 * _told("status", "RssAnon")


def _told(file: str, word: str) -> int:
    lines = Path(f"/proc/self/{file}").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(word)))


def _timed(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
