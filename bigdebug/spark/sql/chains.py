"""Chains: operators behind one another that one pass can look at, and the rows of what is below them on which any of them throws."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as F

from bigdebug.agents.guards.code import DOUBTFUL
from bigdebug.spark.sql import code
from bigdebug.spark.sql.calls import functions_of
from bigdebug.spark.sql.catalyst import Catalyst
from bigdebug.spark.sql.code import Guarding
from bigdebug.spark.sql.expressions import Expr, Node
from bigdebug.spark.sql.sizes import Sizes, throws, throws_or_is_large
from bigdebug.spark.sql.trials import Trial, tamed, trials
from bigdebug.spark.sql.walk import Step

_PASSING = ("Project", "Filter")
"""Nodes that give a row for each of theirs, or none."""


def chain(catalyst: Catalyst, steps: Iterable[Step]) -> list[Node]:
    """The first of some steps of a plan, which follow one another, that one pass can look at; none where that gains nothing."""
    nodes: list[Node] = []
    passes: list[int] = []
    for step in steps:
        node = step.node
        functions = functions_of(catalyst, node)
        if len(step.inputs) != 1 or step.asked or not node.deterministic() or (functions and not _calls_by_row(node, functions)):
            break
        nodes.append(node)
        passes.append(any(True for _ in trials(catalyst, node)) + bool(functions))
        if not passes[0] or functions or node.nodeName() not in _PASSING:
            break
    last = max((number for number, count in enumerate(passes) if count), default=0)
    return nodes[: last + 1] if sum(passes) > 1 else []


def _calls_by_row(node: Node, functions: Sequence[Expr]) -> bool:
    return bool(node.nodeName() == "Project") and all(map(code.is_of_row, functions))


def blameable(catalyst: Catalyst, below: Node, nodes: Sequence[Node], sizes: Sizes) -> Node:
    """The rows of ``below`` on which some nodes of a chain throw, or compute numbers that are not small; in the last column whether a function
    crashes. It is called on no row that a node before it throws on, or drops.
    """
    passing = _Passing(catalyst, below)
    for node in nodes:
        asked = sizes.asked(node)
        for trial in trials(catalyst, catalyst.with_children(node, [passing.rows])):
            passing.tried(trial._replace(sized=asked.computed))
        if functions := functions_of(catalyst, node):
            passing.called(functions, asked.given)
        else:
            passing.gone_through(node)
    return passing.found()


_COMES, _LARGE, _LEFT, _CRASHED = range(4)
"""How a row stands: it comes to the next node; it does, but some number was not small, or it has to be looked at what a function gave; it does not
come there; or a function crashed on it.
"""


class _Passing:
    """Rows of a plan on their way through nodes: what these make of them, the rows as they were, and how each stands."""

    def __init__(self, catalyst: Catalyst, below: Node) -> None:
        self._catalyst = c = catalyst
        self._below = below
        self._own = c.items(below.output())
        kept = [c.alias(column, "kept") for column in self._own]  # as they are: a projection may give a column another value
        stands = c.alias(c.literal(_COMES, "int"), "stands")
        self.rows = c.extended(below, [*kept, stands])
        self._kept = [column.toAttribute() for column in kept]
        self._stands: Expr = stands.toAttribute()

    def tried(self, trial: Trial) -> None:
        """Expressions are computed of the rows."""
        c, stands = self._catalyst, self._catalyst.column(self._stands)
        thrown = throws(c, trial.expressions)
        if trial.sized:
            found = throws_or_is_large(c, trial.expressions, trial.sized)
            self._stand(F.when(stands == _LEFT, _LEFT).when(found, F.when(thrown, _LEFT).otherwise(_LARGE)).otherwise(stands))
        else:
            self._stand(F.when((stands == _LEFT) | thrown, _LEFT).otherwise(stands))

    def gone_through(self, node: Node) -> None:
        """The rows come to what is behind a node."""
        c = self._catalyst
        if node.nodeName() == "Filter":
            stands, holds = c.column(self._stands), c.column(tamed(c, node.condition()))
            self.rows = c.plan(c.frame(self.rows).filter(holds | (stands != _COMES)))
            self._stand(F.when((stands == _LARGE) & ~F.coalesce(holds, F.lit(False)), _LEFT).otherwise(stands))
        elif node.nodeName() == "Project":
            self.rows = c.project([*(tamed(c, column) for column in c.items(node.projectList())), *self._kept, self._stands], self.rows)
            self._own = c.items(node.output())

    def called(self, functions: Sequence[Expr], given: Sequence[Expr]) -> None:
        """Functions are called on the rows; of those that are ``given``, it is asked what numbers they give."""
        c, stands = self._catalyst, self._catalyst.column(self._stands)
        self.rows = c.plan(c.frame(self.rows).select(*map(c.column, c.items(self.rows.output())), (stands == _LEFT).alias("left")))
        how = Guarding(sized=tuple(given), doubting=True, sparing=c.items(self.rows.output())[-1])
        self.rows = c.extended(self.rows, [c.alias(code.guarded(c, tamed(c, function), how), "told") for function in functions])
        marks = list(map(c.column, c.items(self.rows.output())[-len(functions) :]))
        crashed = reduce(or_, [F.coalesce(F.length(mark) > len(DOUBTFUL), F.lit(False)) for mark in marks])
        told = reduce(or_, [mark.isNotNull() for mark in marks])
        self._stand(F.when(crashed, _CRASHED).when(told, _LARGE).otherwise(stands))

    def found(self) -> Node:
        """The rows as they were that do not all stand as they came; in the last column, whether a function crashes."""
        c, stands = self._catalyst, self._catalyst.column(self._stands)
        some = c.plan(c.frame(self.rows).filter(stands != _COMES).select(*map(c.column, self._kept), (stands == _CRASHED).alias("crashed")))
        columns = [c.renamed(known, column) for known, column in zip(self._kept, c.items(self._below.output()), strict=True)]
        return c.project([*columns, c.items(some.output())[-1]], some)

    def _stand(self, how: Column) -> None:
        c = self._catalyst
        self.rows = c.plan(c.frame(self.rows).select(*map(c.column, [*self._own, *self._kept]), how.alias("stands")))
        self._stands = c.items(self.rows.output())[-1]
