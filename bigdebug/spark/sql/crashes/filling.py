"""Filling: what fills the caches that a query reads. Spark computes all rows and all columns of a cache, whatever the query asks of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.rewriting import from_below, with_expressions, with_inputs


class Filling:
    """Puts into optimized plans, in the place of each cache that is not full, the plan that fills it, which Spark optimizes by itself.

    Full caches are read as they are, also by what fills others.
    """

    def __init__(self, catalyst: Catalyst) -> None:
        self._catalyst = catalyst
        self._known: list[tuple[object, Node]] = []
        """What holds the rows of each cache, and the plan that fills it."""

    @property
    def plans(self) -> list[Node]:
        """Those that fill caches. Each is computed once, however often the cache is read."""
        return [plan for _, plan in self._known]

    def opened(self, plan: Node) -> Node:
        """An optimized plan over what fills its caches; itself if all are full. Raises what Spark does where that cannot be planned."""
        if all(leaf.nodeName() != "InMemoryRelation" for leaf in self._catalyst.leaves(plan)):
            return plan
        return self._opened(plan)

    def _opened(self, plan: Node) -> Node:
        if plan.nodeName() == "InMemoryRelation":
            return self._filled(plan)
        return with_inputs(self._catalyst, self._asking(plan, self._opened), self._opened)

    def _asking(self, node: Node, change: Callable[[Node], Node]) -> Node:
        """The node with the plans of those of its subqueries changed that stand for themselves."""
        c = self._catalyst

        def changed(part: Expr) -> Expr:
            return part.withNewPlan(change(part.plan())) if c.is_subquery(part) and not c.children(part) else part

        return with_expressions(c, node, lambda each: from_below(c, each, changed) if c.asks_plan(each) else each)

    def _filled(self, cache: Node) -> Node:
        """A cache that is full, or in its place what fills it, with the same columns."""
        c, rows = self._catalyst, cache.cacheBuilder()
        if rows.isCachedColumnBuffersLoaded():
            return cache
        plan = next((plan for known, plan in self._known if rows.equals(known)), None)
        if plan is None:
            plan = self.opened(self._optimized(rows))
            self._known.append((rows, plan))
        columns = list(zip(c.items(plan.output()), c.items(cache.output()), strict=True))
        if all(column.exprId().equals(known.exprId()) for column, known in columns):
            return plan
        return c.project([c.renamed(column, known) for column, known in columns], plan)

    def _optimized(self, rows: Any) -> Node:
        """The plan that Spark makes of the analyzed one that a cache has the ``rows`` of: below that, other caches are read."""
        c = self._catalyst

        def read(part: Node) -> Node:
            made = c.frame(part)._jdf.queryExecution().withCachedData()
            # A name or a view is the same query as what is below it.
            itself = any(leaf.nodeName() == "InMemoryRelation" and leaf.cacheBuilder().equals(rows) for leaf in c.leaves(made))
            return under(part) if itself else made

        def under(node: Node) -> Node:
            return with_inputs(c, self._asking(node, read), read)

        below = under(rows.logicalPlan())
        with c.active():
            return c.jsession.sessionState().optimizer().execute(below)
