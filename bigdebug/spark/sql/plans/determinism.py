"""Determinism: whether a query computes the same records each time it is executed, as far as its plan tells."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from bigdebug.errors import NondeterminismError
from bigdebug.spark.sql.plans.arrivals import Unsettled, by_arrival
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr
from bigdebug.spark.sql.plans.guarding import has_guard
from bigdebug.spark.sql.plans.reading import PlanOperator

_PLACES = {"CurrentTimeZone", "CurrentDatabase", "CurrentCatalog", "CurrentPath", "CurrentUser", "SessionUser"}
"""Expressions that ask the session, which is that of then. What Spark replaces besides, for one execution, are clocks."""

_SETTLE = "Capture the action with strategy='inject', or put df.localCheckpoint() there: a trace ends at it."

_CHOOSE = "Choose by columns that do not, or by a whole Row of the result."

_INJECT = "Capture the action with strategy='inject': then what it drew is kept with it."

_ORDERED = {"Project", "Filter", "ResolvedHint"}
"""Operators that leave the order of their input as it is."""

_DECIDING = {"Filter", "Join", "AsOfJoin", "Sort", "Window", "Generate"}


def check_expressions(catalyst: Catalyst, operators: Iterable[PlanOperator]) -> Unsettled:
    """Raise NondeterminismError for what draws or asks a clock, and for decisions by what the order of arrival made.

    Gives the columns that depend on that order.

    A list, or the first of a group, that another execution gives in another order is no harm as long as nothing hangs on it:
    the group's rows are the same.
    """
    unsettled = Unsettled()
    operators = list(operators)
    showing = {o.id for o in operators if by_arrival(catalyst, o)}
    suspect = bool(showing) or any(not o.node.deterministic() or catalyst.asks_clock(o.node) for o in operators)
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
                f"{operator} numbers rows that come in no order: Spark makes it of a LIMIT or OFFSET in a correlated subquery with no ORDER "
                "BY, or with one about columns that it does not select", remedy="Let the subquery order its rows by what it selects.",
            )
        if not operator.inputs or not suspect:
            continue
        arrival = operator.id in showing
        for expression in _strange(catalyst, operator):
            if not catalyst.is_a(expression, _AGGREGATE):
                raise NondeterminismError(
                    f"{operator} computes {expression.sql()}, which another execution would compute otherwise", remedy=_INJECT,
                )
            arrival = True
        check_decisions(catalyst, operator, _asked(catalyst, operator), unsettled)
        unsettled.spread(catalyst, operator, arrival)
    return unsettled


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
            continue
        if not operator.inputs or (operator.node.deterministic() and not catalyst.asks_clock(operator.node)):
            continue
        if any(not catalyst.is_a(e, _AGGREGATE) for e in _strange(catalyst, operator)):
            found.append(operator)
    return found


def arriving(catalyst: Catalyst, root: PlanOperator) -> list[PlanOperator]:
    """What depends on the order in which rows arrive, if anything hangs on it: the row that dropDuplicates() keeps."""
    try:
        check_expressions(catalyst, root)
        return []
    except NondeterminismError:
        return [operator for operator in root if by_arrival(catalyst, operator)]


def _strange(catalyst: Catalyst, operator: PlanOperator) -> Iterator[Expr]:
    """What an operator computes that is not the same each time."""
    for expression in _innermost(catalyst, catalyst.expressions(operator.node)):
        if expression.nodeName() != "InputFileName" or not _right_above_files(catalyst, operator):
            yield expression


def _innermost(catalyst: Catalyst, expressions: Iterable[Expr]) -> Iterator[Expr]:
    for expression in expressions:
        inner = catalyst.children(expression)
        if not inner and expression.nodeName() not in _PLACES and catalyst.asks_clock(expression):
            yield expression
        elif not expression.deterministic() or catalyst.asks_clock(expression):
            found = list(_innermost(catalyst, inner))
            if found:
                yield from found
            elif not expression.deterministic() and not catalyst.is_subquery(expression) and not has_guard(catalyst, expression):
                # The operators of a subquery are checked by themselves.
                yield expression


def _right_above_files(catalyst: Catalyst, operator: PlanOperator) -> bool:
    """Whether an operator computes its rows while Spark has the file open that they come from."""
    while operator.name in ("Project", "Filter") and not catalyst.runs_code(operator.node):
        [operator] = operator.inputs
    return operator.name == "Relation"


_AGGREGATE = "org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction"
"""Those that are not the same each time depend on the order in which rows arrive."""


def check_decisions(
    catalyst: Catalyst, operator: PlanOperator, expressions: Iterable[Expr], unsettled: Unsettled, asked: bool = False,
) -> None:
    """Raise NondeterminismError if what expressions decide depends on the order in which rows arrived.

    The operator decides by them, or where() does if its rows are ``asked`` for.
    """
    for expression in expressions if unsettled.columns else ():
        for attribute in unsettled.deciding(catalyst, operator, expression):
            raise NondeterminismError(
                f"{'where() on ' if asked else ''}{operator} decides by {attribute.name()}, which depends on the order in which rows arrived",
                remedy=_CHOOSE if asked else _SETTLE,
            )


class Deciding(NamedTuple):
    """Operators whose rows, or the number of them, hang on the values of some columns, and all columns that do."""

    operators: tuple[PlanOperator, ...]
    columns: frozenset[int]


def deciding_by(catalyst: Catalyst, root: PlanOperator, columns: Collection[int]) -> Deciding:
    """What hangs on the values of these columns of a query."""
    found, hanging = [], Unsettled(set(columns))
    for operator in root:
        # An order alone decides nothing about rows; with a limit above, it does.
        chooses = sorting(operator) if operator.name == "Limit" else None if operator.name == "Sort" else operator
        if chooses and any(True for e in _asked(catalyst, chooses) for _ in hanging.taken(catalyst, chooses, e)):
            found.append(operator)
        if operator.inputs:
            hanging.spread(catalyst, operator, arrival=False)
    return Deciding(tuple(found), frozenset(hanging.columns))


def _asked(catalyst: Catalyst, operator: PlanOperator) -> list[Expr]:
    """The expressions by which an operator decides what rows it gives, or in what order."""
    if operator.name == "Aggregate":
        return catalyst.items(operator.node.groupingExpressions())
    return catalyst.expressions(operator.node) if operator.name in _DECIDING else []


def sorting(limit: PlanOperator) -> PlanOperator | None:
    """The sort that settles which rows a limit keeps; None if there is none."""
    below = limit.inputs[0]
    while below.name in _ORDERED:
        below = below.inputs[0]
    return below if below.name == "Sort" and getattr(below.node, "global")() else None
