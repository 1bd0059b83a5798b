"""Passing: the rows of a plan on their way through the nodes of a chain, and those on which any of these throws."""

from __future__ import annotations

from collections.abc import Sequence
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as F

from bigdebug.agents.guards.code import DOUBTFUL
from bigdebug.spark.sql.crashes.sizes import Asked
from bigdebug.spark.sql.crashes.trials import Trial, tamed, throwing, throwing_or_large, trials
from bigdebug.spark.sql.plans import guarding
from bigdebug.spark.sql.plans.balanced import balanced
from bigdebug.spark.sql.plans.calls import functions_of
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.guarding import Guarding


def blameable(catalyst: Catalyst, below: Node, nodes: Sequence[tuple[Node, Asked]]) -> Node:
    """The rows of ``below`` on which the nodes of a chain throw, or of which they have to be asked more; in the last column whether a function crashes.

    It is called on no row that a node before it throws on, or drops.
    """
    passing = _Passing(catalyst, below)
    for node, asked in nodes:
        for trial in trials(catalyst, catalyst.with_children(node, [passing.rows]), asked.computed):
            passing.tried(trial)
        if functions := functions_of(catalyst, node):
            passing.called(functions, asked.given)
        else:
            passing.gone_through(node)
    return passing.found()


_COMES, _ASKED, _LEFT, _CRASHED = range(4)
"""How a row stands: it comes to the next node; it does, but numbers are not small, or it has to be looked at what a function gave; it does not come
there; or a function crashed on it. It stands as the last of these that was found.
"""


class _Passing:
    """Rows of a plan, what nodes make of them, and how each stands. It is computed once of the one before it, for Spark may put one into the other."""

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
        c = self._catalyst
        throws = F.when(c.column(throwing(c, trial.expressions)), _LEFT)
        self._stand(F.when(throwing_or_large(c, trial), throws.otherwise(_ASKED)) if trial.sized else throws)

    def gone_through(self, node: Node) -> None:
        """The rows come to what is behind a node."""
        c = self._catalyst
        if node.nodeName() == "Filter":
            holds = F.coalesce(c.column(tamed(c, node.condition())), F.lit(False))
            self.rows = c.plan(c.frame(self.rows).filter(holds | (c.column(self._stands) != _COMES)))
            self._stand(F.when(~holds, _LEFT))
        elif node.nodeName() == "Project":
            self.rows = c.project([*(tamed(c, column) for column in c.items(node.projectList())), *self._kept, self._stands], self.rows)
            self._own = c.items(node.output())

    def called(self, functions: Sequence[Expr], given: Sequence[Expr]) -> None:
        """Functions are called on the rows; of those that are ``given``, it is asked what numbers they give."""
        c = self._catalyst
        left = (c.column(self._stands) == _LEFT).alias("left")
        self.rows = c.plan(c.frame(self.rows).select(*map(c.column, c.items(self.rows.output())), left))
        how = Guarding(sized=tuple(given), doubting=True, sparing=c.items(self.rows.output())[-1])
        self.rows = c.extended(self.rows, [c.alias(guarding.guarded(c, tamed(c, function), how), "told") for function in functions])
        marks = list(map(c.column, c.items(self.rows.output())[-len(functions) :]))
        crashed = balanced(or_, [F.coalesce(F.length(mark) > len(DOUBTFUL), F.lit(False)) for mark in marks])
        self._stand(F.when(crashed, _CRASHED).when(balanced(or_, [mark.isNotNull() for mark in marks]), _ASKED))

    def found(self) -> Node:
        """The rows as they were that do not all stand as they came; in the last column, whether a function crashes."""
        c, stands = self._catalyst, self._catalyst.column(self._stands)
        some = c.plan(c.frame(self.rows).filter(stands != _COMES).select(*map(c.column, self._kept), (stands == _CRASHED).alias("crashed")))
        columns = [c.renamed(known, column) for known, column in zip(self._kept, c.items(self._below.output()), strict=True)]
        return c.project([*columns, c.items(some.output())[-1]], some)

    def _stand(self, how: Column) -> None:
        c = self._catalyst
        stands = F.greatest(c.column(self._stands), how.otherwise(_COMES)).alias("stands")
        self.rows = c.plan(c.frame(self.rows).select(*map(c.column, [*self._own, *self._kept]), stands))
        self._stands = c.items(self.rows.output())[-1]
