"""The two sides of a measurement, on one warm session: plain PySpark, and bigdebug with capture on.

The only module here that calls bigdebug.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from py4j.protocol import Py4JError
from pyspark import RDD, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

T = TypeVar("T")

ROOT = Path(__file__).resolve().parent.parent

LOG_LEVEL = "ERROR"


class CaptureError(Exception):
    """A captured side that did not capture: its time would say nothing."""


class Side(Protocol):
    """Where a program runs. ``lineage_bytes`` is what the latest run left on disk, None on a side without lineage."""

    name: str

    @property
    def lineage_bytes(self) -> int | None: ...

    def run(self, program: Callable[[SparkContext], T]) -> T: ...


class Plain:
    """The context that PySpark made."""

    lineage_bytes: int | None = None

    def __init__(self, sc: SparkContext, name: str = "plain") -> None:
        self.name = name
        self._sc = sc

    def run(self, program: Callable[[SparkContext], T]) -> T:
        return program(self._sc)


class Captured:
    """The LineageContext, with capture on while the program runs."""

    name = "captured"

    def __init__(self, dbg: Any, strategy: str) -> None:
        self.lineage_bytes: int | None = None
        self._dbg = dbg
        self._strategy = strategy

    def run(self, program: Callable[[SparkContext], T]) -> T:
        """What the program gives. Raises CaptureError if the run is incomplete or left no lineage."""
        with self._dbg.capture("benchmark", strategy=self._strategy) as run:
            value = program(self._dbg.context)
        if run.status != "succeeded" or run.incomplete or not run.statistics.bytes:
            raise CaptureError(f"The run {run.status} with {run.statistics.bytes} bytes of lineage: {run.incomplete}")
        self.lineage_bytes = run.statistics.bytes
        return value

    def following(
        self, source: Callable[[SparkContext], RDD[Any]], program: Callable[[RDD[Any]], RDD[Any]], action: Callable[[RDD[Any]], object] = RDD.collect,
    ) -> Following:
        """Run ``program`` on ``source`` with an action and give what can be asked about it."""
        first = source(self._dbg.context)
        last = program(first)
        self.run(lambda sc: action(last))
        return Following(first, last)

    def saved(self, source: Callable[[SparkContext], RDD[Any]], program: Callable[[RDD[Any]], RDD[Any]], path: Path) -> tuple[float, float]:
        """Run ``program`` on ``source`` with ``collect`` and save the run; seconds that the job took, and saving."""
        last = program(source(self._dbg.context))
        with self._dbg.capture("benchmark", strategy="inject") as run:
            began = time.perf_counter()
            last.collect()
            ended = time.perf_counter()
        self._dbg.save(path, run)
        saved = time.perf_counter()
        self._dbg.forget(run.runs[-1])
        return ended - began, saved - ended

    def localized(self, program: Callable[[SparkContext], RDD[Any]], wrong: Callable[[Any], Any]) -> tuple[float, Any]:
        """Seconds that it takes to say which records make outputs of a captured program wrong, and what is said."""
        report = program(self._dbg.context)
        with self._dbg.capture("benchmark", strategy=self._strategy) as run:
            report.collect()
        began = time.perf_counter()
        found = self._dbg.localize(report, wrong)
        seconds = time.perf_counter() - began
        self._dbg.forget(run.runs[-1])
        return seconds, found

    def provenance(self, triples: Path, workflow: Any, plan: str, splits: Any) -> Any:
        """The provenance graph of a Parquet file in Spark, to be asked by a plan."""
        return self._dbg.provenance(self._dbg.spark.read.parquet(str(triples)), workflow, plan=plan, splits=splits)

    def queries(self) -> Queries:
        return Queries(self._dbg)

    @contextmanager
    def failing(self) -> Iterator[Failing]:
        """Within: Spark says nothing of what fails, and no exception waits for culprits, so that who looks for them can time it."""
        from bigdebug.spark import crashes

        sc = self._dbg.plain_context
        patience, crashes.PATIENCE = crashes.PATIENCE, 0.0
        sc.setLogLevel("OFF")
        logging.disable()  # PySpark's own logger of failed queries
        try:
            yield Failing(self._dbg)
        finally:
            logging.disable(logging.NOTSET)
            sc.setLogLevel(LOG_LEVEL)
            crashes.PATIENCE = patience


class Failing:
    """Actions on the session's context or on the session itself: in plain PySpark, and such as fail under capture."""

    def __init__(self, dbg: Any) -> None:
        self._dbg = dbg

    def plain(self, action: Callable[[SparkContext, SparkSession], Any]) -> Any:
        return action(self._dbg.plain_context, self._dbg.spark)

    def stumbles(self, action: Callable[[SparkContext, SparkSession], Any]) -> None:
        """An action in plain PySpark that fails, and leaves the next one without Python workers. Raises CaptureError if it does not."""
        self._failed(self._dbg.plain_context, action)

    def fails(self, action: Callable[[SparkContext, SparkSession], Any]) -> tuple[float, Any]:
        """When an action raised what Spark does, and its run. Raises CaptureError if it did not."""
        with self._dbg.capture("benchmark") as capture:
            failed = self._failed(self._dbg.context, action)
        return failed, capture.runs[-1]

    def _failed(self, sc: SparkContext, action: Callable[[SparkContext, SparkSession], Any]) -> float:
        try:
            action(sc, self._dbg.spark)
        except (PySparkException, Py4JError):
            return time.perf_counter()
        raise CaptureError("An action on bad records did not fail")

    def forget(self, run: Any) -> None:
        self._dbg.forget(run)


