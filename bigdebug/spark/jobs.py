"""Our own jobs: that there is a Spark to run them, and a bar that appears after a second, in a notebook or a terminal."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tqdm.auto import tqdm

from bigdebug.errors import IncompleteLineageError

if TYPE_CHECKING:
    from pyspark import SparkContext

PATIENCE = 1.0
"""Seconds until there is a bar."""

_EVERY = 0.2


def running(sc: SparkContext) -> SparkContext:
    """``sc``, if it can still run jobs; else an error of ours."""
    if sc._jsc is None:
        raise IncompleteLineageError(
            "This question needs a Spark job, and the SparkContext has been stopped",
            remedy="rids(), origins() and lines of local text files are still answered; for the rest, run the job again.",
        )
    return sc


@contextmanager
def progress(sc: SparkContext, what: str, shown: bool = True) -> Iterator[None]:
    """Within: a bar counts the finished tasks of the jobs of this thread, if they take longer than a second.

    Costs two calls of the JVM for the tag that tells these jobs from others.
    """
    if not shown:
        yield
        return
    tag = f"bigdebug-{uuid.uuid4()}"
    over = threading.Event()
    sc.addJobTag(tag)
    watcher = threading.Thread(target=_watch, args=(sc, tag, what, over), name="bigdebug progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        sc.removeJobTag(tag)
        watcher.join()


def _watch(sc: SparkContext, tag: str, what: str, over: threading.Event) -> None:
    if over.wait(PATIENCE):
        return
    with tqdm(desc=f"bigdebug: {what}", unit=" tasks", leave=False) as bar:
        while not over.wait(_EVERY):
            done, bar.total = _tasks(sc, tag)
            bar.update(done - bar.n)


def _tasks(sc: SparkContext, tag: str) -> tuple[int, int]:
    """Finished and all tasks of the jobs with this tag."""
    tracker: Any = sc.statusTracker()
    # PySpark asks for groups only; the group is the user's to set.
    jobs = [tracker.getJobInfo(job) for job in sc._jsc.sc().statusTracker().getJobIdsForTag(tag)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    known = [stage for stage in stages if stage]
    return sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)
