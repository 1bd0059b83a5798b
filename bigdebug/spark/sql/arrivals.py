"""Arrivals: which columns of a query depend on the order in which rows arrive, and what hangs on the values of columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from bigdebug.spark.sql.catalyst import Catalyst, Expr
from bigdebug.spark.sql.frames import ends_at_rows
from bigdebug.spark.sql.kinds import equal_by_bits, has_floating
from bigdebug.spark.sql.reading import PlanOperator

_FIRST = re.compile(r"\b(first|last|any_value|(first|last|nth)_value)\(")
_ARRIVAL = re.compile(
    r"\b(collect_list|array_agg|collect_set|collect_union|listagg|string_agg|mode|min_by|max_by|approx_top_k\w*"
    r"|percentile_approx|approx_percentile|histogram_numeric|(hll|kll|theta|tuple)_\w*agg\w*)\("
)
"""How functions are written whose value depends on the order in which rows arrive; those of the first in the order that there is."""

_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|`(?:[^`]|``)*`")
"""Text and names, in which anything may be written."""

_COLLECTING = {"CollectList", "CollectSet"}
"""Functions that give all values of a group: in any order, but all of them."""

_ORDERLESS = {"Size", "ArrayContains", "ArrayMin", "ArrayMax", "SortArray", "Explode", "Inline"}
"""Expressions that give the same, or the same rows, in whatever order the elements of their first argument are."""

_MADE = {"Aggregate": "aggregateExpressions", "Project": "projectList", "Window": "windowExpressions"}
"""Where operators have the expressions of their new columns."""


@dataclass
class Unsettled:
    """Columns, by id, that another execution may give otherwise; of those in ``orders`` only the order of the elements."""

    columns: set[int] = field(default_factory=set)
    orders: set[int] = field(default_factory=set)

    def taken(self, catalyst: Catalyst, operator: PlanOperator, expression: Expr) -> Iterator[Expr]:
        """The columns of these that the value of an expression of an operator hangs on; those of its subqueries if it asks one."""
        if catalyst.asks_plan(expression):
            outputs = (a for subquery in operator.subqueries for a in catalyst.items(subquery.node.output()))
            yield from (a for a in outputs if a.exprId().id() in self.columns)
        yield from self._within(catalyst, expression)

    def _within(self, catalyst: Catalyst, expression: Expr) -> Iterator[Expr]:
        found = [a for a in catalyst.items(expression.references().toSeq()) if a.exprId().id() in self.columns]
        if not found or self.orders.isdisjoint(a.exprId().id() for a in found):
            yield from found
            return
        inner = catalyst.children(expression)
        if expression.nodeName() in _ORDERLESS and inner[0].nodeName() == "AttributeReference" and inner[0].exprId().id() in self.orders:
            inner = inner[1:]
        elif not inner:
            yield from found
        for part in inner:
            yield from self._within(catalyst, part)

    def spread(self, catalyst: Catalyst, operator: PlanOperator, arrival: bool) -> None:
        """Add the columns that an operator makes of these, and with ``arrival`` those that show the order of arrival."""
        if not arrival and not self.columns:
            return

        def depends(expression: Expr) -> bool:
            return next(self.taken(catalyst, operator, expression), None) is not None

        node = operator.node
        if operator.name in _MADE:
            columns = made(catalyst, operator)
            found = [c for c in columns if depends(c) or (arrival and _shows(catalyst, operator, c))]
            orders = [c for c in found if self._reorders(catalyst, c, depends)]
            self.orders.update(column.exprId().id() for column in orders)
        elif operator.name in ("Union", "Expand"):  # columns by their places
            rows = [child.node.output() for child in operator.inputs] if operator.name == "Union" else catalyst.items(node.projections())
            found = [
                column for column, *taken in zip(catalyst.items(node.output()), *map(catalyst.items, rows)) if any(map(depends, taken))
            ]
        elif operator.name == "Generate":
            found = catalyst.items(node.generatorOutput()) if depends(node.generator()) else []
        else:  # new columns may be made of any
            known = {a.exprId().id() for child in operator.inputs for a in catalyst.items(child.node.output())}
            found = [] if known.isdisjoint(self.columns) else [a for a in catalyst.items(node.output()) if a.exprId().id() not in known]
        self.columns.update(column.exprId().id() for column in found)

    def _reorders(self, catalyst: Catalyst, column: Expr, depends: Callable[[Expr], bool]) -> bool:
        """Whether a column holds settled elements in an unsettled order: those of a group, or of another such column."""
        value = column.child() if column.nodeName() == "Alias" else column
        if value.nodeName() == "AttributeReference":
            return value.exprId().id() in self.orders
        return _collects(value) and not depends(value)


def made(catalyst: Catalyst, operator: PlanOperator) -> list[Expr]:
    """The expressions of the columns that an aggregate, a window or a projection makes, or leaves as they are."""
    return catalyst.items(getattr(operator.node, _MADE[operator.name])())


def by_arrival(catalyst: Catalyst, operator: PlanOperator) -> bool:
    """Whether an aggregate, or a window, shows the order in which rows arrive; ties of a window's order, ``peers.py`` looks for."""
    return operator.name in ("Aggregate", "Window") and any(_shows(catalyst, operator, column) for column in made(catalyst, operator))


