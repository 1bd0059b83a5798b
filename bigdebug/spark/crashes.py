"""Crashes: what the user's exception says of its culprits."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, ParseException, PySparkException

from bigdebug.spark.cancelled import is_cancelled
from bigdebug.spark.interruption import interruption
from bigdebug.spark.jobs import at_most
from bigdebug.spark.patience import OutOfPatience, waiting
from bigdebug.trace.culprits import Culprits

if TYPE_CHECKING:
    from pyspark import SparkContext

log = logging.getLogger("bigdebug")

RAISED: tuple[type[Exception], ...] = (PySparkException, Py4JError)
"""What an action raises whose job has crashed, among others."""

PATIENCE = 2.0
"""Seconds that an exception waits for its culprits."""


_LOST = re.compile(r"Lost task [\d.]+ in stage [\d.]+ \(TID (?P<task>\d+)\)")

LATER = "bigdebug: run.culprits, or dbg.runs[-1].culprits, runs what crashed again to find the records"


def crashed(problem: BaseException, before: BaseException | None = None) -> bool:
    """Whether an exception is one of a job that ran: Spark raises others before it runs anything, and where it was interrupted, or cancelled, which whoever did that
    does not want to run again. ``before`` is what was being handled when the job was begun.
    """
    if isinstance(problem, AnalysisException | ParseException) or interruption(problem, before) is not None:
        return False
    return isinstance(problem, RAISED) and not is_cancelled(problem)


def ended(problem: BaseException | None) -> bool:
    """Whether an exception says that a Python worker has ended: it crashed hard, exited or was killed."""
    return problem is not None and "Python worker exited unexpectedly" in str(problem)


def lost_task(problem: BaseException) -> int:
    """The id of the task, unique in the application, that an exception says a job was given up for; -1 if it names none."""
    found = _LOST.search(str(problem))
    return int(found["task"]) if found else -1


def tell(sc: SparkContext, culprits: Culprits, problem: BaseException, wait: bool = True) -> None:
    """Add the culprits that are found at once to what the exception says; the others are found when they are asked for.

    So are all of them without ``wait``, where the functions that run again are there for what they do, not for what they give.
    """
    if sc._jsc is None:
        return
    if not wait:
        note(problem, LATER)
        return
    culprits.one_will_do = True
    try:
        with at_most(sc, PATIENCE) as over, waiting(PATIENCE):
            while not over.is_set() and culprits.more():
                pass
    except (Exception, OutOfPatience) as trouble:  # the exception is the user's, and passes whatever becomes of this
        log.debug("bigdebug has not found what crashed yet: %s", type(trouble).__name__)  # what it says is the user's
    finally:
        culprits.one_will_do = False
    summary = culprits.summary()
    if summary or not culprits.complete:
        note(problem, summary or LATER)


def note(problem: BaseException, said: str) -> None:
    """Add a note to an exception. Python shows them since 3.11, and IPython what stands in their place before that."""
    if hasattr(problem, "add_note"):
        problem.add_note(said)
    else:
        problem.__notes__ = [*getattr(problem, "__notes__", ()), said]
