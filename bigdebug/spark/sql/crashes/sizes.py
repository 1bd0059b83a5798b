"""Sizes: which numbers that a query adds are known to be so small that no sum of them overflows, so that nobody has to add them to see that.

They are looked at where they are made, in the pass that finds what throws there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from bigdebug.spark.sql.crashes.overflow import is_small, summed
from bigdebug.spark.sql.crashes.trials import tamed
from bigdebug.spark.sql.crashes.walk import Step
from bigdebug.spark.sql.plans import code, guarding
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node


class Asked(NamedTuple):
    """The numbers of which a node is asked whether they are small: those that Spark's expressions compute, and those that functions give."""

    computed: list[Expr]
    given: tuple[Expr, ...]


Places = list[tuple[int, Expr]]
"""Where numbers are made: steps, by number, and expressions of theirs."""


class Sizes:
    """Of the numbers of one query, the steps of which are these."""

    def __init__(self, catalyst: Catalyst, steps: Sequence[Step]) -> None:
        self._catalyst = catalyst
        self._steps = steps
        self._computed: dict[int, dict[int | None, Expr]] = {}
        """What projections compute, by step and number of the column."""
        self._asked: defaultdict[int, list[Expr]] = defaultdict(list)
        self._seen: defaultdict[int, list[Expr]] = defaultdict(list)
        """What was small in all rows, by step: as it is written, and as it stands over what is below it."""
        for number, step in enumerate(steps):
            for each in self._added(step.node):
                for place in [(number, each), *(self._makers(number, each) or ())]:
                    self._ask(*place)

    def _added(self, node: Node) -> list[Expr]:
        """What a node adds in sums."""
        if node.nodeName() not in ("Aggregate", "Window"):
            return []
        return [each for expression in self._catalyst.expressions(node) for each in summed(self._catalyst, expression)]

    def _ask(self, step: int, expression: Expr) -> None:
        if _is_bigint(expression) and not any(each.equals(expression) for each in self._asked[step]):
            self._asked[step].append(expression)

    @property
    def asks(self) -> bool:
        """Whether anything is asked of any node."""
        return any(self._asked.values())

    def give_up(self) -> None:
        """Ask of nothing more whether it is small: too much is not."""
        self._asked.clear()

    def asked(self, step: int) -> Asked:
        """What is to be asked of a node, in the pass that finds what throws there. What a subquery has a part in, or a function and an expression, is not."""
        c = self._catalyst
        found = [each for each in self._asked[step] if not self.small(step, each)]
        return Asked(
            [each for each in found if not c.runs_code(each) and not c.asks_plan(each)],
            tuple([each for each in found if code.is_function(c, each) and guarding.tells_sizes(each)]),
        )

    def saw(self, step: int, small: Sequence[Expr]) -> None:
        """These were small in all rows."""
        self._seen[step] += [form for each in small for form in (each, tamed(self._catalyst, each))]

    def small(self, step: int, expression: Expr) -> bool:
        """Whether the values of an expression of a node are known to be small."""
        if is_small(expression) or self._was_small(step, expression):
            return True
        makers = self._makers(step, expression) if self._seen and self._steps else None
        return makers is not None and all(self._was_small(*place) for place in makers)

    def _was_small(self, step: int, expression: Expr) -> bool:
        return any(each.equals(expression) for each in self._seen[step])

    def _makers(self, step: int, expression: Expr) -> Places | None:
        """Where the numbers that an expression of a step gives are made, if not all of them are of a type of small ones; None if that is not known."""
        if is_small(expression):
            return []
        if _number(expression) is not None:
            return self._read(step, expression)
        inner = self._catalyst.children(expression)[0] if expression.nodeName() in ("TryEval", "Cast") else None
        if inner is not None and _is_integral(expression) and _is_integral(inner):
            return self._makers(step, inner)
        return [(step, expression)]

    def _read(self, step: int, column: Expr) -> Places | None:
        """Those of a column that a step reads."""
        sources = [number for number in self._steps[step].inputs if self._steps[number].node.outputSet().contains(column)]
        return self._given(sources[0], column) if len(sources) == 1 else None

    def _given(self, step: int, column: Expr) -> Places | None:
        """Those of a column that a step gives: a projection computes some, a union gives all of its inputs' the names of the first one's."""
        c, node, inputs = self._catalyst, self._steps[step].node, self._steps[step].inputs
        if node.nodeName() == "Union":
            place = [_number(each) for each in c.items(node.output())].index(_number(column))
            found = [self._given(number, c.items(self._steps[number].node.output())[place]) for number in inputs]
            return None if None in found else [each for places in found for each in places or ()]
        if node.nodeName() == "Project":
            if step not in self._computed:
                aliases = [each for each in c.items(node.projectList()) if each.nodeName() == "Alias"]
                self._computed[step] = {each.exprId().id(): c.children(each)[0] for each in aliases}
            if (computed := self._computed[step].get(_number(column))) is not None:
                return self._makers(step, computed)
        return self._read(step, column)


def _number(expression: Expr) -> int | None:
    return int(expression.exprId().id()) if expression.nodeName() == "AttributeReference" else None


def _is_bigint(expression: Expr) -> bool:
    return str(expression.dataType().simpleString()) == "bigint"


def _is_integral(expression: Expr) -> bool:
    return _is_bigint(expression) or is_small(expression)
