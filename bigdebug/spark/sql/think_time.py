"""Think time: indexes are built while nobody else uses Spark, and give way when somebody does (Smoke 3.2, Defer)."""

from __future__ import annotations

import logging
import threading
import uuid
from queue import SimpleQueue
from typing import Any

from bigdebug.errors import BigdebugError
from bigdebug.spark.sql.recognized import index
from bigdebug.spark.sql.runs import FrameRun

log = logging.getLogger("bigdebug")

_LOOK = 0.1
"""Seconds between two looks at who else uses Spark."""


class ThinkTime:
    """Builds the indexes of runs, one after the other, in a thread of its own that waits while others' jobs run."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark
        self._todo: SimpleQueue[FrameRun] = SimpleQueue()
        self._alone = threading.Lock()
        self._thread: threading.Thread | None = None
        self._idle = threading.Event()
        self._idle.set()

    def add(self, run: FrameRun) -> None:
        """Build the indexes of ``run`` when there is time."""
        with self._alone:
            self._todo.put(run)
            self._idle.clear()
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="bigdebug think time", daemon=True)
                self._thread.start()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all indexes are built; False if they are not yet."""
        return self._idle.wait(timeout)

    def _work(self) -> None:
        while True:
            with self._alone:
                if self._todo.empty():
                    self._thread = None
                    self._idle.set()
                    return
            run = self._todo.get()
            try:
                self._build(run)
            except Exception as trouble:  # the next question finds it out by itself, in the user's thread
                if self._stopped():
                    continue
                level = logging.INFO if isinstance(trouble, BigdebugError) else logging.WARNING
                log.log(level, "bigdebug did not index the run %s: %s", run.name, str(trouble).split("\n", 1)[0])

    def _build(self, run: FrameRun) -> None:
        sc: Any = self._spark.sparkContext
        while not self._stopped():
            tag = f"bigdebug-think-{uuid.uuid4()}"
            self._quiet(tag)
            done = threading.Event()
            gave_way = threading.Event()
            watcher = threading.Thread(target=self._watch, args=(tag, done, gave_way), daemon=True)
            sc.addJobTag(tag)
            watcher.start()
            try:
                index(run)
                return
            except Exception:
                if not gave_way.is_set():
                    raise
            finally:
                done.set()
                if not self._stopped():
                    sc.removeJobTag(tag)
                watcher.join()

    def _stopped(self) -> bool:
        """Whether the user has stopped Spark, or is about to."""
        jsc = self._spark.sparkContext._jsc
        return jsc is None or bool(jsc.sc().isStopped())

    def _others(self, tag: str) -> bool:
        """Whether a job runs that has not this tag."""
        tracker = self._spark.sparkContext._jsc.sc().statusTracker()
        return bool(set(tracker.getActiveJobIds()) - set(tracker.getJobIdsForTag(tag)))

    def _quiet(self, tag: str) -> None:
        pause = threading.Event()
        while not self._stopped() and self._others(tag):
            pause.wait(_LOOK)

    def _watch(self, tag: str, done: threading.Event, gave_way: threading.Event) -> None:
        while not done.wait(_LOOK):
            if self._stopped():
                return
            if self._others(tag):
                gave_way.set()
                self._spark.sparkContext.cancelJobsWithTag(tag)
