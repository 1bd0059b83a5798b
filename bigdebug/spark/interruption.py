"""Interruption: the stop button, in the middle of jobs. They are cancelled, and who asked for them gets the KeyboardInterrupt.

In a notebook nothing else does so: IPython gives a cell Python's own handler, not the one of PySpark's that cancels all jobs; and what PySpark
calls on its way out of a call fails of a connection that was closed, and is raised in the place of the interruption.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError

from bigdebug.spark.deferred import Deferred, deferring
from bigdebug.spark.process import alive

if TYPE_CHECKING:
    from pyspark import SparkContext


_LATER = 3.0
"""Seconds within which a job begins that was asked for before: Spark plans a query first, and nothing tells that it does."""

_SOON = 1.0
"""Seconds that the interruption waits until none runs any more."""

_EVERY, _TRIES = 0.1, 10


def handled() -> BaseException | None:
    """What is being handled where this is called: not of what begins now, though its exceptions have it as their context."""
    return sys.exc_info()[1]


def interruption(problem: BaseException | None, before: BaseException | None) -> KeyboardInterrupt | None:
    """The interruption that a problem came of, if it is one that was not ``before``."""
    seen = problem
    while seen is not None and seen is not before:
        if isinstance(seen, KeyboardInterrupt):
            return seen
        seen = seen.__context__
    return None


@contextmanager
def cancelling(sc: SparkContext, tag: str) -> Iterator[None]:
    """Within: an interruption cancels the jobs with a tag, and is raised whatever PySpark makes of it."""
    before = handled()
    with deferring(lambda: sc.cancelJobsWithTag(tag)) as deferred:
        try:
            yield
        except BaseException as problem:
            interrupted = interruption(problem, before)
            if interrupted is None and not _is_due(deferred):
                raise
            cancel(sc, tag)
            if interrupted is problem:
                raise
            raise KeyboardInterrupt from problem
        if _is_due(deferred):
            cancel(sc, tag)
            raise KeyboardInterrupt


@contextmanager
def planning() -> Iterator[None]:
    """Within: Spark is asked for what runs no job, or none but in a question of its own. An interruption is raised behind the call that it comes in."""
    with deferring(lambda: None) as deferred:  # there is no job to cancel
        try:
            yield
        except BaseException as problem:
            if _is_due(deferred) and not isinstance(problem, KeyboardInterrupt):
                raise KeyboardInterrupt from problem
            raise
        if _is_due(deferred):
            raise KeyboardInterrupt


def _is_due(deferred: Deferred | None) -> bool:
    """Whether an interruption was deferred and nobody knows of it."""
    return deferred is not None and deferred.due()


def cancel(sc: SparkContext, tag: str) -> None:
    """Cancel the jobs with a tag, also those that begin soon. When this ends, none runs, unless Spark is slow about it."""
    quiet = threading.Event()
    threading.Thread(target=_cancel, args=(sc, tag, quiet), name="bigdebug cancelling later jobs", daemon=True).start()
    try:
        quiet.wait(_SOON)
    finally:  # also where a second interruption ends the waiting
        _reconnect(sc)


def _reconnect(sc: SparkContext) -> None:
    """Let this thread have a connection again: py4j closes those of all threads, and one that it makes meanwhile may be closed at once."""
    for _ in range(_TRIES if alive(sc) else 0):
        try:
            sc.getLocalProperty("spark.job.description")
            return
        except Py4JError:  # noqa: PERF203 (it is what is waited for)
            time.sleep(_EVERY)


def _cancel(sc: SparkContext, tag: str, quiet: threading.Event) -> None:
    end = time.monotonic() + _LATER
    while time.monotonic() < end and alive(sc):
        # An interruption closes connections, also this thread's: it gets another one. Spark may end meanwhile.
        with suppress(Py4JError, OSError, AttributeError):
            sc.cancelJobsWithTag(tag)
        time.sleep(_EVERY)
        with suppress(Py4JError, OSError, AttributeError):
            tracker: Any = sc._jsc.sc().statusTracker()
            if not set(tracker.getJobIdsForTag(tag)).intersection(tracker.getActiveJobIds()):
                quiet.set()
    quiet.set()
