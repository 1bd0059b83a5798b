"""Our own jobs: how they are told apart from the user's, counted, and ended."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from py4j.protocol import Py4JError

from bigdebug.spark.deferred import undisturbed
from bigdebug.spark.interruption import cancelling
from bigdebug.spark.process import alive, answering, ended, outlasting
from bigdebug.spark.unlogged import unlogged

if TYPE_CHECKING:
    from pyspark import SparkContext

_T = TypeVar("_T")

_OURS = "bigdebug-"
"""What the tags of jobs begin with that are ours."""

USERS = "bigdebug:users-"
"""What the tags of jobs begin with that are the user's, and not ours to be left out of what is recorded."""

_EVERY = 0.2
"""Seconds between two looks at whether jobs are to go on."""


def is_ours(tag: str) -> bool:
    """Whether a job with such a tag is a question of ours, and none of the user's."""
    return tag.startswith(_OURS)


@contextmanager
def tagged(sc: SparkContext, begins: str = _OURS, calling: bool = False) -> Iterator[str]:
    """Within: jobs of this thread, and of those that it starts, have a tag of their own, and an interruption cancels them. Of what fails of ours, PySpark
    prints nothing; where a function of the user's is called within (``calling``), it prints what it does of a query of that.

    Raises IncompleteLineageError where Spark ends meanwhile, if they are ours.
    """
    tag = f"{begins}{uuid.uuid4()}"
    ours = begins == _OURS
    with cancelling(sc, tag), outlasting(sc) if ours else nullcontext(), unlogged() if ours and not calling else nullcontext():
        try:
            sc.addJobTag(tag)
            yield tag
        finally:
            with undisturbed():
                if alive(sc):
                    sc.removeJobTag(tag)


@contextmanager
def watched(sc: SparkContext, name: str, watch: Callable[[str, threading.Event], None], calling: bool = False) -> Iterator[None]:
    """Within: jobs of this thread have a tag, and ``watch`` is given it in a thread of its own, with an event for when this ends. ``calling`` as above."""
    over = threading.Event()
    with tagged(sc, calling=calling) as tag:
        watcher = threading.Thread(target=_watching, args=(sc, watch, tag, over), name=name, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            with undisturbed():
                over.set()
                watcher.join()


def _watching(sc: SparkContext, watch: Callable[[str, threading.Event], None], tag: str, over: threading.Event) -> None:
    try:
        watch(tag, over)
    except (Py4JError, AttributeError):
        if not ended(sc):  # of which whoever runs the jobs is told
            raise


def impatient(problem: BaseException) -> bool:
    """Whether an exception says that a job was cancelled because ``at_most``, or ``ending``, had it."""
    return f"cancelled job tags {_OURS}" in str(problem)


@contextmanager
def at_most(sc: SparkContext, seconds: float) -> Iterator[threading.Event]:
    """Within: jobs of this thread are cancelled when so many seconds are over, which the event then tells; also those that begin later."""
    over = threading.Event()

    def cancel(tag: str, left: threading.Event) -> None:
        left.wait(seconds)
        while not left.is_set():
            over.set()
            sc.cancelJobsWithTag(tag)
            left.wait(_EVERY)

    if seconds <= 0:
        over.set()
    with watched(sc, "bigdebug patience", cancel):
        yield over


@contextmanager
def ending(sc: SparkContext, check: Callable[[], None]) -> Iterator[None]:
    """Within: when ``check`` raises, jobs of this thread are cancelled, also those that begin later, and what it raised is raised where one was. It is called in a thread of ours.
    The user's test may be called within: what a query of that fails of is printed.
    """
    ended: list[Exception] = []

    def watch(tag: str, over: threading.Event) -> None:
        while not over.wait(_EVERY):
            if (end := _raised_by(check)) is not None:
                ended[:] = [end]
                sc.cancelJobsWithTag(tag)

    try:
        with watched(sc, "bigdebug ending", watch, calling=True):
            yield
    except Exception as problem:
        if ended and impatient(problem):
            raise ended[0] from problem
        raise


def _raised_by(check: Callable[[], None]) -> Exception | None:
    try:
        check()
    except Exception as problem:  # it is for who waits
        return problem
    return None


def beside(work: Callable[[], _T]) -> Future[_T]:
    """Do some ``work`` in a thread of its own, whose jobs are this thread's as far as Spark can tell. Who waits for it may stop waiting."""
    from pyspark import InheritableThread  # a kernel loads this module before its user asks for PySpark

    done: Future[_T] = Future()

    def run() -> None:
        try:
            with unlogged():
                done.set_result(work())
        except BaseException as problem:  # it is for who waits
            done.set_exception(problem)

    InheritableThread(target=run, name="bigdebug beside", daemon=True).start()
    return done


class Jobs(NamedTuple):
    """The jobs of a thread, for who looks at them from another one."""

    sc: SparkContext
    tag: str

    @property
    def tasks(self) -> int:
        """How many of their tasks have ended well."""
        return tasks_of(self.sc, self.tag)[0]

    def cancel(self) -> None:
        """End those that run now."""
        self.sc.cancelJobsWithTag(self.tag)


@contextmanager
def followed(sc: SparkContext) -> Iterator[Jobs]:
    """Within: the jobs of this thread, to be counted and cancelled. They are the user's: what fails of them is printed, and recorded among what the session
    does with datasets; questions are told apart by tags of their own. Raises IncompleteLineageError if the session has been stopped.
    """
    answering(sc)
    with tagged(sc, USERS) as tag:
        yield Jobs(sc, tag)


def tasks_of(sc: SparkContext, tag: str) -> tuple[int, int]:
    """Finished and all tasks of the jobs with this tag."""
    tracker: Any = sc.statusTracker()
    # PySpark asks for groups only; the group is the user's to set.
    jobs = [tracker.getJobInfo(job) for job in sc._jsc.sc().statusTracker().getJobIdsForTag(tag)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    known = [stage for stage in stages if stage]
    return sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)