def _shows(catalyst: Catalyst, operator: PlanOperator, expression: Expr) -> bool:
    """Whether the value of an expression of such an operator shows it."""
    ordered = operator.name == "Window" and not operator.node.orderSpec().isEmpty()
    if expression.nodeName() == "Alias":
        return _shows(catalyst, operator, expression.child())
    if expression.nodeName() == "WindowExpression" and not ordered and ends_at_rows(expression.windowSpec().frameSpecification()):
        return True
    patterns = [_ARRIVAL] if ordered else [_ARRIVAL, _FIRST]
    said = _QUOTED.sub("", expression.sql())
    if expression.deterministic() and not any(pattern.search(said) for pattern in patterns):
        return False
    inner = catalyst.children(expression)
    if _orders(catalyst, expression):
        return False
    if expression.nodeName() in _ORDERLESS and _collects(inner[0]):
        inner = inner[1:]
    elif any(pattern.match(said) for pattern in patterns) or (expression.nodeName() == "AggregateExpression" and not expression.deterministic()):
        return True
    return any(_shows(catalyst, operator, part) for part in inner)


def _orders(catalyst: Catalyst, expression: Expr) -> bool:
    """Whether an aggregate takes values in an order of its own (WITHIN GROUP) that tells apart all that it shows of them."""
    if expression.nodeName() != "AggregateExpression":
        return False
    function = expression.aggregateFunction()
    if function.nodeName() == "Mode":
        return function.reverseOpt().isDefined() and equal_by_bits(function.dataType().sql())
    if function.nodeName() != "ListAgg":
        return False
    keys = [order.child() for order in catalyst.items(function.orderExpressions())]
    told = {key.exprId().id() for key in keys if key.nodeName() == "AttributeReference" and equal_by_bits(key.dataType().sql())}
    shown = function.child()
    return bool(shown.deterministic()) and told.issuperset(a.exprId().id() for a in catalyst.items(shown.references().toSeq()))


def _collects(expression: Expr) -> bool:
    return expression.nodeName() == "AggregateExpression" and expression.aggregateFunction().nodeName() in _COLLECTING


def inexact(catalyst: Catalyst, operators: Iterable[PlanOperator]) -> frozenset[int]:
    """The ids of the columns that hang on sums of floating point, which come out a little otherwise in another order."""
    operators = list(operators)
    computed = [c for o in operators if o.name in ("Aggregate", "Window") for c in made(catalyst, o) if c.nodeName() != "AttributeReference"]
    found = Unsettled({c.exprId().id() for c in computed if has_floating(c.dataType().sql())})
    for operator in operators:
        if operator.inputs:
            found.spread(catalyst, operator, arrival=False)
    return frozenset(found.columns)
