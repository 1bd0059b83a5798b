"""Trials: which expressions a node of a plan computes, and on which rows, to see on which of them they throw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import or_
from typing import Any, NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as F

from bigdebug.agents.guards.code import SMALL
from bigdebug.spark.gateway import remembered
from bigdebug.spark.sql.crashes.bounds import bounds, is_special
from bigdebug.spark.sql.crashes.pairs import Condition
from bigdebug.spark.sql.crashes.refused import refused
from bigdebug.spark.sql.plans.balanced import balanced
from bigdebug.spark.sql.plans.builders import is_computed, mixes, try_eval
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.rewriting import with_inputs

_BITS = SMALL.bit_length() - 1
"""Above these a small number has its sign alone."""

_ROWWISE = {"Project", "Filter", "Sort", "Expand", "Generate", "RepartitionByExpression", "Aggregate", "Window"}
"""Nodes that compute expressions on each row of their only input."""

_CERTAIN = {"AttributeReference", "Literal", "OuterReference"}
"""Expressions that give what is there."""

_PARTS = {"Alias", "SortOrder", "EqualNullSafe", "PythonUDF", "PythonUDAF", "PythonUDTF", "NamedArgumentExpression"}
"""Expressions that do not throw themselves, and compute all that they are made of. What Python raises is not seen here (``crashing.py``)."""

_TAMED = _PARTS | {"EqualTo"}
"""Expressions that are tamed in parts: an equality, which does not look at its other side where the first one is NULL, is to stay one, for joins."""

_QUIET = _CERTAIN | {
    "Alias", "SortOrder", "EqualTo", "EqualNullSafe", "LessThan", "LessThanOrEqual", "GreaterThan", "GreaterThanOrEqual", "And", "Or", "Not",
    "IsNull", "IsNotNull", "IsNaN", "Coalesce", "If", "CaseWhen", "In", "InSet", "KnownNotNull", "GetStructField", "CreateNamedStruct",
}
"""Expressions that throw where something in them does, and of themselves never: of these alone a trial would find nothing."""


class Trial(NamedTuple):
    """Expressions that are computed on each of ``rows``, which are those of one of the node's inputs, or (None) of none.

    ``first`` is the number of columns of the record, where another one that a join brought together with it comes behind it; else 0.
    ``finding`` gives the trace over what one of ``rows`` was made of, where the values in it do not tell. Of numbers that are ``sized``,
    it is also looked at whether they are small.
    """

    rows: Node
    expressions: list[Expr]
    input: int | None = 0
    first: int = 0
    finding: Callable[[Any], Any] | None = None
    sized: Sequence[Expr] = ()


class Drawn(NamedTuple):
    """What is not deterministic, and what it gave, as an expression over the rows that it was computed of."""

    expression: Expr
    value: Expr


def trials(catalyst: Catalyst, node: Node, sized: Sequence[Expr] = ()) -> Iterator[Trial]:
    """What a node computes of the rows of its inputs, on which nothing below throws."""
    inputs = catalyst.children(node)
    if catalyst.name(node) in _ROWWISE:
        yield from (trial._replace(sized=sized) for trial in _trial(catalyst, inputs[0], catalyst.expressions(node), 0))
    elif catalyst.name(node) == "Join":
        condition = Condition.of(catalyst, node)
        for number, side in enumerate(inputs):
            yield from _trial(catalyst, side, condition.of_side(catalyst, side), number)


def of_pairs(catalyst: Catalyst, node: Node) -> tuple[Trial | None, Node]:
    """What a join computes of the pairs of rows with equal keys, if that may throw, and the join in which pairs do not meet on which it does.

    A pair is looked at by itself: a semi join may find a match for a row before it comes to the pair.
    """
    condition = Condition.of(catalyst, node)
    keys = [tamed(catalyst, key) for key in condition.keys]
    if condition.not_in:
        keys = [catalyst.one_holds(key, catalyst.is_null(key)) for key in keys]
    if any(_may_throw(catalyst, other) for other in condition.others):
        left, right = catalyst.children(node)
        whole = catalyst.all_hold(condition.others)  # as Spark computes it: what comes behind what does not hold, it does not
        trial = Trial(catalyst.inner(left, right, keys), [whole], None, left.output().length())
        others = [try_eval(catalyst, whole)]
    else:
        trial, others = None, condition.others
    if not (keys or others):
        return trial, node
    return trial, catalyst.with_arguments(node, {"condition": catalyst.some(catalyst.all_hold([*keys, *others]))})


def tamed(catalyst: Catalyst, expression: Expr, drawn: Sequence[Drawn] = ()) -> Expr:
    """The expression with NULL for what throws in it: the optimizer may compute it before the rows are gone on which it does. What was ``drawn`` is read.

    What is not deterministic, and was not drawn, stays as it is. Spark computes it where it stands, and what throws there then is not to become NULL.
    """
    if not _may_throw(catalyst, expression):
        return expression
    for known in drawn:
        if expression.equals(known.expression):
            return known.value
    if catalyst.name(expression) in _TAMED or catalyst.computes_many(expression):
        return with_inputs(catalyst, expression, lambda part: tamed(catalyst, part, drawn))
    return try_eval(catalyst, expression) if _is_steady(expression) else expression


def clean(catalyst: Catalyst, trial: Trial) -> tuple[Node, list[Drawn]]:
    """The rows of a trial on which nothing throws, and what was computed of them: what is not deterministic is computed once, and stands in more columns.

    Computed again of the rows that are left, it would be something else, and might throw.
    """
    c = catalyst
    steady, others = _split(trial.expressions)
    columns = [c.alias(try_eval(c, c.named([each])), "drawn") for each in others]
    rows = c.extended(trial.rows, columns) if columns else trial.rows
    known = [column.toAttribute() for column in columns]
    left = c.filter(c.all_hold([*map(c.is_not_null, known), *(is_computed(c, each) for each in steady)]), rows)
    return left, [Drawn(each, c.field(column, 0)) for each, column in zip(others, known, strict=True)]


def without(catalyst: Catalyst, node: Node, drawn: Sequence[Drawn]) -> Node:
    """A node without the columns that what was drawn stands in."""
    c = catalyst
    more = {c.children(each.value)[0].exprId().id() for each in drawn}
    columns = c.items(node.output())
    left = [column for column in columns if column.exprId().id() not in more]
    return node if len(left) == len(columns) else c.project(left, node)


def culpable(catalyst: Catalyst, trial: Trial) -> Node:
    """The rows of a trial on which something throws."""
    return catalyst.filter(throwing(catalyst, trial.expressions), trial.rows)


def throwing(catalyst: Catalyst, expressions: Sequence[Expr]) -> Expr:
    """Whether one of some expressions throws. What draws does so on each row, whatever else throws on it."""
    c = catalyst
    steady, others = _split(expressions)
    found = [c.negated(c.all_hold([is_computed(c, each) for each in steady]))] if steady else []
    if others:
        found.insert(0, c.greatest([c.negated(is_computed(c, each)) for each in others]))
    return balanced(c.one_holds, found)


def _split(expressions: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
    """Those that are deterministic, and those that are not."""
    steady = [*map(_is_steady, expressions)]
    return [e for e, is_so in zip(expressions, steady) if is_so], [e for e, is_so in zip(expressions, steady) if not is_so]


def _is_steady(expression: Expr) -> bool:
    return remembered(expression, "deterministic", lambda: bool(expression.deterministic()))


def untellable(catalyst: Catalyst, trial: Trial) -> bool:
    """Whether rows of a trial cannot be told from one another: what one throws hangs on those before it."""
    return any(mixes(catalyst, each) for each in trial.expressions)


def throwing_or_large(catalyst: Catalyst, trial: Trial) -> Column:
    """Whether something in a trial throws, or one of the numbers that are sized is not small. What is both is computed once on most rows."""
    throws = [catalyst.column(throwing(catalyst, [expression])) for expression in trial.expressions]
    both = [next((i for i, expression in enumerate(trial.expressions) if expression.equals(number)), None) for number in trial.sized]
    for number, i in zip(trial.sized, both, strict=True):
        if i is not None:
            throws[i] = F.coalesce(_is_large(catalyst, number), throws[i])
    others = [number for number, i in zip(trial.sized, both, strict=True) if i is None]
    return balanced(or_, [*throws, *(F.coalesce(_is_large(catalyst, number), F.lit(False)) for number in others)])


def _is_large(catalyst: Catalyst, number: Expr) -> Column:
    """Whether a number is not small; NULL if it is NULL, or cannot be computed. (``between`` would compute it twice.)"""
    return ~F.shiftright(catalyst.column(try_eval(catalyst, number)), _BITS).isin(0, -1)


def rowwise(catalyst: Catalyst, expression: Expr) -> Iterator[Expr]:
    """The largest parts of an expression that are computed on a single row, and may throw."""
    if not _may_throw(catalyst, expression):
        return
    if catalyst.name(expression) == "AggregateExpression":
        yield from _given(catalyst, expression)
    elif catalyst.name(expression) in _PARTS or catalyst.computes_many(expression):
        for part in (*catalyst.children(expression), *bounds(catalyst, expression)):
            yield from rowwise(catalyst, part)
    else:
        yield expression


def _given(catalyst: Catalyst, aggregate: Expr) -> Iterator[Expr]:
    """What an aggregate computes of a row: its filter, and where that holds what it is given, which it may refuse; to count rows without NULLs, as far as to the first one."""
    c = catalyst
    function = aggregate.aggregateFunction()
    conditions = [aggregate.filter().get()] if aggregate.filter().isDefined() else []
    for condition in conditions:
        yield from rowwise(c, condition)
    for given in (*c.children(function), *refused(c, function)):
        for part in rowwise(c, given):
            yield c.either(c.all_hold(conditions), part, c.null_of(part)) if conditions else part
        if c.name(function) == "Count":
            conditions.append(c.is_not_null(given))


def _trial(catalyst: Catalyst, rows: Node, expressions: list[Expr], number: int) -> Iterator[Trial]:
    found = [part for expression in expressions for part in rowwise(catalyst, expression)]
    if found:
        yield Trial(rows, found, number)


def _may_throw(catalyst: Catalyst, expression: Expr) -> bool:
    """Whether something in an expression may throw; of what draws numbers, or asks the task, it is known not to."""
    return remembered(expression, "may_throw", lambda: _finds_what_may_throw(catalyst, expression))


def _finds_what_may_throw(catalyst: Catalyst, expression: Expr) -> bool:
    if catalyst.name(expression) in _QUIET:
        return any(_may_throw(catalyst, part) for part in catalyst.children(expression))
    if expression.references().nonEmpty():
        return True
    if _is_steady(expression):
        return not is_special(catalyst, expression)
    return any(catalyst.name(part) != "Literal" for part in catalyst.children(expression))
