"""Malformed records: what a reader takes for one depends on the columns that a job reads, and questions read others than the query."""

from __future__ import annotations

from bigdebug.errors import UntraceableError
from bigdebug.spark.sql.formats import PARSED, corrupt_column, format_of, option, reader_of
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.reading import PlanOperator

_CHECKPOINT = "Put spark.read...localCheckpoint() in its place: a trace ends there, at the records that were read."


def check_malformed(catalyst: Catalyst, root: PlanOperator) -> None:
    """Raise UntraceableError if a query drops malformed records, or asks which they are."""
    asked: set[int] | None = None
    for operator in root:
        if (reader := reader_of(operator.node)) is None:
            continue
        if option(reader, "mode").upper() == "DROPMALFORMED":
            raise UntraceableError(
                f"{operator} drops malformed records (mode DROPMALFORMED), and which these are depends on the columns that a job reads",
                remedy=_CHECKPOINT,
            )
        if format_of(reader) not in PARSED:
            continue
        called = corrupt_column(catalyst, reader)
        marks = {a.exprId().id() for a in catalyst.items(operator.node.output()) if a.name().lower() == called.lower()}
        if marks and asked is None:
            asked = _asked(catalyst, root)
        if marks & (asked or set()):
            raise UntraceableError(
                f"The query asks {operator} for {called}, which records are malformed, and that depends on the columns that a job reads",
                remedy=_CHECKPOINT,
            )


def _asked(catalyst: Catalyst, root: PlanOperator) -> set[int]:
    """The ids of the columns that a query makes use of, or gives."""
    found = {a.exprId().id() for a in catalyst.items(root.node.output())}
    for operator in root:
        for expression in catalyst.expressions(operator.node) if operator.inputs else ():
            found.update(a.exprId().id() for a in catalyst.items(expression.references().toSeq()))
    return found
