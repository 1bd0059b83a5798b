"""Readable: the records of a strict reader without its malformed lines, as a plan in the place of the leaf that fails on these."""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as F

from bigdebug.errors import UntraceableError
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.expressions import Expr, Node
from bigdebug.spark.sql.formats import format_of, reader_of
from bigdebug.spark.sql.strict import Strict, records

_REMEDY = "Take the malformed lines out of the files, and run it again."


def readable(strict: Strict, leaf: Node) -> Node:
    """The records of the lines that can be read, in the columns of the leaf that the query reads. A trace of them leads to the lines.

    Raises UntraceableError where it is not known how to make them.
    """
    c, reader = strict.catalyst, reader_of(leaf)
    _check(strict)
    lines = _without_headers(strict, records(c, c.plan(strict.run.frame), reader))
    lines, record = c.filter(c.is_computed(strict.parsed), lines), c.try_eval(strict.parsed)
    if format_of(reader) != "CSVFileFormat":  # there may be several in a line
        lines = c.plan(c.frame(lines).select(F.explode(c.column(record))))
        (record,) = c.items(lines.output())
    return c.project([c.renamed(c.field(record, i), column) for i, column in enumerate(strict.columns)], lines)


def _check(strict: Strict) -> None:
    required = strict.scan.requiredSchema()
    others = [a.name() for a in strict.catalyst.items(strict.scan.output()) if a.name() not in list(required.fieldNames())]
    if others:
        raise UntraceableError(f"their {', '.join(others)} is not in the lines, but in what the files are called", remedy=_REMEDY)
    parts = [column.name() for column in strict.columns if not _is_whole(column, required)]
    if parts:
        raise UntraceableError(f"only a part of {', '.join(parts)} is read", remedy=_REMEDY)


def _is_whole(column: Expr, required: Any) -> bool:
    return bool(required.apply(column.name()).dataType().equals(column.dataType()))


def _without_headers(strict: Strict, lines: Node) -> Node:
    """The lines without the headers of the files, which are told by what they say, so that a trace of the others needs no numbers. A job."""
    if not strict.headers:
        return lines
    c = strict.catalyst
    named = c.column(c.items(lines.output())[0]).isin(list({header.line for header in strict.headers}))
    if unheard(c.frame(lines).filter(named), "count") != len(strict.headers):
        raise UntraceableError("the header of a file comes among its records, too", remedy=_REMEDY)
    return c.plan(c.frame(lines).filter(~named))
