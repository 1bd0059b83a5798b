"""Spark's process: whether it runs and can be asked, and which Python its workers are."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError

from bigdebug.errors import BigdebugError, IncompleteLineageError

if TYPE_CHECKING:
    from pyspark import SparkContext

RESTART = "PySpark starts no other one in this process: restart the kernel, or the program"
"""What is to be done where Spark's process has ended."""

_ASKING = "_bigdebug_asking"
"""Where a SparkContext keeps how many questions use their own Python, and the one that it had before the first of them."""

_counting = threading.Lock()


def alive(sc: SparkContext) -> bool:
    """Whether a SparkContext runs: it has not been stopped, nor has Spark's process ended."""
    return sc._jsc is not None and not gone(sc)


def gone(sc: SparkContext) -> bool:
    """Whether Spark's process has ended, by itself or because it was killed: for its memory, say. Always false where another program started it."""
    process = getattr(sc._gateway, "proc", None)
    return process is not None and process.poll() is not None


def ended(sc: SparkContext) -> bool:
    """Whether a SparkContext is no more, or is being stopped just now. A call of Spark's process."""
    if not alive(sc):
        return True
    try:
        return bool(sc._jsc.sc().isStopped())
    except (Py4JError, AttributeError):  # meanwhile
        return True


@contextmanager
def outlasting(sc: SparkContext) -> Iterator[None]:
    """Within: a question is answered. Raises IncompleteLineageError where Spark ends meanwhile, whatever it makes of that."""
    try:
        yield
    except BigdebugError:
        raise
    except Exception as problem:
        if not ended(sc):
            raise
        _there(sc)
        raise IncompleteLineageError(
            "The SparkContext was stopped while this question was answered", remedy="Start Spark anew, and run the job again under capture.",
        ) from problem


def _there(sc: SparkContext) -> None:
    if gone(sc):
        raise IncompleteLineageError("Spark's process has ended, and nothing can be asked of it any more", remedy=f"{RESTART}, and run the job again.")


def running(sc: SparkContext) -> SparkContext:
    """``sc``, if it can still run jobs; else an error of ours."""
    _there(sc)
    if sc._jsc is None:
        raise IncompleteLineageError(
            "This question needs a Spark job, and the SparkContext has been stopped",
            remedy="rids(), origins() and lines of local text files are still answered; for the rest, start Spark anew and run the job again.",
        )
    return sc


def watchable(sc: SparkContext) -> None:
    """Raise IncompleteLineageError if no job will run any more that could be looked at."""
    _there(sc)
    if sc._jsc is None:
        raise IncompleteLineageError("A watch looks at jobs, and the SparkContext has been stopped", remedy="Start Spark anew, and attach to it: bigdebug.attach(spark).")


def answering(sc: SparkContext) -> None:
    """Raise IncompleteLineageError if a query can no longer be asked."""
    _there(sc)
    if sc._jsc is None:
        raise IncompleteLineageError("The session of this query has been stopped", remedy="Run the query again, in a new session.")


def worker_python(master: str | None, chosen: str) -> str:
    """What workers of ours run: on this machine the Python of this process, unless the user chose another.

    PySpark would start them with the first python3 on the PATH, which need not have what this one has.
    """
    return sys.executable if str(master).startswith("local") and "PYSPARK_PYTHON" not in os.environ else chosen


def is_one_process(sc: SparkContext) -> bool:
    """Whether tasks run in the process of the driver."""
    return str(sc.master).startswith("local") and not str(sc.master).startswith("local-cluster")


@contextmanager
def own_python(sc: SparkContext) -> Iterator[None]:
    """Within: ``sc`` sends our functions to workers that have bigdebug, also after it was detached from ``sc``.

    Questions may overlap, in several threads: the last to end gives ``sc`` its Python back.
    """
    held, entered = vars(sc), False
    try:  # an interruption may come at any call: there is none between what belongs together
        with _counting:
            asking, before = held.get(_ASKING, (0, sc.pythonExec))
            python = worker_python(sc.master, before)
            held[_ASKING], entered = (asking + 1, before), True
            sc.pythonExec = python
        yield
    finally:
        if entered:
            with _counting:
                asking, before = held[_ASKING]
                if asking > 1:
                    held[_ASKING] = asking - 1, before
                else:
                    sc.pythonExec = before
                    del held[_ASKING]
