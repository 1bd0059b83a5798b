"""Arrivals: which columns of a query depend on the order in which rows arrive, and what hangs on the values of columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr
from bigdebug.spark.sql.plans.frames import ends_at_rows
from bigdebug.spark.sql.plans.kinds import equal_by_bits, has_floating, is_collated
from bigdebug.spark.sql.plans.reading import PlanOperator

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

_COMPARING = {
    "EqualTo", "EqualNullSafe", "LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual", "In", "InSet", "IsNull", "IsNotNull", "SortOrder",
    "Rank", "DenseRank", "PercentRank",
}
"""Expressions that give the same of values that are equal."""

_CHOOSING = {"Min", "Max"}
"""Functions that give one of several equal values. (Which zero, 0.0 or -0.0, they give of both is not told.)"""

_MADE = {"Aggregate": "aggregateExpressions", "Project": "projectList", "Window": "windowExpressions"}
"""Where operators have the expressions of their new columns."""


@dataclass
class Unsettled:
    """Columns, by id, that another execution may give otherwise; of those in ``orders`` only the order of the elements, and of those
    in ``alike`` only which of several values that are equal: 'a' or 'A', where a collation says so.
    """

    columns: set[int] = field(default_factory=set)
    orders: set[int] = field(default_factory=set)
    alike: set[int] = field(default_factory=set)

    def taken(self, catalyst: Catalyst, operator: PlanOperator, expression: Expr) -> Iterator[Expr]:
        """The columns of these that the value of an expression of an operator hangs on; those of its subqueries if it asks one."""
        if catalyst.asks_plan(expression):
            outputs = (a for subquery in operator.subqueries for a in catalyst.items(subquery.node.output()))
            yield from (a for a in outputs if a.exprId().id() in self.columns)
        yield from self._within(catalyst, expression)

    def deciding(self, catalyst: Catalyst, operator: PlanOperator, expression: Expr) -> Iterator[Expr]:
        """As ``taken``, of what only decides by a value, as grouping does: values that are equal decide the same."""
        return iter(()) if _is_one_of(expression, self.alike) else self.taken(catalyst, operator, expression)

    def _within(self, catalyst: Catalyst, expression: Expr) -> Iterator[Expr]:
        found = [a for a in catalyst.items(expression.references().toSeq()) if a.exprId().id() in self.columns]
        if not found or (self.orders | self.alike).isdisjoint(a.exprId().id() for a in found):
            yield from found
            return
        inner = catalyst.children(expression)
        if expression.nodeName() in _ORDERLESS and _is_one_of(inner[0], self.orders):
            inner = inner[1:]
        elif expression.nodeName() in _COMPARING:
            inner = [part for part in inner if not _is_one_of(part, self.alike)]
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
            showing = set(_showing(catalyst, operator)) if arrival else set()
            columns = list(enumerate(made(catalyst, operator)))
            found = [c for i, c in columns if i in showing or depends(c)]
            self.orders.update(c.exprId().id() for c in found if self._reorders(catalyst, c, depends))
            self.alike.update(c.exprId().id() for c in found if self._stays_equal(catalyst, operator, c, depends))
        elif operator.name in ("Union", "Expand"):
            found = [column for column, *taken in by_places(catalyst, operator, operator.inputs) if any(map(depends, taken))]
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

    def _stays_equal(self, catalyst: Catalyst, operator: PlanOperator, column: Expr, depends: Callable[[Expr], bool]) -> bool:
        """Whether a column holds one of several equal values: a key of groups, the least or the greatest of them, or another such column."""
        value = column.child() if column.nodeName() == "Alias" else column
        if _is_one_of(value, self.alike):
            return True
        if _chooses(value):
            taken = catalyst.children(value.aggregateFunction())[0]
            return _is_one_of(taken, self.alike) or not depends(taken)
        return not depends(value) and any(value.semanticEquals(key) for key in _keys(catalyst, operator))


def _is_one_of(expression: Expr, columns: set[int]) -> bool:
    return expression.nodeName() == "AttributeReference" and expression.exprId().id() in columns


def _chooses(expression: Expr) -> bool:
    """Whether an aggregate gives one of several values that are equal and not the same."""
    return (
        expression.nodeName() == "AggregateExpression" and expression.aggregateFunction().nodeName() in _CHOOSING
        and is_collated(expression.dataType().sql())
    )


def _keys(catalyst: Catalyst, operator: PlanOperator) -> list[Expr]:
    """The keys of an aggregate's groups of which a group may have several that are equal and not the same."""
    if operator.name != "Aggregate":
        return []
    return [key for key in catalyst.items(operator.node.groupingExpressions()) if is_collated(key.dataType().sql())]