class Queries:
    """SQL on the session, captured by the default strategy or not, and questions about what was captured."""

    def __init__(self, dbg: Any) -> None:
        self._dbg = dbg

    def view(self, name: str, path: Path) -> None:
        self._dbg.spark.read.parquet(str(path)).createOrReplaceTempView(name)

    def recorded(self, on: bool) -> None:
        """From here on what queries do with datasets is recorded, or is not; what was done is recorded before this returns."""
        self._dbg.datasets.find("")
        self._dbg.datasets.recording = on

    def plain(self, sql: str) -> list[Any]:
        rows: list[Any] = self._dbg.spark.sql(sql).collect()
        return rows

    def captured(self, sql: str) -> tuple[Any, list[Any]]:
        """The run and its rows. Raises CaptureError if there is none."""
        frame = self._dbg.spark.sql(sql)
        with self._dbg.capture("benchmark") as capture:
            rows = frame.collect()
        if len(capture.runs) != 1 or capture.incomplete:
            raise CaptureError(f"The query made {len(capture.runs)} runs")
        return capture.runs[0], rows

    def back(self, run: Any, row: Any) -> int:
        """How many source records one row of a run came from."""
        return len(self._dbg.lineage(run).where(row).goBackAll().rids())

    def index(self, run: Any) -> None:
        self._dbg.index(run)

    def forget(self, run: Any) -> None:
        self._dbg.forget(run)


class Following:
    """Traces of one captured run between its source and its result. Each question is asked of a new trace."""

    def __init__(self, source: Any, result: Any) -> None:
        self._source = source
        self._result = result

    def outputs(self) -> dict[int, Any]:
        """The records of the result by rid."""
        trace = self._result.getLineage()
        return dict(zip(trace.rids().tolist(), trace.collect()))

    def inputs(self) -> Any:
        """The rids of the source, an array."""
        return self._source.getLineage().rids()

    def count_behind(self, rids: list[int] | None) -> int:
        """How many records of the source some of the result were made of, all if None."""
        trace = self._result.getLineage()
        found: int = (trace if rids is None else trace.at(rids)).goBackAll().count()
        return found

    def count_ahead(self, rids: list[int] | None) -> int:
        """How many records of the result some of the source, all if None, were made into."""
        trace = self._source.getLineage()
        found: int = (trace if rids is None else trace.at(rids)).goNextAll().count()
        return found

    def backward(self, rid: int) -> Any:
        return self._result.getLineage().at([rid]).goBackAll().rids()

    def backward_records(self, rid: int) -> list[Any]:
        found: list[Any] = self._result.getLineage().at([rid]).goBackAll().collect()
        return found

    def forward(self, rid: int) -> Any:
        return self._source.getLineage().at([rid]).goNextAll().rids()


@dataclass(frozen=True)
class Sides:
    """One session seen from two sides. ``stand_in`` says that the second one is plain as well: all ratios are noise."""

    plain: Plain
    second: Plain | Captured
    stand_in: bool
    sc: SparkContext

    def settle(self) -> None:
        """Collect the JVM's garbage now, so that no side pays for the other's. (PySpark has no other way to ask.)"""
        self.sc._jvm.System.gc()  # type: ignore[union-attr]


@contextmanager
def open_sides(cores: int, scratch: Path, strategy: str, plain_only: bool, cluster: bool = False) -> Iterator[Sides]:
    """A new session with ``cores`` cores, in this process or each in an executor of its own; its shuffles and its lineage are below ``scratch``. Stopped at the end."""
    # Before the JVM starts, which hands its environment on to the Python workers.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["SPARK_LOCAL_DIRS"] = str(scratch / "spark")
    os.environ["BIGDEBUG_HOME"] = str(scratch / "home")
    spark = (
        SparkSession.builder.master(f"local-cluster[{cores},1,2048]" if cluster else f"local[{cores}]")
        .appName("bigdebug benchmarks")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "4g")
        .config("spark.executor.memory", "2g")
        .config("spark.python.unix.domain.socket.enabled", "true")  # halves the time of a small job, on both sides
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    sc = spark.sparkContext
    sc.setLogLevel(LOG_LEVEL)
    try:
        second: Plain | Captured = Plain(sc, "plain again")
        if not plain_only:
            import bigdebug

            second = Captured(bigdebug.attach(spark, store=str(scratch / "lineage")), strategy)
        yield Sides(Plain(sc), second, plain_only, sc)
    finally:
        spark.stop()
