"""Spellings: how the names of a result's rows are written in its own columns, if they are."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pyarrow as pa

from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.comparing import group_of
from bigdebug.spark.sql.plans.expressions import Expr
from bigdebug.spark.sql.plans.reading import PlanOperator
from bigdebug.trace.names import Names, distinct

Spelling = tuple[Any, ...]
"""The parts of a name: columns, parts of another name, or True where the one row of an aggregate needs none."""


def spelled(catalyst: Catalyst, operator: PlanOperator, levels: Collection[int]) -> Spelling | None:
    """How the name of an operator's row is written in its own columns; None if it is not, or not in them alone."""
    if operator.name == "Aggregate":
        if operator.node.groupingExpressions().isEmpty():
            return (True,)
        return _rewritten(catalyst, tuple(group_of(catalyst, operator)), operator.node.aggregateExpressions())
    if operator.name not in ("Limit", "Sort", "Project", "Filter"):
        return None
    below = spelled(catalyst, operator.inputs[0], levels)
    if below is not None and operator.name == "Project":
        below = _rewritten(catalyst, below, operator.node.projectList())
    return below if below is None or operator.id not in levels else (below,)


def _rewritten(catalyst: Catalyst, spelling: Spelling, columns: Any) -> Spelling | None:
    """A spelling in the columns that a list of expressions makes of its own."""
    made: dict[int, Expr] = {}
    for column in catalyst.items(columns):
        given = column.child() if column.nodeName() == "Alias" else column
        if given.nodeName() == "AttributeReference":
            made.setdefault(given.exprId().id(), column.toAttribute())

    def written(part: Any) -> Any:
        if isinstance(part, tuple):
            return tuple(written(inner) for inner in part)
        return part if part is True else made.get(part.exprId().id()) if part.nodeName() == "AttributeReference" else None

    found = written(spelling)
    return None if _lacks(found) else found


def _lacks(part: Any) -> bool:
    return any(map(_lacks, part)) if isinstance(part, tuple) else part is None


def names_of(spelling: Spelling, count: int, values: Callable[[int], pa.Array | None]) -> Names | None:
    """The names of ``count`` rows, of the values that they have in columns by their ids; None if those of a column are not known."""

    def written(part: Any) -> Any:
        if part is True:
            return pa.array([True] * count)
        if isinstance(part, tuple):
            fields = [written(inner) for inner in part]
            return None if any(field is None for field in fields) else pa.StructArray.from_arrays(fields, [f"_{i}" for i in range(len(fields))])
        return values(part.exprId().id())

    names = written(spelling)
    return None if names is None else distinct(names)
