"""Thrown: what Spark's expressions throw in the JVM, row by row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from linecache import getline
from typing import Any, NamedTuple

from pyspark.errors.exceptions.captured import convert_exception
from pyspark.logger import PySparkLogger

from bigdebug.graph import CallSite
from bigdebug.spark.gateway import raised_by
from bigdebug.spark.sql.catalyst import Catalyst, Expr

_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")

_THROWABLE = "org.apache.spark.SparkThrowable"


class Thrown(NamedTuple):
    """What an expression throws: the name of the exception, its message, the user's line, and the piece of the query as Spark shows it."""

    exception: str
    message: str
    line: CallSite | None = None
    place: str = ""


UNREPEATED = Thrown("Exception", "it throws in this query, and not by itself")


class Exceptions:
    """Exceptions of the JVM as PySpark names them. To ask PySpark for each would take longer than the query."""

    def __init__(self, catalyst: Catalyst) -> None:
        self._catalyst = catalyst
        self._names: dict[str, str] = {}
        self._lines: dict[str, CallSite] = {}

    def thrown(self, bound: Sequence[Expr], row: Any) -> Thrown:
        """What the first of the expressions that throws on a row does throw."""
        for expression in bound:
            raised = raised_by(expression.eval, row)
            if raised is not None:
                return self._told(raised)
        return UNREPEATED

    def _told(self, raised: Any) -> Thrown:
        kind = raised.getClass().getName()
        if kind not in self._names:
            self._names[kind] = _name(raised)
        name = kind.rpartition(".")[2] if self._names[kind] == "UnknownException" else self._names[kind]
        message = str(raised.getMessage()).split("\n== ")[0]
        contexts: Any = raised.getQueryContext() if self._catalyst.is_a(raised, _THROWABLE) else ()
        if not len(contexts):
            return Thrown(name, message)
        place = contexts[0].summary()
        if place not in self._lines:
            self._lines[place] = _line(contexts[0])
        return Thrown(name, message, self._lines[place], place.strip())


def _name(raised: Any) -> str:
    """What PySpark calls an exception of the JVM. It logs each one that it makes, and nobody has raised this one."""
    loggers = [PySparkLogger.getLogger(name) for name in _LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        return type(convert_exception(raised)).__name__
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


def _line(context: Any) -> CallSite:
    """Where a part of a query stands: the line of Python that made it, or the line within the SQL."""
    if context.contextType().toString() == "DataFrame":
        file, _, line = context.callSite().rpartition(":")
        return CallSite(file, int(line), getline(file, int(line)).strip())
    before = re.search(r"\(line (\d+)", context.summary())
    return CallSite("SQL", int(before[1]) if before else 1, context.fragment())
