"""Unlogged: calls of ours that Spark may fail, so that nothing is printed of it.

PySpark prints a line of each exception that tells a place of a query, when it makes it and whoever catches it. What is wrong with the user's query he has
been told once; what is wrong with a query of ours is raised, or answered otherwise.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from weakref import WeakSet


class _Within:
    """A thread is within ``unlogged``, as long as somebody holds this: one that an interruption kept from leaving is let go of with its frames."""


class _Here(threading.local):
    """The thread that asks."""

    def __init__(self) -> None:
        self.within = WeakSet[_Within]()


_here = _Here()


@contextmanager
def unlogged() -> Iterator[None]:
    """Within: PySpark prints nothing, to no handler, of what it finds wrong with a query of this thread. The user's go on, and fail, in others."""
    for logger in _loggers():
        if _is_the_users not in logger.filters:  # the first time, or since its user has set up his logging anew
            logger.addFilter(_is_the_users)
    within = _Within()
    _here.within.add(within)
    try:
        yield
    finally:
        _here.within.discard(within)


def _is_the_users(_: logging.LogRecord) -> bool:
    """A filter, which stays: what is put in for a while is left behind where an interruption comes between."""
    return not _here.within


@lru_cache(maxsize=1)
def _loggers() -> tuple[logging.Logger, ...]:
    """Those that PySpark prints to. It makes them in a way that two threads at once would take for what all loggers are to be, so they are asked for once."""
    from pyspark.logger import PySparkLogger  # a kernel loads this module before its user asks for PySpark

    return tuple(map(PySparkLogger.getLogger, ("SQLQueryContextLogger", "DataFrameQueryContextLogger")))
