"""Trials: which expressions a node of a plan computes, and on which rows, to see on which of them they throw."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from bigdebug.spark.sql.catalyst import Catalyst, Expr, Node
from bigdebug.spark.sql.rewriting import from_below, with_inputs

_ROWWISE = {"Project", "Filter", "Sort", "Expand", "Generate", "RepartitionByExpression", "Aggregate", "Window"}
"""Nodes that compute expressions on each row of their only input."""

_CERTAIN = {"AttributeReference", "Literal", "OuterReference"}
"""Expressions that give what is there."""

_PARTS = {"Alias", "SortOrder", "EqualTo", "EqualNullSafe", "PythonUDF", "PythonUDAF", "PythonUDTF", "NamedArgumentExpression"}
"""Expressions that do not throw themselves. What Python raises is not seen here (``crashing.py``)."""


class Trial(NamedTuple):
    """Expressions that are computed on each of ``rows``, which are those of one of the node's inputs, or (None) of none."""

    rows: Node
    expressions: list[Expr]
    input: int | None = 0


def trials(catalyst: Catalyst, node: Node) -> Iterator[Trial]:
    """What a node computes of the rows of its inputs, on which nothing below throws."""
    inputs = catalyst.children(node)
    if node.nodeName() in _ROWWISE:
        yield from _trial(catalyst, inputs[0], catalyst.items(node.expressions()), 0)
    elif node.nodeName() == "Join" and node.condition().isDefined():
        conjuncts = catalyst.conjuncts(node.condition().get())
        sides = [part for conjunct in conjuncts for part in _sides(catalyst, conjunct)]
        for number, side in enumerate(inputs):
            yield from _trial(catalyst, side, [part for part in sides if catalyst.is_of(part, side)], number)


def of_groups(catalyst: Catalyst, node: Node) -> tuple[Trial, Node] | None:
    """What an aggregate computes of the values of its groups, if anything, and the node over the groups on which that does not throw."""
    columns: dict[str, Expr] = {}

    def column(expression: Expr) -> Expr:
        if expression.nodeName() != "AggregateExpression":
            return expression
        text = str(expression.toString())
        if text not in columns:
            columns[text] = catalyst.alias(expression, f"_{len(columns)}")
        return columns[text].toAttribute()

    results = [from_below(catalyst, e, column) for e in catalyst.items(node.aggregateExpressions())]
    tried = [part for result in results for part in _rowwise(catalyst, result)]
    if not columns or not tried:
        return None
    keys = [key for key in catalyst.items(node.groupingExpressions()) if key.nodeName() == "AttributeReference"]
    trial = Trial(catalyst.aggregated(node, [*keys, *columns.values()]), tried, None)
    return trial, catalyst.project([tamed(catalyst, result) for result in results], clean(catalyst, trial))


def tamed(catalyst: Catalyst, expression: Expr) -> Expr:
    """The expression with NULL for what throws in it: the optimizer may compute it before the rows are gone on which it does."""
    name = expression.nodeName()
    if name in _CERTAIN or not expression.references().nonEmpty():
        return expression
    if name in _PARTS or catalyst.computes_many(expression):
        return with_inputs(catalyst, expression, lambda part: tamed(catalyst, part))
    return catalyst.try_eval(expression)


def clean(catalyst: Catalyst, trial: Trial) -> Node:
    """The rows of a trial on which nothing throws."""
    return catalyst.filter(catalyst.all_hold([catalyst.is_computed(e) for e in trial.expressions]), trial.rows)


def culpable(catalyst: Catalyst, trial: Trial) -> Node:
    """The rows of a trial on which something throws."""
    return catalyst.filter(catalyst.negated(catalyst.all_hold([catalyst.is_computed(e) for e in trial.expressions])), trial.rows)


def _trial(catalyst: Catalyst, rows: Node, expressions: list[Expr], number: int) -> Iterator[Trial]:
    found = [part for expression in expressions for part in _rowwise(catalyst, expression)]
    if found:
        yield Trial(rows, found, number)


def _sides(catalyst: Catalyst, conjunct: Expr) -> list[Expr]:
    """What a join computes of its inputs for a condition: the two keys of an equality, else the condition itself."""
    return catalyst.children(conjunct) if conjunct.nodeName() in ("EqualTo", "EqualNullSafe") else [conjunct]


def _rowwise(catalyst: Catalyst, expression: Expr) -> Iterator[Expr]:
    """The largest parts of an expression that are computed on a single row, and may throw."""
    name = expression.nodeName()
    if name in _CERTAIN or not expression.references().nonEmpty():
        return
    if name in _PARTS or catalyst.computes_many(expression):
        for part in catalyst.children(expression):
            yield from _rowwise(catalyst, part)
    else:
        yield expression
