"""Following: how a column of a result that is a group-by follows what is brushed: as an aggregate, as a function of some, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from bigdebug.errors import UntraceableError, ViewError
from bigdebug.spark.sql.brushing.recomputed import NotRecomputedError, Recomputed, check_plain, recomputed
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.comparing import comparable
from bigdebug.spark.sql.plans.evaluated import Evaluation, arrow_type
from bigdebug.spark.sql.plans.expressions import Expr
from bigdebug.spark.sql.plans.kinds import is_floating, is_number
from bigdebug.spark.sql.plans.python_values import has_all
from bigdebug.spark.sql.plans.reading import PlanOperator
from bigdebug.spark.sql.plans.rewriting import from_below, with_inputs
from bigdebug.trace.crossfilter.aggregates import Aggregate, Shown
from bigdebug.trace.crossfilter.computed import arrow_of, shown_of
from bigdebug.trace.crossfilter.outputs import Followed, Together

_CERTAIN = {
    "AttributeReference", "Literal", "Coalesce", "If", "CaseWhen", "IsNull", "IsNotNull", "IsNaN", "EqualTo", "EqualNullSafe", "LessThan", "LessThanOrEqual", "GreaterThan",
    "GreaterThanOrEqual", "And", "Or", "Not", "In", "Concat", "Upper", "Lower", "Greatest", "Least", "KnownNotNull", "KnownFloatingPointNormalized",
}
"""Expressions that fail nowhere by themselves."""

_OF_NUMBERS = {"Round", "BRound", "Add", "Subtract", "Multiply", "UnaryMinus", "Abs", "Cast"}
"""Those that do not where they give floating point numbers of numbers, and the first two, where they give decimals of decimals."""


@dataclass(frozen=True)
class Stays:
    """A column that stays as it is: one of keys, or ``why`` it is not computed anew."""

    why: str = ""


@dataclass(frozen=True)
class Derived:
    """A function of aggregates, and of the keys of these numbers. ``certain`` says that it fails for no values of theirs."""

    parts: tuple[Recomputed, ...]
    keys: tuple[int, ...]
    evaluation: Evaluation
    kinds: tuple[pa.DataType, ...]
    """The types of the parts."""
    certain: bool

    def followed(self, values: Sequence[pa.Array | None], keys: Sequence[pa.Array]) -> Together:
        """It with the values of the parts' arguments, and of all keys of the marks."""
        parts: list[Followed | Aggregate] = [part.followed(found) for part, found in zip(self.parts, values, strict=True)]
        return Together(parts, partial(self._computed, [keys[number] for number in self.keys]))

    def _computed(self, keys: Sequence[pa.Array], shown: Sequence[Shown]) -> Shown:
        found = self.evaluation.of([*(arrow_of(each, kind) for each, kind in zip(shown, self.kinds, strict=True)), *keys])
        if not has_all(found):
            raise ViewError(f"{self.evaluation.said} gives moments after the year 9999, or text of other bytes than UTF-8's", remedy="Brush the result without this column.")
        return shown_of(found)


def following(catalyst: Catalyst, above: Sequence[PlanOperator], group: PlanOperator, column: Expr) -> Recomputed | Derived | Stays:
    """How a column of a result follows the rows that a group-by takes, if it does.

    ``above`` are the operators between the group-by and the result, the highest first.
    """
    made = _written(catalyst, above, group, column)
    if not catalyst.computes_many(made):
        return Stays()
    try:
        return recomputed(catalyst, made) if made.nodeName() == "AggregateExpression" else _Parts(catalyst, group).derived(made)
    except NotRecomputedError as why:
        return Stays(str(why))


def _written(catalyst: Catalyst, above: Sequence[PlanOperator], group: PlanOperator, column: Expr) -> Expr:
    """A column as the expression that the group-by and the projections above it make it of: of aggregates, and of what is grouped by."""
    at = next((number for number, operator in enumerate(above) if operator.name == "Project"), None)
    if at is None:
        return _made(catalyst, group.node.aggregateExpressions(), column)

    def below(part: Expr) -> Expr:
        return _written(catalyst, above[at + 1:], group, part) if part.nodeName() == "AttributeReference" else part

    return from_below(catalyst, _made(catalyst, above[at].node.projectList(), column), below)


