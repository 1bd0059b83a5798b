"""Rows by name: rows of a result in the driver, each with its name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pyspark.sql import Row

from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.spark.sql.plans.catalyst import bounded
from bigdebug.spark.sql.plans.expressions import Expr
from bigdebug.trace.names import Names, array_of


class NamedRows(NamedTuple):
    """``rows``, their ``names`` in the same order, and the values of columns that were computed besides."""

    names: Names
    rows: list[Row]
    more: list[list[Any]]


def rows_by_name(trace: LineageFrame, names: Names, more: Sequence[Expr] = ()) -> NamedRows:
    """The rows of a result with some names, all if None; equal ones that were made at once have one name. One job: what it gives is read twice.

    Raises TooLargeError for more than Spark lets the driver take.
    """
    questions, subject = trace.run.questions, trace.run.subject
    c = questions.catalyst
    plan, name = questions.steps().rows(subject, names)
    columns = c.items(questions.root.node.output())
    called = c.alias(name, "__bigdebug_name")
    computed = [c.alias(each, f"__bigdebug_more_{i}") for i, each in enumerate(more)]
    chosen = c.project([*columns, called, *computed], plan)
    with bounded():
        held = c.local(chosen, c.held(c.frame(chosen)))
        table = c.table(held, {"name": called.toAttribute()} | {f"m{i}": each.toAttribute() for i, each in enumerate(computed)})
        rows = unheard(c.frame(c.project([c.alias(column, f"c{i}") for i, column in enumerate(columns)], held)), "collect")
    made = Row(*(column.name() for column in columns))
    return NamedRows(array_of(table["name"]), [made(*row) for row in rows], [table[f"m{i}"].to_pylist() for i in range(len(computed))])
