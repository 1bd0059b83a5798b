"""Readable: the records of a strict reader without its malformed lines, as a plan in the place of the leaf that fails on these."""

from __future__ import annotations

from collections import Counter

from pyspark.sql import functions as F

from bigdebug.errors import UntraceableError
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.crashes.strict import Strict, records
from bigdebug.spark.sql.formats import is_csv, option, reader_of
from bigdebug.spark.sql.plans.expressions import Node

_REMEDY = "Take the malformed lines out of the files, and run it again."

_DEFAULT = "EXISTS_DEFAULT"
"""Where Spark notes what a column has in records that were written before it was added."""


def readable(strict: Strict, leaf: Node) -> Node:
    """The records of the lines that can be read, in the columns of the leaf that the query reads. A trace of them leads to the lines.

    Raises UntraceableError where it is not known how to make them. Costs a job if files have headers.
    """
    c, reader = strict.catalyst, reader_of(leaf)
    _check(strict, leaf)
    lines = _without_headers(strict, records(c, c.plan(strict.run.frame), reader))
    # In a projection of its own: Spark would parse a line for each column.
    parsed = c.alias(c.try_eval(strict.parsed), "record")
    lines, record = c.project([parsed], lines), parsed.toAttribute()
    if is_csv(reader):
        lines = c.filter(c.is_not_null(record), lines)
    else:  # there may be several in a line
        lines = c.plan(c.frame(lines).select(F.explode(c.column(record))))
        (record,) = c.items(lines.output())
    return c.project([c.renamed(c.field(record, i), column) for i, column in enumerate(strict.columns)], lines)


def _check(strict: Strict, leaf: Node) -> None:
    c, required = strict.catalyst, strict.scan.requiredSchema()
    others = [a.name() for a in c.items(strict.scan.output()) if a.name() not in list(required.fieldNames())]
    added = [name for name in required.fieldNames() if required.apply(name).metadata().contains(_DEFAULT)]
    why = (
        f"their {', '.join(others)} is not in the lines, but in what the files are called" if others
        else f"{', '.join(added)} was added to the table with a default" if added
        else "headers are compared to the schema (enforceSchema)" if strict.headers and option(reader_of(leaf), "enforceSchema").lower() == "false"
        else None
    )
    if why is not None:
        raise UntraceableError(why, remedy=_REMEDY)


def _without_headers(strict: Strict, lines: Node) -> Node:
    """The lines without those headers of the files that could be read as records. A job.

    They are told by what they say, for then a trace of the others needs no numbers.
    """
    headers = Counter(header.line for header in strict.headers)
    if not headers:
        return lines
    c = strict.catalyst
    line = c.column(c.items(lines.output())[0])
    alike = c.plan(c.frame(lines).filter(line.isin(list(headers))))  # first, for to parse a line takes a hundred times as long
    alike = c.frame(c.filter(c.is_computed(strict.parsed), alike)).groupBy(line.alias("line")).count()
    found = {row["line"]: row["count"] for row in unheard(alike, "collect")}
    if any(count != headers[known] for known, count in found.items()):
        raise UntraceableError("the header of a file comes among its records, too", remedy=_REMEDY)
    if any("\ufffd" in known for known in headers):
        raise UntraceableError("the header of a file is not in UTF-8", remedy=_REMEDY)
    return c.plan(c.frame(lines).filter(~line.isin(list(found)))) if found else lines
