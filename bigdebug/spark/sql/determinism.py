"""Determinism: whether a query computes the same records each time it is executed, as far as its plan tells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from bigdebug.errors import NondeterminismError
from bigdebug.spark.sql.catalyst import Catalyst, Expr
from bigdebug.spark.sql.reading import PlanOperator

_CLOCKS = {"CurrentTimestamp", "CurrentDate", "CurrentTime", "Now", "LocalTimestamp", "CurrentBatchTimestamp"}
"""Expressions that Spark takes for deterministic, since they are constants within one execution."""

_ARRIVAL = re.compile(r"\b(first|last|any_value|collect_list|array_agg|collect_set|listagg|string_agg|mode|min_by|max_by)\(")
"""How such functions are written."""

_INJECT = "Capture the action with strategy='inject': then what it drew is kept with it."

_DECIDING = {"Filter", "Join", "Sort", "Window", "Generate", "Expand"}


def check_expressions(catalyst: Catalyst, operators: Iterable[PlanOperator]) -> frozenset[int]:
    """Raise NondeterminismError for what draws or asks a clock, and for decisions by what the order of arrival made.

    Gives the ids of the columns that depend on that order.

    A list, or the first of a group, that another execution gives in another order is no harm as long as nothing hangs on it:
    the group's rows are the same.
    """
    unsettled: set[int] = set()
    operators = list(operators)
    suspect = any(not o.node.deterministic() or catalyst.asks_clock(o.node) or _by_arrival(catalyst, o) for o in operators)
    for operator in operators:
        node = operator.node
        if operator.draws:
            continue
        if operator.name == "Sample":
            raise NondeterminismError(
                f"{operator} draws by the position of each row, and positions differ between executions", remedy=_INJECT,
            )
        if operator.name == "Window" and node.orderSpec().isEmpty() and _numbers(catalyst, operator):
            raise NondeterminismError(
                f"{operator} numbers rows that come in no order: Spark makes it of a LIMIT in a correlated subquery whose ORDER BY is "
                "about columns that it does not select", remedy="Let the subquery select what it orders by.",
            )
        if not operator.inputs or not suspect:
            continue
        expressions = catalyst.items(node.expressions())
        arrival = _by_arrival(catalyst, operator)
        for expression in _strange(catalyst, expressions):
            if not catalyst.is_a(expression, _AGGREGATE):
                raise NondeterminismError(
                    f"{operator} computes {expression.sql()}, which another execution would compute otherwise", remedy=_INJECT,
                )
            arrival = True
        if operator.name in _DECIDING or operator.name == "Aggregate":
            asked = catalyst.items(node.groupingExpressions()) if operator.name == "Aggregate" else expressions
            _check_decisions(catalyst, operator, asked, unsettled)
        _spread(catalyst, operator, arrival, unsettled)
    return frozenset(unsettled)


def _by_arrival(catalyst: Catalyst, operator: PlanOperator) -> bool:
    """Whether an aggregate depends on the order in which rows arrive; Spark 4.3 takes it for deterministic."""
    made = {"Aggregate": "aggregateExpressions", "Window": "windowExpressions"}.get(operator.name)
    return made is not None and any(_ARRIVAL.search(column.sql()) for column in catalyst.items(getattr(operator.node, made)()))


def _numbers(catalyst: Catalyst, window: PlanOperator) -> bool:
    """Whether a window numbers rows."""
    functions = [column.child().windowFunction() for column in catalyst.items(window.node.windowExpressions())]
    return any(function.nodeName() == "RowNumber" for function in functions)


def drawing(catalyst: Catalyst, root: PlanOperator, limits: bool) -> list[PlanOperator]:
    """The operators that draw or ask a clock, from the sources on; also all limits, if asked for."""
    found = []
    for operator in root:
        if operator.name == "Sample" or (limits and operator.name == "Limit"):
            found.append(operator)
        elif operator.inputs and (not operator.node.deterministic() or catalyst.asks_clock(operator.node)):
            strange = _strange(catalyst, catalyst.items(operator.node.expressions()))
            if any(not catalyst.is_a(e, _AGGREGATE) for e in strange):
                found.append(operator)
    return found


def _strange(catalyst: Catalyst, expressions: Iterable[Expr]) -> Iterator[Expr]:
    """The innermost expressions that are not the same each time."""
    for expression in expressions:
        if expression.nodeName() in _CLOCKS:
            yield expression
        elif not expression.deterministic() or catalyst.asks_clock(expression):
            inner = catalyst.children(expression)
            found = list(_strange(catalyst, inner))
            if found:
                yield from found
            elif not expression.deterministic() and not catalyst.is_a(expression, _PLAN):
                yield expression


_AGGREGATE = "org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction"
"""Those that are not the same each time depend on the order in which rows arrive."""

_PLAN = "org.apache.spark.sql.catalyst.expressions.SubqueryExpression"
"""Its own operators are read, and checked, by themselves."""


def _check_decisions(catalyst: Catalyst, operator: PlanOperator, expressions: Iterable[Expr], unsettled: set[int]) -> None:
    if not unsettled:
        return
    for expression in expressions:
        for attribute in catalyst.items(expression.references().toSeq()):
            if attribute.exprId().id() in unsettled:
                raise NondeterminismError(
                    f"{operator} decides by {attribute.name()}, which depends on the order in which rows arrived", remedy=_INJECT,
                )


def _spread(catalyst: Catalyst, operator: PlanOperator, arrival: bool, unsettled: set[int]) -> None:
    """Mark the columns of an operator that depend on the order of arrival."""
    if not arrival and not unsettled:
        return
    made = {"Aggregate": "aggregateExpressions", "Project": "projectList", "Window": "windowExpressions"}.get(operator.name)
    if made is None:
        return
    for column in catalyst.items(getattr(operator.node, made)()):
        taken = any(a.exprId().id() in unsettled for a in catalyst.items(column.references().toSeq()))
        if taken or (arrival and (not column.deterministic() or _ARRIVAL.search(column.sql()))):
            unsettled.add(column.exprId().id())
