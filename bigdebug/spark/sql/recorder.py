"""The recorder of DataFrames: sees the actions of one SparkSession, and makes runs of those under capture."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Protocol

from bigdebug.model import Statistics
from bigdebug.spark.captures import Captures, OpenCapture
from bigdebug.spark.sql.catalyst import Catalyst
from bigdebug.spark.sql.conditions import Conditions, stamps_of
from bigdebug.spark.sql.questions import Questions
from bigdebug.spark.sql.runs import FrameRun

log = logging.getLogger("bigdebug")

KEPT_ROWS = 100_000
"""Rows of a result that a run keeps; they are the user's own objects, so a row costs a reference."""

_PINNED = {
    # One split to a partition, cut at the same places whatever else is read.
    "spark.sql.files.maxPartitionBytes": str(128 << 20),
    "spark.sql.files.openCostInBytes": str(128 << 20),
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.sources.bucketing.enabled": "false",
    # Traced rows are few: where each partition of one side is small, it need not be sorted.
    "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold": str(64 << 20),
}

_PARTITION = 32 << 20
"""Bytes of input for which a question's shuffles have one more partition; many empty ones cost more than the question."""


class Program(Protocol):
    """What the recorders of a program share, those of RDDs and of DataFrames."""

    captures: Captures
    beside: ThreadPoolExecutor

    def next_run_id(self) -> str: ...


class _ThreadState(threading.local):
    acting = False


class FrameRecorder:
    """Actions and runs of the DataFrames of one SparkSession. Thread-safe."""

    def __init__(self, spark: Any, program: Program) -> None:
        self.spark = spark
        self.captures = program.captures
        self.runs: list[FrameRun] = []
        self._program = program
        self._state = _ThreadState()
        self._sessions: dict[tuple[int, int], Any] = {}

    @contextmanager
    def acting(self, name: str, frame: Any) -> Iterator[Callable[[Any], None]]:
        """The user called action ``name`` on ``frame``. Gives a function to tell the result to.

        Actions within it are its own; what goes wrong here never reaches the user.
        """
        capture = None if self._state.acting else self.captures.current()
        if capture is None:
            yield _nobody
            return
        self._state.acting = True
        conditions = self._program.beside.submit(self._conditions, frame)
        result: list[Any] = []
        status, began = "failed", time.perf_counter()
        try:
            yield result.append
            status = "succeeded"
        finally:
            seconds = time.perf_counter() - began
            self._state.acting = False
            try:
                self._note(name, frame, status, seconds, conditions, result, capture)
            except Exception as trouble:
                log.warning("bigdebug could not record the run of %s: %s", name, trouble)

    def asked(self, frame: Any) -> FrameRun:
        """The latest run of a DataFrame; a new one, of no action, if there is none."""
        for run in reversed(self.runs):
            if run.frame is frame or run.frame._jdf.queryExecution().equals(frame._jdf.queryExecution()):
                return run
        done: Future[Conditions] = Future()
        done.set_result(self._conditions(frame))
        run = FrameRun(
            self._program.next_run_id(), "lineage", "no action", "succeeded", frame, self._questions(frame, done), Statistics(records_out=-1),
        )
        self.runs.append(run)
        return run

    def forget(self, run: FrameRun) -> None:
        self.runs = [other for other in self.runs if other is not run]

    # ---- runs -------------------------------------------------------------------------------------------------

    def _note(
        self, name: str, frame: Any, status: str, seconds: float, conditions: Future[Conditions], result: Sequence[Any],
        capture: OpenCapture,
    ) -> None:
        value = result[0] if result else None
        rows = tuple(value) if name == "collect" and isinstance(value, list) and len(value) <= KEPT_ROWS else None
        records = len(value) if isinstance(value, list) else value if name == "count" and value is not None else -1
        run = FrameRun(
            self._program.next_run_id(), capture.name or name, name, status, frame, self._questions(frame, conditions),
            Statistics(records_out=records, seconds=seconds), rows=rows,
        )
        self.runs.append(run)
        capture.note(run)

    def _questions(self, frame: Any, conditions: Future[Conditions]) -> Questions:
        return Questions(self.spark, Catalyst.plan(frame), conditions)

    def _conditions(self, frame: Any) -> Conditions:
        stamps = stamps_of(Catalyst(self.spark), Catalyst.plan(frame))
        return Conditions(self._session(sum(stamp.size for stamp in stamps.values())), stamps)

    def _session(self, size: int) -> Any:
        """A session with the settings of now and those for questions about so many bytes. Costs some ms; sessions are shared."""
        jsession = self.spark._jsparkSession
        usual = int(jsession.conf().get("spark.sql.shuffle.partitions"))
        partitions = min(usual, max(2 * self.spark.sparkContext.defaultParallelism, -(-size // _PARTITION)))
        settings = jsession.sessionState().conf().settings().hashCode(), partitions
        if settings not in self._sessions:
            clone = jsession.cloneSession()
            for name, value in {**_PINNED, "spark.sql.shuffle.partitions": str(partitions)}.items():
                clone.conf().set(name, value)
            self._sessions[settings] = clone
        return self._sessions[settings]


def _nobody(result: Any) -> None:
    """An action that nobody captures has nobody to tell."""
