"""Sizes: which numbers that a query adds are known to be so small that no sum of them overflows, so that nobody has to add them to see that.

They are looked at where they are made, in the pass that finds what throws there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as F

from bigdebug.agents.guards.code import SMALL
from bigdebug.spark.sql import code
from bigdebug.spark.sql.catalyst import Catalyst
from bigdebug.spark.sql.expressions import Expr, Node
from bigdebug.spark.sql.overflow import is_small, summed

_BITS = SMALL.bit_length() - 1
"""Above these a small number has its sign alone."""


class Asked(NamedTuple):
    """What a node computes of a row that sums are computed of, and that is not known to be small: what Spark's expressions do, and what functions give."""

    computed: list[Expr]
    given: tuple[Expr, ...]


class Sizes:
    """Of the numbers of one query, whose plan has these nodes."""

    def __init__(self, catalyst: Catalyst, nodes: Sequence[Node]) -> None:
        self._catalyst = catalyst
        self._made: dict[int, Expr] = {}
        """What the projections compute, by the numbers of their columns."""
        self._united: defaultdict[int | None, list[Expr]] = defaultdict(list)
        """The columns of other inputs to which unions give the numbers of the first one's, by these numbers."""
        self._asked: set[int] = set()
        """The numbers of columns of which, as they are, sums are computed."""
        self._seen: list[Expr] = []
        added = [each for node in nodes for each in self._added(node)]
        for node in nodes if added else ():
            self._made |= self._computed(node)
            self._unite(node)
        for each in added:
            self._ask(each)
        found = Counter(code for node in nodes for code in {_code(each) for each in self._of(node)}) if added else {}
        self._doubtful = {code for code, times in found.items() if times > 1}
        """The hash codes of what several nodes compute, as subqueries do: what one of them gives is not what all do."""

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

    def _unite(self, node: Node) -> None:
        if node.nodeName() == "Union":
            first, *others = (self._catalyst.items(child.output()) for child in self._catalyst.children(node))
            for column, *united in zip(first, *others, strict=True):
                number = _number(column)
                # What has the same number in two inputs is known of neither.
                self._united[number] += [self._catalyst.null("bigint") if _number(each) == number else each for each in united]

    def _of(self, node: Node) -> list[Expr]:
        """What a node computes of a row that sums are computed of."""
        computed = self._computed(node) if self._asked else {}
        return [*(each for number, each in computed.items() if number in self._asked), *self._added(node)]

    def _ask(self, expression: Expr) -> None:
        number = _number(expression)
        if number in self._asked:
            return
        for other in self._united.get(number, ()):
            self._ask(other)
        if number in self._made:
            self._asked.add(number)
            self._ask(self._made[number])
        elif expression.nodeName() == "Cast":
            self._ask(self._catalyst.children(expression)[0])

    def asked(self, node: Node) -> Asked:
        """What is to be asked of a node, in the pass that finds what throws there. What several functions, or a subquery, have a part in is asked nobody."""
        c = self._catalyst
        found = [each for each in self._of(node) if _is_bigint(each) and _code(each) not in self._doubtful and not self.small(each)]
        return Asked(
            [each for each in found if not c.runs_code(each) and not c.asks_plan(each)],
            tuple([each for each in found if code.is_function(c, each) and code.tells_sizes(each)]),
        )

    def saw(self, small: Sequence[Expr]) -> None:
        """These were small in all rows."""
        self._seen += small

    def small(self, expression: Expr) -> bool:
        """Whether the values of an expression are known to be small."""
        number = _number(expression)
        if is_small(expression) or any(each.equals(expression) for each in self._seen):
            return True
        if not all(map(self.small, self._united.get(number, ()))):
            return False
        if number in self._made:
            return self.small(self._made[number])
        return expression.nodeName() in ("TryEval", "Cast") and _is_integral(expression) and self.small(self._catalyst.children(expression)[0])


def throws(catalyst: Catalyst, expressions: Sequence[Expr]) -> Column:
    """Whether one of some expressions throws."""
    return catalyst.column(catalyst.negated(catalyst.all_hold([catalyst.is_computed(each) for each in expressions])))


def throws_or_is_large(catalyst: Catalyst, throwing: Sequence[Expr], sized: Sequence[Expr]) -> Column:
    """Whether one of some expressions throws, or one of some numbers is not small. What is both is computed once on most rows."""
    throwings = [throws(catalyst, [expression]) for expression in throwing]
    both = [next((i for i, expression in enumerate(throwing) if expression.equals(number)), None) for number in sized]
    for number, i in zip(sized, both, strict=True):
        if i is not None:
            throwings[i] = F.coalesce(_is_large(catalyst, number), throwings[i])
    others = [number for number, i in zip(sized, both, strict=True) if i is None]
    return reduce(or_, [*throwings, *(F.coalesce(_is_large(catalyst, number), F.lit(False)) for number in others)])


def _is_large(catalyst: Catalyst, number: Expr) -> Column:
    """Whether a number is not small; NULL if it is NULL, or cannot be computed. (``between`` would compute it twice.)"""
    return ~F.shiftright(catalyst.column(catalyst.try_eval(number)), _BITS).isin(0, -1)


def _number(expression: Expr) -> int | None:
    return int(expression.exprId().id()) if expression.nodeName() == "AttributeReference" else None


def _code(expression: Expr) -> int:
    return int(expression.hashCode())


def _is_bigint(expression: Expr) -> bool:
    return str(expression.dataType().simpleString()) == "bigint"


def _is_integral(expression: Expr) -> bool:
    return _is_bigint(expression) or is_small(expression)
