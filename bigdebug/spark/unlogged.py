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

from bigdebug.spark.deferred import undisturbed

_ALONE = threading.Lock()
"""Filters of a logger are put in and taken out by one thread at a time."""


@contextmanager
def unlogged() -> Iterator[None]:
    """Within: PySpark prints nothing, to no handler, of what it finds wrong with a query of this thread. The user's go on, and fail, in others."""
    mine = threading.get_ident()

    def others(_: logging.LogRecord) -> bool:
        return threading.get_ident() != mine

    try:
        with _ALONE:
            for logger in _loggers():
                logger.filters = [*logger.filters, others]  # another thread may go through those that there were
        yield
    finally:
        with undisturbed(), _ALONE:
            for logger in _loggers():
                logger.filters = [each for each in logger.filters if each is not others]


@lru_cache(maxsize=1)
def _loggers() -> tuple[logging.Logger, ...]:
    """Those that PySpark prints to. It makes them in a way that two threads at once would take for what all loggers are to be, so they are asked for once."""
    from pyspark.logger import PySparkLogger  # a kernel loads this module before its user asks for PySpark

    return tuple(map(PySparkLogger.getLogger, ("SQLQueryContextLogger", "DataFrameQueryContextLogger")))