def _made(catalyst: Catalyst, columns: Any, column: Expr) -> Expr:
    """What a list of expressions has in the place of a column."""
    number = column.exprId().id()
    [made] = [each for each in catalyst.items(columns) if each.exprId().id() == number][:1]
    return made.child() if made.nodeName() == "Alias" else made


class _Parts:
    """What a function of aggregates is made of: aggregates and keys, each in a column of its own."""

    def __init__(self, catalyst: Catalyst, group: PlanOperator) -> None:
        self._catalyst = catalyst
        self._grouping = catalyst.items(group.node.groupingExpressions())
        self._aggregates: list[tuple[Expr, Expr]] = []
        self._keys: dict[int, Expr] = {}

    def derived(self, made: Expr) -> Derived:
        """Raises NotRecomputedError for what has parts that are not computed anew, or is computed by more than expressions of Spark's own."""
        c = self._catalyst
        expression = self._of_columns(made)
        if c.runs_code(expression) or c.asks_plan(expression):
            raise NotRecomputedError("a function of the user's, or a subquery, computes it of the aggregates of its group")
        check_plain(made)
        parts = tuple(recomputed(c, called) for called, _ in self._aggregates)
        columns = [*(column for _, column in self._aggregates), *self._keys.values()]
        try:
            kinds = tuple(arrow_type(called) for called, _ in self._aggregates)
            rows = [column for (_, column), part in zip(self._aggregates, parts) if part.argument is None]
            return Derived(parts, tuple(self._keys), Evaluation(c, expression, columns), kinds, _is_certain(c, expression, rows))
        except UntraceableError as refused:
            raise NotRecomputedError(refused.what) from refused

    def _of_columns(self, part: Expr) -> Expr:
        c = self._catalyst
        if part.nodeName() == "AggregateExpression":
            known = next((column for called, column in self._aggregates if called.semanticEquals(part)), None)
            if known is None:
                known = _column(c, part)
                self._aggregates.append((part, known))
            return known
        number = next((number for number, key in enumerate(self._grouping) if key.semanticEquals(part)), None)
        if number is not None:
            return self._key(number)
        if part.nodeName() == "AttributeReference":
            raise NotRecomputedError(f"it is computed of {part.name()}, which is neither an aggregate nor a key")
        return with_inputs(c, part, self._of_columns)

    def _key(self, number: int) -> Expr:
        if number not in self._keys:
            c, key = self._catalyst, self._grouping[number]
            check_plain(key)
            if comparable(c, key).dataType().sql() != key.dataType().sql():
                raise NotRecomputedError(f"it is computed of a key of type {key.dataType().sql()}")
            self._keys[number] = _column(c, key)
        return self._keys[number]


def _column(catalyst: Catalyst, part: Expr) -> Expr:
    """A column that stands for a part, under its name, and may be NULL."""
    return catalyst.alias(catalyst.null_of(part), str(part.sql())).toAttribute()


def _is_certain(catalyst: Catalyst, expression: Expr, rows: Sequence[Expr]) -> bool:
    """Whether an expression is of those that fail nowhere; no other one is looked at closely. ``rows`` are columns that count rows: where a mark is lit, there is one."""
    name, parts = expression.nodeName(), catalyst.children(expression)
    kind, kinds = expression.dataType().sql(), [part.dataType().sql() for part in parts]
    rounded = name in ("Round", "BRound") and kind.startswith("DECIMAL")
    numeric = rounded or (name in _OF_NUMBERS and is_floating(kind) and all(map(is_number, kinds)))
    divided = name == "Divide" and is_floating(kind) and any(_uncast(parts[1]).semanticEquals(each) for each in rows)
    safe = name in _CERTAIN or (name == "Cast" and catalyst.has_room(expression))
    return (numeric or divided or safe) and all(_is_certain(catalyst, part, rows) for part in parts)


def _uncast(expression: Expr) -> Expr:
    return expression.child() if expression.nodeName() == "Cast" else expression
