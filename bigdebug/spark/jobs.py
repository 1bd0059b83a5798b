"""Our own jobs: that there is a Spark to run them, with which Python, and a bar that appears after a second."""

from __future__ import annotations

import os
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tqdm import tqdm

from bigdebug.errors import IncompleteLineageError
from bigdebug.spark.interruption import cancelling

if TYPE_CHECKING:
    from pyspark import SparkContext

_T = TypeVar("_T")

PATIENCE = 1.0
"""Seconds until there is a bar."""

_EVERY = 0.2

Bars = Callable[[str], AbstractContextManager[Any]]
"""Shows a bar of tqdm's with a title, for as long as it is entered."""


def alive(sc: SparkContext) -> bool:
    """Whether a SparkContext runs: it has not been stopped, nor has Spark's process ended."""
    return sc._jsc is not None and not gone(sc)


def gone(sc: SparkContext) -> bool:
    """Whether Spark's process has ended, by itself or because it was killed: for its memory, say. Always false where another program started it."""
    process = getattr(sc._gateway, "proc", None)
    return process is not None and process.poll() is not None


RESTART = "PySpark starts no other one in this process: restart the kernel, or the program"


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
    with _watched(sc, "bigdebug patience", cancel):
        yield over


@contextmanager
def ending(sc: SparkContext, check: Callable[[], None]) -> Iterator[None]:
    """Within: when ``check`` raises, jobs of this thread are cancelled, also those that begin later, and what it raised is raised where one was. It is called in a thread of ours."""
    ended: list[Exception] = []

    def watch(tag: str, over: threading.Event) -> None:
        while not over.wait(_EVERY):
            if (end := _raised_by(check)) is not None:
                ended[:] = [end]
                sc.cancelJobsWithTag(tag)

    try:
        with _watched(sc, "bigdebug ending", watch):
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


_OURS = "bigdebug-"
"""What the tags of jobs begin with."""

USERS = "bigdebug:users-"
"""What the tags of jobs begin with that are the user's, and not ours to be left out of what is recorded."""