def made(catalyst: Catalyst, operator: PlanOperator) -> list[Expr]:
    """The expressions of the columns that an aggregate, a window or a projection makes, or leaves as they are."""
    return catalyst.items(getattr(operator.node, _MADE[operator.name])())


def by_places(catalyst: Catalyst, operator: PlanOperator, inputs: Iterable[PlanOperator]) -> Iterator[tuple[Expr, ...]]:
    """Each column of a union, or of what gives a row several times, with what stands at its place in these inputs, or in each of these times."""
    rows = [child.node.output() for child in inputs] if operator.name == "Union" else catalyst.items(operator.node.projections())
    return zip(catalyst.items(operator.node.output()), *map(catalyst.items, rows))


def by_arrival(catalyst: Catalyst, operator: PlanOperator) -> bool:
    """Whether an aggregate, or a window, shows the order in which rows arrive; ties of a window's order, ``peers.py`` looks for."""
    return operator.name in ("Aggregate", "Window") and next(_showing(catalyst, operator), None) is not None


def _showing(catalyst: Catalyst, operator: PlanOperator) -> Iterator[int]:
    """Which columns of such an operator show it, by their places."""
    columns = made(catalyst, operator)
    picking = _collates(operator)
    keys = _keys(catalyst, operator) if picking else []
    for i, column in enumerate(columns):
        if _shows(catalyst, operator, column) or (picking and _picks(catalyst, keys, column)):
            yield i


def _collates(operator: PlanOperator) -> bool:
    """Whether collations may be asked what is equal: so it is written."""
    node = operator.node
    return any(is_collated(written.upper()) for written in (node.child().schema().sql(), node.simpleString(10_000)))


def _picks(catalyst: Catalyst, keys: Sequence[Expr], expression: Expr) -> bool:
    """Whether an expression takes one of several values that are equal and not the same, as the least of them or as a group's key."""
    if _chooses(expression) or any(expression.semanticEquals(key) for key in keys):
        return True
    # What a function aggregates are the values of the rows themselves.
    return expression.nodeName() != "AggregateExpression" and any(_picks(catalyst, keys, part) for part in catalyst.children(expression))


def _shows(catalyst: Catalyst, operator: PlanOperator, expression: Expr) -> bool:
    """Whether the value of an expression of such an operator shows it by a function of order."""
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
    return (
        expression.nodeName() == "AggregateExpression" and expression.aggregateFunction().nodeName() in _COLLECTING
        and not is_collated(expression.dataType().sql())
    )


def inexact(catalyst: Catalyst, operators: Iterable[PlanOperator]) -> frozenset[int]:
    """The ids of the columns that hang on sums of floating point, which come out a little otherwise in another order."""
    operators = list(operators)
    computed = [c for o in operators if o.name in ("Aggregate", "Window") for c in made(catalyst, o) if c.nodeName() != "AttributeReference"]
    found = Unsettled({c.exprId().id() for c in computed if has_floating(c.dataType().sql())})
    for operator in operators:
        if operator.inputs:
            found.spread(catalyst, operator, arrival=False)
    return frozenset(found.columns)
