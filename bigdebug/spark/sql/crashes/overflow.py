"""Overflow: sums and averages that leave their type. They throw inside of an aggregate, where no expression of a row does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from pyspark.sql import functions as F

from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.rewriting import from_below

_LONG, _INT = 2**63 - 1, 2**31 - 1

_SMALL = ("tinyint", "smallint", "int")
"""Types of which more than four billion rows would have to be in one group before their sum overflows."""

_DIGITS = 28
"""Of decimals with more, a sum has no type that has ten digits more."""

_DECIMAL = re.compile(r"decimal\((\d+),\d+\)")

Small = Callable[[Expr], bool]
"""Whether the values of an expression are known to be numbers as small as those of an int."""


class Guarded(NamedTuple):
    """What stands in the place of an aggregate that overflows: one that gives NULL then, and whether it was given any value.

    ``thrown`` is what it throws, as an expression that throws that.
    """

    tried: Expr
    some: Expr
    thrown: Expr

    def value(self, catalyst: Catalyst, tried: Expr, some: Expr) -> Expr:
        """The aggregate's value, of columns with these; it throws where that overflowed."""
        return catalyst.either(catalyst.all_hold([catalyst.is_null(tried), some]), self.thrown, tried)


def is_small(expression: Expr) -> bool:
    """Whether an expression is of a type of small numbers."""
    return str(expression.dataType().simpleString()) in _SMALL


def summed(catalyst: Catalyst, expression: Expr) -> Iterator[Expr]:
    """What sums in an expression add that may overflow."""
    c = catalyst
    if not c.computes_many(expression):
        return
    if expression.nodeName() == "AggregateExpression":
        function = expression.aggregateFunction()
        if _overflows(c, function, is_small):
            yield from c.children(function)
    else:
        for part in c.children(expression):
            yield from summed(c, part)


def guarded(catalyst: Catalyst, aggregate: Expr, over: Node, small: Small) -> Guarded | None:
    """A sum or an average of the rows of a plan, to be asked where it overflows; None for aggregates that do not.

    Whether numbers of both signs overflow hangs on the order in which they are added: it is told of the order that they come in now.
    """
    c, function = catalyst, aggregate.aggregateFunction()
    if not _overflows(c, function, small):
        return None
    column = c.column(c.children(function)[0])
    tried = F.try_sum(column) if function.nodeName() == "Sum" else F.try_avg(column)
    made, some = c.items(c.plan(c.frame(over).select(tried, F.bool_or(column.isNotNull()))).aggregateExpressions())
    same = {"filter": aggregate.filter()}
    return Guarded(
        c.with_arguments(c.children(made)[0], {**same, "isDistinct": aggregate.isDistinct()}),
        c.with_arguments(c.children(some)[0], same), _throwing(c, function),
    )


def _overflows(catalyst: Catalyst, function: Expr, small: Small) -> bool:
    name, kind = function.nodeName(), str(function.dataType().simpleString())
    if name not in ("Sum", "Average") or kind == "double":
        return False
    if kind.startswith("interval"):
        return True
    arguments = {function.productElementName(i): function.productElement(i) for i in range(function.productArity())}
    context = arguments.get("evalContext")  # of a sum; the mode itself before Spark 4.1
    mode = arguments["evalMode"] if context is None else context.evalMode()
    (added,) = catalyst.children(function)
    digits = _DECIMAL.fullmatch(str(added.dataType().simpleString()))
    if str(mode.toString()) != "ANSI" or (digits and int(digits[1]) <= _DIGITS):
        return False
    return not small(added)


def _throwing(catalyst: Catalyst, function: Expr) -> Expr:
    """What the function throws when it overflows: a step of its own, on values on which that overflows."""
    c = catalyst
    if not str(function.dataType().simpleString()).startswith("decimal"):
        add = _addition(c, function.updateExpressions().head())
        largest = c.constant(_INT if str(add.dataType().getClass().getSimpleName()).startswith("Year") else _LONG, add)
        return c.with_children(add, [largest, largest])
    # A sum of decimals that overflowed is NULL to its last step, and was given values.
    buffer = {a.exprId().id(): a for a in c.items(function.aggBufferAttributes())}
    given = {"sum": None, "isEmpty": False, "count": _LONG}

    def overflowed(part: Expr) -> Expr:
        if part.nodeName() != "AttributeReference" or part.exprId().id() not in buffer:
            return part
        return c.constant(given[part.name()], part)

    return from_below(c, function.evaluateExpression(), overflowed)


def _addition(catalyst: Catalyst, expression: Expr) -> Expr:
    """The addition in a step of a sum, which may take the first value for the sum."""
    while expression.nodeName() != "Add":
        expression = catalyst.children(expression)[0]
    return expression
