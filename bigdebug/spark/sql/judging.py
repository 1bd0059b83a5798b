"""Judging: the user's test of rows, a function or a condition of Spark's, and what it says of the rows that a trial gives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from pyspark.sql import Column, Row

from bigdebug.agents.judges import Judge, Verdict, number
from bigdebug.errors import LocalizeError
from bigdebug.model import Outcome
from bigdebug.spark.sql.catalyst import Catalyst
from bigdebug.spark.sql.expressions import Expr, Node
from bigdebug.spark.sql.kinds import is_number
from bigdebug.spark.sql.matching import filtered


class Given(NamedTuple):
    """A row that a trial gives: what says which row of its set it is, itself, and the values of the columns that a test asked for besides."""

    key: tuple[Any, ...]
    row: Row
    more: tuple[Any, ...]


class Test(Protocol):
    """A test of rows."""

    def columns(self, catalyst: Catalyst) -> list[Expr]:
        """Columns that are computed besides those of the rows."""

    def verdict(self, given: Sequence[Given]) -> Verdict:
        """The outcome of some rows, and the number that they hold."""


@dataclass(frozen=True)
class ByFunction:
    """A test that is a function in Python."""

    judge: Judge

    def columns(self, catalyst: Catalyst) -> list[Expr]:
        """None."""
        return []

    def verdict(self, given: Sequence[Given]) -> Verdict:
        return self.judge.verdict([each.row for each in given])


@dataclass(frozen=True)
class ByCondition:
    """A condition of Spark's that holds for a wrong row; ``number`` is the place of the column that it is about, if it is about a number."""

    condition: Expr
    number: int | None

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
        columns = enumerate(users.items(plan.output()))
        numbers = [i for i, column in columns if column.exprId().id() in asked and is_number(column.dataType().sql())]
        return cls(met.condition(), numbers[-1] if numbers else None)

    def columns(self, catalyst: Catalyst) -> list[Expr]:
        """Whether it holds, and whether that can be computed."""
        return [catalyst.try_eval(self.condition), catalyst.is_computed(self.condition)]

    def verdict(self, given: Sequence[Given]) -> Verdict:
        if not all(each.more[1] for each in given):
            return Outcome.UNRESOLVED, math.nan
        value = number(given[0].row if self.number is None else given[0].row[self.number]) if len(given) == 1 else math.nan
        return Outcome.FAIL if any(each.more[0] for each in given) else Outcome.PASS, value
