"""Cancelled: jobs that somebody had Spark end, by their group, their tag or all at once. Nothing crashed in them, and nobody wants them to go on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError

_CANCELLED = "SPARK_JOB_CANCELLED"

UNTOLD = "The job was cancelled before it had ended, so its records are not looked at: run the action again."
"""What is said of the culprits of a run whose job was."""


def is_cancelled(trouble: BaseException) -> bool:
    """Whether somebody has cancelled the job. What a function of the user's raises is never taken for that, whatever it says."""
    return any(_condition(thrown) == _CANCELLED for thrown in causes(thrown_by(trouble)))


def thrown_by(trouble: BaseException) -> Any:
    """The exception of the JVM that one of Python's tells of; None if it is none."""
    return trouble.java_exception if isinstance(trouble, Py4JJavaError) else getattr(trouble, "_origin", None)


def causes(thrown: Any) -> Iterator[Any]:
    """An exception of the JVM, what caused it, what caused that, and so on."""
    while thrown is not None:
        yield thrown
        thrown = thrown.getCause()


def _condition(thrown: Any) -> str | None:
    """Spark's own name for an error; None for those that are not Spark's, which have none."""
    try:
        return str(thrown.getCondition())
    except Py4JError:
        return None
