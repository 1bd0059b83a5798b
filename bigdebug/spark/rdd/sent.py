"""Sent: functions that workers get by value, for nothing of this package but the agents is theirs to import."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark import SparkContext, TaskContext
from pyspark.errors import PySparkRuntimeError

from bigdebug.agents.stage import Task

RUN_PROPERTY, STRATEGY_PROPERTY = "bigdebug.run", "bigdebug.strategy"
"""What a job tells its tasks."""


@contextmanager
def working_for(sc: SparkContext, run: str) -> Iterator[None]:
    """Within: tasks of this thread's jobs work for a run."""
    before = sc.getLocalProperty(RUN_PROPERTY)
    sc.setLocalProperty(RUN_PROPERTY, run)
    try:
        yield
    finally:
        sc.setLocalProperty(RUN_PROPERTY, before)  # type: ignore[arg-type]


def identifying() -> Callable[[], Task]:
    """Says for which run a task works."""

    def identify() -> Task:
        context = TaskContext.get()
        if context is None:
            return Task(None, 0)
        lazy = context.getLocalProperty(STRATEGY_PROPERTY) == "lazy"
        return Task(context.getLocalProperty(RUN_PROPERTY), context.taskAttemptId(), lazy)

    return identify


def nobody() -> Callable[[], Task]:
    """Says that a task works for no run."""
    return lambda: Task(None, 0)


def stopping() -> Callable[[str], Exception]:
    """Makes PySpark's own error for a StopIteration that escapes from a user's function."""

    def stopped(message: str) -> Exception:
        return PySparkRuntimeError(errorClass="STOP_ITERATION_OCCURRED", messageParameters={"exc": message})

    return stopped
