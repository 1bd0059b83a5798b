"""Determinism: whether a query computes the same records each time it is executed, as far as its plan tells."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from bigdebug.errors import NondeterminismError
from bigdebug.spark.sql.catalyst import Catalyst, Expr
from bigdebug.spark.sql.reading import PlanOperator

_PLACES = {"CurrentTimeZone", "CurrentDatabase", "CurrentCatalog", "CurrentPath", "CurrentUser", "SessionUser"}
"""Expressions that ask the session, which is that of then. What Spark replaces besides, for one execution, are clocks."""

_FIRST = re.compile(r"\b(first|last|any|nth)(_value)?\(")
_ARRIVAL = re.compile(
    r"\b(collect_list|array_agg|collect_set|listagg|string_agg|mode|min_by|max_by|approx_top_k\w*|kll_\w+"
    r"|percentile_approx|approx_percentile|histogram_numeric|hll_sketch_agg|theta_\w+)\("
)
"""How functions are written whose value depends on the order in which rows arrive; those of the first in the order that there is."""

_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|`(?:[^`]|``)*`")
"""Text and names, in which anything may be written."""

_SETTLE = "Capture the action with strategy='inject', or put df.localCheckpoint() there: a trace ends at it."

_INJECT = "Capture the action with strategy='inject': then what it drew is kept with it."

_MADE = {"Aggregate": "aggregateExpressions", "Project": "projectList", "Window": "windowExpressions"}
"""Where operators have the expressions of their new columns."""

_ORDERED = {"Project", "Filter", "ResolvedHint"}
"""Operators that leave the order of their input as it is."""

_DECIDING = {"Filter", "Join", "AsOfJoin", "Sort", "Window", "Generate", "Expand"}


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
        check_decisions(catalyst, operator, _asked(catalyst, operator), unsettled)
        _spread(catalyst, operator, arrival, unsettled)
    return frozenset(unsettled)


def _by_arrival(catalyst: Catalyst, operator: PlanOperator) -> bool:
    """Whether an aggregate depends on the order in which rows arrive; Spark 4.3 takes it for deterministic."""
    if operator.name not in ("Aggregate", "Window"):
        return False
    return any(_arrives(operator, column) for column in catalyst.items(getattr(operator.node, _MADE[operator.name])()))


def _arrives(operator: PlanOperator, column: Expr) -> bool:
    """Whether a column of an aggregate or a window is made by such a function; ties of a window's order, ``peers.py`` looks for."""
    ordered = operator.name == "Window" and not operator.node.orderSpec().isEmpty()
    said = _QUOTED.sub("", column.sql())
    return bool(_ARRIVAL.search(said) or (not ordered and _FIRST.search(said)))


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


def arriving(catalyst: Catalyst, root: PlanOperator) -> list[PlanOperator]:
    """The aggregates that depend on the order in which rows arrive, if anything hangs on it: the row that dropDuplicates() keeps."""
    try:
        check_expressions(catalyst, root)
        return []
    except NondeterminismError:
        return [operator for operator in root if operator.name == "Aggregate" and _by_arrival(catalyst, operator)]


def _strange(catalyst: Catalyst, expressions: Iterable[Expr]) -> Iterator[Expr]:
    """The innermost expressions that are not the same each time."""
    for expression in expressions:
        inner = catalyst.children(expression)
        if not inner and expression.nodeName() not in _PLACES and catalyst.asks_clock(expression):
            yield expression
        elif not expression.deterministic() or catalyst.asks_clock(expression):
            found = list(_strange(catalyst, inner))
            if found:
                yield from found
            elif not expression.deterministic() and not catalyst.is_subquery(expression):  # whose operators are checked by themselves
                yield expression


_AGGREGATE = "org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction"
"""Those that are not the same each time depend on the order in which rows arrive."""


def check_decisions(catalyst: Catalyst, operator: PlanOperator, expressions: Iterable[Expr], unsettled: Collection[int]) -> None:
    """Raise NondeterminismError if what expressions decide depends on the order in which rows arrived."""
    if not unsettled:
        return
    for attribute in (a for expression in expressions for a in _taken(catalyst, operator, expression)):
        if attribute.exprId().id() in unsettled:
            raise NondeterminismError(
                f"{operator} decides by {attribute.name()}, which depends on the order in which rows arrived", remedy=_SETTLE,
            )


class Deciding(NamedTuple):
    """Operators whose rows, or the number of them, hang on the values of some columns, and all columns that do."""

    operators: tuple[PlanOperator, ...]
    columns: frozenset[int]


def deciding_by(catalyst: Catalyst, root: PlanOperator, columns: Collection[int]) -> Deciding:
    """What hangs on the values of these columns of a query."""
    found, hanging = [], set(columns)
    for operator in root:
        # An order alone decides nothing about rows; with a limit above, it does.
        chooses = sorting(operator) if operator.name == "Limit" else None if operator.name == "Sort" else operator
        if chooses and any(a.exprId().id() in hanging for e in _asked(catalyst, chooses) for a in _taken(catalyst, chooses, e)):
            found.append(operator)
        if operator.inputs:
            _spread(catalyst, operator, False, hanging)
    return Deciding(tuple(found), frozenset(hanging))


def _asked(catalyst: Catalyst, operator: PlanOperator) -> list[Expr]:
    """The expressions by which an operator decides what rows it gives, or in what order."""
    if operator.name == "Aggregate":
        return catalyst.items(operator.node.groupingExpressions())
    return catalyst.items(operator.node.expressions()) if operator.name in _DECIDING else []


def sorting(limit: PlanOperator) -> PlanOperator | None:
    """The sort that settles which rows a limit keeps; None if there is none."""
    below = limit.inputs[0]
    while below.name in _ORDERED:
        below = below.inputs[0]
    return below if below.name == "Sort" and getattr(below.node, "global")() else None


def _taken(catalyst: Catalyst, operator: PlanOperator, expression: Expr) -> list[Expr]:
    """The columns that an expression of an operator is computed from; all of its subqueries' if it asks one."""
    asked = operator.subqueries if catalyst.asks_plan(expression) else ()
    return [*catalyst.items(expression.references().toSeq()), *(a for subquery in asked for a in catalyst.items(subquery.node.output()))]


def _spread(catalyst: Catalyst, operator: PlanOperator, arrival: bool, unsettled: set[int]) -> None:
    """Mark the columns of an operator that depend on the order of arrival."""
    if not arrival and not unsettled:
        return

    def depends(expression: Expr) -> bool:
        return any(a.exprId().id() in unsettled for a in _taken(catalyst, operator, expression))

    node = operator.node
    if operator.name in _MADE:
        columns = catalyst.items(getattr(node, _MADE[operator.name])())
        found = [c for c in columns if depends(c) or (arrival and (not c.deterministic() or _arrives(operator, c)))]
    elif operator.name in ("Union", "Expand"):  # columns by their places
        rows = [child.node.output() for child in operator.inputs] if operator.name == "Union" else catalyst.items(node.projections())
        found = [
            column for column, *taken in zip(catalyst.items(node.output()), *map(catalyst.items, rows)) if any(map(depends, taken))
        ]
    else:  # new columns may be made of any
        known = {a.exprId().id() for child in operator.inputs for a in catalyst.items(child.node.output())}
        found = [] if known.isdisjoint(unsettled) else [a for a in catalyst.items(node.output()) if a.exprId().id() not in known]
    unsettled.update(column.exprId().id() for column in found)
