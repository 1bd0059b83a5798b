"""Judging: the user's test of rows, a function or a condition of Spark's, and what it says of the rows that a trial gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, NamedTuple, Protocol

from pyspark.sql import Column, Row
from pyspark.sql.types import ArrayType, MapType, NumericType, StructType, UserDefinedType

from bigdebug.agents.check import Check
from bigdebug.agents.judges import Judge, number
from bigdebug.agents.moments import moments
from bigdebug.agents.outlines import outlines_if_any
from bigdebug.errors import LocalizeError
from bigdebug.localize.oracle import Answer
from bigdebug.model import Outcome
from bigdebug.spark.sql.called import called
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.spark.sql.matching import filtered
from bigdebug.spark.sql.plans.builders import is_computed, try_eval
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.kinds import is_number

GONE = Answer(Outcome.PASS, gone=True)
"""That of a row that is not there any more: nothing is wrong, but nothing is right."""

_NESTED = (ArrayType, MapType, StructType, UserDefinedType)


class TriedRow(NamedTuple):
    """A row that a trial gives: what says which row of its set it is, itself, and the values of the columns that a test asked for besides."""

    key: tuple[Any, ...]
    row: Row
    more: tuple[Any, ...]


class Test(Protocol):
    """A test of rows."""

    @property
    def whole(self) -> bool:
        """Whether it is one of all rows together."""

    @property
    def condition(self) -> Any:
        """What ``where`` takes for it; if it is ``whole``, the function of all rows."""

    def columns(self, catalyst: Catalyst) -> list[Expr]:
        """Columns that are computed besides those of the rows."""

    def answer(self, given: Sequence[TriedRow], before: Row | None) -> Answer:
        """What it says of the rows that are ``before`` on fewer records, or of all rows."""

    def of_none(self, answer: Answer) -> Answer:
        """What it says of no records at all, of whose rows it would say this."""


@dataclass(frozen=True)
class ByFunction:
    """A test that is a function in Python."""

    judge: Judge

    @property
    def whole(self) -> bool:
        return self.judge.whole

    @property
    def condition(self) -> Callable[[Any], Any]:
        """Itself, of rows."""
        return self.judge.test if self.whole else self.judge.wrong

    def columns(self, catalyst: Catalyst) -> list[Expr]:
        """None."""
        return []

    def answer(self, given: Sequence[TriedRow], before: Row | None) -> Answer:
        return Answer(*self.judge.verdict([each.row for each in given]))

    def of_none(self, answer: Answer) -> Answer:
        """The same."""
        return answer


@dataclass(frozen=True)
class ByCondition:
    """A condition of Spark's that holds for a wrong row, as the user gave it and as it is computed; ``about`` are the places of the columns that it is about,
    ``number`` that of the last one of these that is a number, if one is.
    """

    condition: Column | str
    computed: Expr
    number: int | None
    about: tuple[int, ...]
    whole: bool = False

    @classmethod
    def of(cls, users: Catalyst, plan: Node, condition: Column | str) -> ByCondition:
        """Of a Column or SQL over the rows of ``plan``. Raises what ``where`` raises, and LocalizeError for what is about more than a row of it."""
        met = filtered(users, plan, condition)
        if met.nodeName() != "Filter" or not users.is_of(met.condition(), plan) or users.asks_plan(met.condition()) or not met.condition().deterministic():
            raise LocalizeError(
                "The test is a condition about more than the columns of a row of the result, or one that draws", value=condition,
                remedy="Select what it is about, or give a function of a Row.",
            )
        asked = {column.exprId().id() for column in users.items(met.condition().references().toSeq())}
        about = {i: column.dataType().sql() for i, column in enumerate(users.items(plan.output())) if column.exprId().id() in asked}
        return cls(condition, met.condition(), max((i for i, kind in about.items() if is_number(kind)), default=None), tuple(about))

    def columns(self, catalyst: Catalyst) -> list[Expr]:
        """Whether it holds, and whether that can be computed."""
        return [try_eval(catalyst, self.computed), is_computed(catalyst, self.computed)]

    def answer(self, given: Sequence[TriedRow], before: Row | None) -> Answer:
        if not given:
            return GONE
        if not all(each.more[1] for each in given):
            return Answer(Outcome.UNRESOLVED)
        outcome = Outcome.FAIL if any(each.more[0] for each in given) else Outcome.PASS
        outline = outlines_if_any([(*(each.row[i] for i in self.about), each.more[0]) for each in given])  # a condition that is NULL says nothing, if it is not so of all that is right
        value = number(given[0].row if self.number is None else given[0].row[self.number]) if len(given) == 1 else math.nan
        return Answer(outcome, value, outline=outline)

    def of_none(self, answer: Answer) -> Answer:
        """The same."""
        return answer


def test_of(trace: LineageFrame, test: Any, key: Any, whole: Any, raises: bool) -> Test:
    """The test that a user gave, of rows or of all of them ``whole``. The bounds of a check are set by all rows of ``trace``, which are read if it has such."""
    if isinstance(test, Column | str):
        questions = trace.run.questions
        return ByCondition.of(questions.users, questions.root.node, test)
    given = test if whole is None else whole
    if not isinstance(given, Check):
        return ByFunction(Judge(given, _given_key(trace, given, key), whole is not None, raises))
    column = _number_of(trace.run.frame.schema)
    check = (given if column is None else given.of_number(column)).fitted(lambda value: moments(map(value, trace.collect())))
    together = whole is not None or check.whole
    return ByFunction(Judge(check.wrong_in if together else check, None, together, raises))


def _number_of(schema: StructType) -> str | int | None:
    """The last column of numbers, by its name, or its place if several are called so, where others are behind it: what is NULL in these is no number.

    None if there is no such column, or what is behind it may hold numbers as well.
    """
    place, kind = next(((i, each.dataType) for i, each in reversed(list(enumerate(schema))) if isinstance(each.dataType, (NumericType, *_NESTED))), (-1, None))
    if not isinstance(kind, NumericType) or place == len(schema) - 1:
        return None
    return schema.names[place] if schema.names.count(schema.names[place]) == 1 else place


def _given_key(trace: LineageFrame, test: Callable[..., Any], key: Any) -> Callable[[Row], Any] | None:
    """What gives a test the key of a row: the user's function; of names of columns, their values, if the test takes a key. None if it takes a row alone."""
    if key is None or callable(key):
        return key  # type: ignore[no-any-return]
    names = called(trace.run.questions.users, key, trace.run.frame.columns)
    try:
        signature(test).bind(None)
    except TypeError:
        return (lambda row: row[names[0]]) if len(names) == 1 else lambda row: tuple(row[name] for name in names)
    except ValueError:  # a function of C has no signature
        pass
    return None
