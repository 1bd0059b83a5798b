"""Sent: functions that workers get by value, for nothing of this package but the agents is theirs to import."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from pyspark import SparkContext, TaskContext, accumulators
from pyspark.errors import PySparkRuntimeError

from bigdebug.agents.evaluate import Unknown
from bigdebug.agents.stage import Task
from bigdebug.spark.deferred import undisturbed
from bigdebug.spark.process import alive

RUN_PROPERTY, STRATEGY_PROPERTY, POLICY_PROPERTY = "bigdebug.run", "bigdebug.strategy", "bigdebug.policy"
WATCH_PROPERTY = "bigdebug.watch"
"""What a job tells its tasks."""


@contextmanager
def working_for(sc: SparkContext, run: str) -> Iterator[None]:
    """Within: tasks of this thread's jobs work for a run."""
    with _told(sc, RUN_PROPERTY, run):
        yield


@contextmanager
def under(sc: SparkContext, policy: str | None) -> Iterator[None]:
    """Within: tasks of this thread's jobs do with crashes what a policy says."""
    with _told(sc, POLICY_PROPERTY, policy):
        yield


@contextmanager
def _told(sc: SparkContext, name: str, value: str | None) -> Iterator[None]:
    before = sc.getLocalProperty(name)
    try:
        sc.setLocalProperty(name, value)  # type: ignore[arg-type]
        yield
    finally:
        with undisturbed():
            if alive(sc):
                sc.setLocalProperty(name, before)  # type: ignore[arg-type]


def identifying() -> Callable[[], Task]:
    """Says for which run a task works."""

    def identify() -> Task:
        context = TaskContext.get()
        if context is None:
            return Task(None, 0)
        lazy = context.getLocalProperty(STRATEGY_PROPERTY) == "lazy"
        run, policy, watches = map(context.getLocalProperty, (RUN_PROPERTY, POLICY_PROPERTY, WATCH_PROPERTY))
        return Task(run, context.taskAttemptId(), lazy, policy, watches, context.attemptNumber())

    return identify


def nobody() -> Callable[[], Task]:
    """Says that a task works for no run."""

    def identify() -> Task:
        context = TaskContext.get()
        return Task(None, 0, policy=None if context is None else context.getLocalProperty(POLICY_PROPERTY))

    return identify


def stopping() -> Callable[[str], Exception]:
    """Makes PySpark's own error for a StopIteration that escapes from a user's function."""

    def stopped(message: str) -> Exception:
        return PySparkRuntimeError(errorClass="STOP_ITERATION_OCCURRED", messageParameters={"exc": message})

    return stopped


def unheard() -> Callable[[], AbstractContextManager[None]]:
    """Within what that gives, the accumulators of a task are others, which nobody hears of."""

    @contextmanager
    def aside() -> Iterator[None]:
        before = [(each, each._value) for each in accumulators._accumulatorRegistry.values()]  # of the worker: the module goes by its name
        for each, value in before:
            each._value = each.accum_param.zero(value)
        try:
            yield
        finally:
            for each, value in before:
                each._value = value

    return aside


def outside() -> Callable[[], AbstractContextManager[None]]:
    """Within what that gives, no task is known: the task of an evaluation is none of those in which the functions would run."""

    @contextmanager
    def unknown() -> Iterator[None]:
        stand_in: Any = Unknown()
        task = TaskContext.get()
        TaskContext._setTaskContext(stand_in)
        try:
            yield
        finally:
            TaskContext._setTaskContext(task)

    return unknown
