"""Sent: functions that workers get by value, for nothing of this package but the agents is theirs to import."""

from __future__ import annotations

from collections.abc import Callable

from pyspark import TaskContext
from pyspark.errors import PySparkRuntimeError

from bigdebug.agents.stage import Task


def identifying() -> Callable[[], Task]:
    """Says for which run a task works."""

    def identify() -> Task:
        context = TaskContext.get()
        if context is None:
            return Task(None, 0)
        lazy = context.getLocalProperty("bigdebug.strategy") == "lazy"
        return Task(context.getLocalProperty("bigdebug.run"), context.taskAttemptId(), lazy)

    return identify


def nobody() -> Callable[[], Task]:
    """Says that a task works for no run."""
    return lambda: Task(None, 0)


def stopping() -> Callable[[str], Exception]:
    """Makes PySpark's own error for a StopIteration that escapes from a user's function."""

    def stopped(message: str) -> Exception:
        return PySparkRuntimeError(errorClass="STOP_ITERATION_OCCURRED", messageParameters={"exc": message})

    return stopped
