"""Grouped: what is computed of the values that groups of rows have, in aggregates, and frames of rows, in windows."""

from __future__ import annotations

from bigdebug.spark.sql.crashes.overflow import Small, guarded, is_small
from bigdebug.spark.sql.crashes.trials import Trial, clean, rowwise, tamed
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.rewriting import from_below

_VALUES = {"Aggregate": "AggregateExpression", "Window": "WindowExpression"}
"""Nodes, and the expressions in them that take many rows."""


class Values:
    """The values that a node computes of many rows, a column each, and what it gives as expressions over these columns."""

    def __init__(self, catalyst: Catalyst, node: Node, small: Small = is_small) -> None:
        self._catalyst = catalyst
        self._node = node
        self._small = small
        self._below = catalyst.children(node)[0]
        self._known: dict[str, Expr] = {}
        self._columns: list[Expr] = []
        given = node.aggregateExpressions() if node.nodeName() == "Aggregate" else node.windowExpressions()
        self.results = [from_below(catalyst, expression, self._value) for expression in catalyst.items(given)]

    def _value(self, expression: Expr) -> Expr:
        if expression.nodeName() != _VALUES[self._node.nodeName()]:
            return expression
        text = str(expression.toString())
        if text not in self._known:
            self._known[text] = self._checked(expression)
        return self._known[text]

    def _checked(self, expression: Expr) -> Expr:
        """A value, which throws where its group, or frame, did."""
        c = self._catalyst
        windowed = expression.nodeName() == "WindowExpression"
        aggregate = c.children(expression)[0] if windowed else expression
        known = guarded(c, aggregate, self._below, self._small) if aggregate.nodeName() == "AggregateExpression" else None
        name = str(aggregate.sql())[:80]
        if known is None:
            return self._column(expression, name)
        parts = [c.with_children(expression, [part, c.children(expression)[1]]) if windowed else part for part in known[:2]]
        return known.value(c, *map(self._column, parts, (name, "has values")))

    def _column(self, expression: Expr, name: str) -> Expr:
        self._columns.append(self._catalyst.alias(expression, name))
        return self._columns[-1].toAttribute()

    @property
    def rows(self) -> Node:
        """A row for each group, or for each row that has a frame, with its values."""
        c, node = self._catalyst, self._node
        if node.nodeName() == "Window":
            return c.with_arguments(node, {"windowExpressions": c.seq(self._columns)})
        keys = [key for key in c.items(node.groupingExpressions()) if key.nodeName() == "AttributeReference"]
        return c.aggregated(node, [*keys, *self._columns])

    @property
    def output(self) -> list[Expr]:
        """What the node gives, of the columns of ``rows``."""
        return [*(self._catalyst.items(self._below.output()) if self._node.nodeName() == "Window" else []), *self.results]


def apart(catalyst: Catalyst, node: Node) -> Node | None:
    """An aggregate that computes something of its values, as a projection over one that gives them; None if it gives just them."""
    values = Values(catalyst, node)
    if not any(True for result in values.results for _ in rowwise(catalyst, result)):
        return None
    return catalyst.project(values.results, values.rows)


def of_values(catalyst: Catalyst, node: Node, small: Small) -> tuple[Trial, Node] | None:
    """What an aggregate, or a window, computes of its values, if that may throw, and the node over the rows on which it does not."""
    if node.nodeName() not in _VALUES:
        return None
    values = Values(catalyst, node, small)
    tried = [part for result in values.results for part in rowwise(catalyst, result)]
    if not tried:
        return None
    trial = Trial(values.rows, tried, None)
    left, drawn = clean(catalyst, trial)
    return trial, catalyst.project([tamed(catalyst, result, drawn) for result in values.output], left)