@contextmanager
def _watched(sc: SparkContext, name: str, watch: Callable[[str, threading.Event], None]) -> Iterator[None]:
    """Within: jobs of this thread have a tag, and ``watch`` is given it in a thread of its own, with an event for when this ends."""
    over = threading.Event()
    with tagged(sc) as tag:
        watcher = threading.Thread(target=watch, args=(tag, over), name=name, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()


def is_ours(tag: str) -> bool:
    """Whether a job with such a tag is a question of ours, and none of the user's."""
    return tag.startswith(_OURS)


@contextmanager
def tagged(sc: SparkContext, begins: str = _OURS) -> Iterator[str]:
    """Within: jobs of this thread, and of those that it starts, have a tag of their own, and an interruption cancels them."""
    tag = f"{begins}{uuid.uuid4()}"
    with cancelling(sc, tag):
        try:
            sc.addJobTag(tag)
            yield tag
        finally:
            sc.removeJobTag(tag)


def beside(work: Callable[[], _T]) -> Future[_T]:
    """Do some ``work`` in a thread of its own, whose jobs are this thread's as far as Spark can tell. Who waits for it may stop waiting."""
    from pyspark import InheritableThread  # a kernel loads this module before its user asks for PySpark

    done: Future[_T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as problem:  # it is for who waits
            done.set_exception(problem)

    InheritableThread(target=run, name="bigdebug beside", daemon=True).start()
    return done


_ASKING = "_bigdebug_asking"
"""Where a SparkContext keeps how many questions use their own Python, and the one that it had before the first of them."""

_counting = threading.Lock()


@contextmanager
def own_python(sc: SparkContext) -> Iterator[None]:
    """Within: ``sc`` sends our functions to workers that have bigdebug, also after it was detached from ``sc``.

    Questions may overlap, in several threads: the last to end gives ``sc`` its Python back.
    """
    with _counting:
        asking, before = vars(sc).get(_ASKING, (0, sc.pythonExec))
        vars(sc)[_ASKING] = asking + 1, before
        sc.pythonExec = worker_python(sc.master, before)
    try:
        yield
    finally:
        with _counting:
            asking, before = vars(sc).pop(_ASKING)
            if asking > 1:
                vars(sc)[_ASKING] = asking - 1, before
            else:
                sc.pythonExec = before


@contextmanager
def progress(sc: SparkContext, what: str, shown: bool = True) -> Iterator[None]:
    """Within: jobs of this thread are ours, with our Python, and have a bar if they take longer than a second."""
    with own_python(sc), counted(sc, what, shown):
        yield


def counted(sc: SparkContext, what: str, shown: bool = True) -> AbstractContextManager[object]:
    """Within: this thread's jobs are ours, and a bar counts their finished tasks if they take longer than a second.

    Costs two calls of the JVM for the tag that tells these jobs from others.
    """
    return _watched(sc, "bigdebug progress", partial(_watch, sc, what)) if shown and shows_bars() else tagged(sc)


@contextmanager
def telling(what: str, unit: str, tell: Callable[[], tuple[int, str]], shown: bool = True) -> Iterator[None]:
    """Within: a bar tells how many of a ``unit`` were done, and something beside it, if this takes longer than a second. ``tell`` is called in a thread of ours."""
    if not (shown and shows_bars()):
        yield
        return
    over = threading.Event()
    teller = threading.Thread(target=_tell, args=(what, unit, tell, over), name="bigdebug progress", daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()


def _tell(what: str, unit: str, tell: Callable[[], tuple[int, str]], over: threading.Event) -> None:
    if over.wait(PATIENCE):
        return
    with _bars(f"bigdebug: {what}") as bar:
        bar.unit = f" {unit}"
        while not over.wait(_EVERY):
            done, beside = tell()
            bar.set_postfix_str(beside, refresh=False)
            bar.update(done - bar.n)


def _watch(sc: SparkContext, what: str, tag: str, over: threading.Event) -> None:
    if over.wait(PATIENCE):
        return
    with _bars(f"bigdebug: {what}") as bar:
        while not over.wait(_EVERY):
            done, bar.total = _tasks(sc, tag)
            bar.update(done - bar.n)


@contextmanager
def _terminal_bar(what: str) -> Iterator[Any]:
    with tqdm(desc=what, unit=" tasks", leave=False) as bar:
        yield bar


_bars: Bars = _terminal_bar


def show_bars_with(bars: Bars | None) -> None:
    """Show bars with ``bars``; in the terminal, if None. A notebook knows how to take away what it showed."""
    global _bars  # noqa: PLW0603 (what shows output is one thing for a process, as stderr is)
    _bars = bars or _terminal_bar


def shows_bars() -> bool:
    """Whether a bar can be seen and leaves nothing behind: not in a file or a pipe."""
    return _bars is not _terminal_bar or (sys.stderr is not None and sys.stderr.isatty())


class Jobs(NamedTuple):
    """The jobs of a thread, for who looks at them from another one."""

    sc: SparkContext
    tag: str

    @property
    def tasks(self) -> int:
        """How many of their tasks have ended well."""
        return _tasks(self.sc, self.tag)[0]

    def cancel(self) -> None:
        """End those that run now."""
        self.sc.cancelJobsWithTag(self.tag)


@contextmanager
def followed(sc: SparkContext) -> Iterator[Jobs]:
    """Within: the jobs of this thread, to be counted and cancelled. Raises IncompleteLineageError if the session has been stopped."""
    answering(sc)
    with tagged(sc) as tag:
        yield Jobs(sc, tag)


def _tasks(sc: SparkContext, tag: str) -> tuple[int, int]:
    """Finished and all tasks of the jobs with this tag."""
    tracker: Any = sc.statusTracker()
    # PySpark asks for groups only; the group is the user's to set.
    jobs = [tracker.getJobInfo(job) for job in sc._jsc.sc().statusTracker().getJobIdsForTag(tag)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    known = [stage for stage in stages if stage]
    return sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)
