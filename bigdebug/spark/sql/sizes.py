"""Sizes: which numbers that a query adds are known to be so small that no sum of them overflows, so that nobody has to add them to see that.

They are looked at where they are made, in the pass that finds what throws there.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as F

from bigdebug.agents.guards.code import SMALL
from bigdebug.spark.sql.catalyst import Catalyst
from bigdebug.spark.sql.expressions import Expr, Node
from bigdebug.spark.sql.overflow import is_small, summed

_BITS = SMALL.bit_length() - 1
"""Above these a small number has its sign alone."""


class Sizes:
    """Of the numbers of one query, whose plan has these nodes."""

    def __init__(self, catalyst: Catalyst, nodes: Sequence[Node]) -> None:
        self._catalyst = catalyst
        self._made: dict[int, Expr] = {}
        """What the projections compute, by the numbers of their columns."""
        self._asked: set[int] = set()
        """The numbers of columns of which, as they are, sums are computed."""
        self._seen: list[Expr] = []
        added = [each for node in nodes for each in self._added(node)]
        for node in nodes if added else ():
            self._made |= self._computed(node)
        for each in added:
            self._ask(each)

    def _added(self, node: Node) -> list[Expr]:
        """What a node adds in sums."""
        if node.nodeName() not in ("Aggregate", "Window"):
            return []
        return [each for expression in self._catalyst.items(node.expressions()) for each in summed(self._catalyst, expression)]

    def _computed(self, node: Node) -> dict[int, Expr]:
        """What a projection computes, by the number of its column."""
        if node.nodeName() != "Project":
            return {}
        columns = [column for column in self._catalyst.items(node.projectList()) if column.nodeName() == "Alias"]
        return {column.exprId().id(): self._catalyst.children(column)[0] for column in columns}

    def _ask(self, expression: Expr) -> None:
        number = _number(expression)
        if number in self._made:
            self._asked.add(number)
            self._ask(self._made[number])
        elif expression.nodeName() == "Cast":
            self._ask(self._catalyst.children(expression)[0])

    def asked(self, node: Node) -> list[Expr]:
        """What a node computes of a row that sums are computed of, and that is not known to be small."""
        computed = self._computed(node) if self._asked else {}
        found = [*(self._made[number] for number in computed if number in self._asked), *self._added(node)]
        return [each for each in found if _is_bigint(each) and not self.small(each)]

    def saw(self, small: Sequence[Expr]) -> None:
        """These were small in all rows."""
        self._seen += small

    def small(self, expression: Expr) -> bool:
        """Whether the values of an expression are known to be small."""
        number = _number(expression)
        if is_small(expression) or any(each.equals(expression) for each in self._seen):
            return True
        if number in self._made:
            return self.small(self._made[number])
        return expression.nodeName() in ("TryEval", "Cast") and _is_integral(expression) and self.small(self._catalyst.children(expression)[0])


def throwing_or_large(catalyst: Catalyst, throwing: Sequence[Expr], sized: Sequence[Expr]) -> Column:
    """Whether one of some expressions throws, or one of some numbers is not small. What is both is computed once on most rows."""
    throws = [catalyst.column(catalyst.negated(catalyst.is_computed(expression))) for expression in throwing]
    both = [next((i for i, expression in enumerate(throwing) if expression.equals(number)), None) for number in sized]
    for number, i in zip(sized, both, strict=True):
        if i is not None:
            throws[i] = F.coalesce(_is_large(catalyst, number), throws[i])
    others = [number for number, i in zip(sized, both, strict=True) if i is None]
    return reduce(or_, [*throws, *(F.coalesce(_is_large(catalyst, number), F.lit(False)) for number in others)])


def _is_large(catalyst: Catalyst, number: Expr) -> Column:
    """Whether a number is not small; NULL if it is NULL, or cannot be computed. (``between`` would compute it twice.)"""
    return ~F.shiftright(catalyst.column(catalyst.try_eval(number)), _BITS).isin(0, -1)


def _number(expression: Expr) -> int | None:
    return int(expression.exprId().id()) if expression.nodeName() == "AttributeReference" else None


def _is_bigint(expression: Expr) -> bool:
    return str(expression.dataType().simpleString()) == "bigint"


def _is_integral(expression: Expr) -> bool:
    return _is_bigint(expression) or is_small(expression)
