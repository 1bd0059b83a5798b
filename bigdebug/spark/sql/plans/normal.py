"""The normal form of a plan: no CTEs, no correlated subqueries, set operations as joins and aggregates.

Spark's own rules do it, so what they make of a query has the query's meaning and, column by column, its ids. Tracing
procedures are then few: those of joins and aggregates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bigdebug.errors import UntraceableError
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.domains import domains_of
from bigdebug.spark.sql.plans.existence import asking_for_any
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.membership import simplified
from bigdebug.spark.sql.plans.rewriting import from_below, with_expressions, with_inputs

_PULLING_UP = ("PullOutGroupingExpressions", "OptimizeOneRowRelationSubquery", "PullupCorrelatedPredicates")
"""Rules that come first, from the outermost subquery in: nothing can be pulled up through the outer join that becomes of an inner one."""

_JOINING = (
    "RewriteExceptAll",
    "RewriteIntersectAll",
    "ReplaceIntersectWithSemiJoin",
    "ReplaceExceptWithAntiJoin",
    "ReplaceDistinctWithAggregate",
    "ReplaceDeduplicateWithAggregate",
    "RewritePredicateSubquery",
    "RewriteCorrelatedScalarSubquery",
    "RewriteLateralSubquery",
)

_CONDITION = 3
"""Which argument of EXISTS its condition is."""

_ROUNDS = 20
"""Each goes one subquery deeper; nobody nests so many."""


class Normal(NamedTuple):
    """A plan in normal form: the same columns, by id; the same rows. ``domains`` are ids as ``domains.py`` has them."""

    plan: Node
    domains: frozenset[int]


def normal(catalyst: Catalyst, plan: Node) -> Normal:
    """The normal form of an analyzed plan."""
    making = _Normal(catalyst)
    whole = catalyst.rule("EliminateSQLFunctionNode").apply(plan)  # functions written in SQL are their bodies
    formed = making.form(catalyst.inline_ctes.apply(whole))
    return Normal(formed, frozenset(making.domains))


class _Normal:
    def __init__(self, catalyst: Catalyst) -> None:
        self._catalyst = catalyst
        self.domains: set[int] = set()
        self._rules = {name: catalyst.rule(name) for name in (*_PULLING_UP, *_JOINING)}

    def form(self, plan: Node) -> Node:
        if plan.subqueriesAll().isEmpty():
            return self._joined(plan)
        return self._computing(self._joined(asking_for_any(self._catalyst, plan)))

    def _joined(self, plan: Node) -> Node:
        for _ in range(_ROUNDS):
            before = plan
            plan = self._applied(_PULLING_UP, simplified(self._catalyst, plan))
            self.domains |= domains_of(self._catalyst, plan)
            plan = self._conditioned(plan) if self._catalyst.exists_has_condition else plan
            plan = self._applied(_JOINING, self._inner(plan))
            if plan.fastEquals(before):
                return plan
        raise UntraceableError(
            "Subqueries are nested too deeply to be traced", remedy="Write the inner ones as views of their own."
        )

    def _applied(self, names: Sequence[str], plan: Node) -> Node:
        for name in names:
            plan = self._rules[name].apply(plan)
        return plan

    def _computing(self, plan: Node) -> Node:
        """With windows that compute columns and no more: those that a condition outside is about, Spark adds, and their input has them."""
        c = self._catalyst
        if not c.has_windows(plan):
            return plan
        plan = with_inputs(c, plan, self._computing)
        if plan.nodeName() != "Window":
            return plan
        columns = c.items(plan.windowExpressions())
        own = [column for column in columns if column.nodeName() == "Alias"]
        return plan if len(own) == len(columns) else c.changed(plan, {0: c.seq(own)})

    def _conditioned(self, plan: Node) -> Node:
        """With a condition, if only that it holds, in each EXISTS of which a join will be made.

        In a filter Spark looks at each part of a conjunction by itself; elsewhere one that is correlated is enough for all of a node.
        """
        c = self._catalyst
        if plan.subqueriesAll().isEmpty():
            return plan
        plan = with_inputs(c, plan, self._conditioned)

        def conditioned(expression: Expr) -> Expr:
            if expression.nodeName() != "Exists" or not expression.joinCond().isEmpty():
                return expression
            return c.changed(expression, {_CONDITION: c.seq([c.literal(True, "boolean")])})

        def by_parts(expression: Expr) -> Expr:
            if expression.nodeName() == "And":
                return with_inputs(c, expression, by_parts)
            return from_below(c, expression, conditioned) if c.becomes_join(expression) else expression

        if plan.nodeName() == "Filter":
            return with_expressions(c, plan, by_parts)
        if any(map(c.becomes_join, c.expressions(plan))):
            return with_expressions(c, plan, lambda e: from_below(c, e, conditioned))
        return plan

    def _inner(self, plan: Node) -> Node:
        """With subqueries that ask subqueries in normal form: the rules look at one depth at a time."""
        if plan.subqueriesAll().isEmpty():
            return plan
        plan = with_inputs(self._catalyst, plan, self._inner)
        if all(inner.subqueriesAll().isEmpty() for inner in self._catalyst.items(plan.subqueries())):
            return plan
        return with_expressions(self._catalyst, plan, lambda e: from_below(self._catalyst, e, self._formed))

    def _formed(self, expression: Expr) -> Expr:
        return expression.withNewPlan(self.form(expression.plan())) if self._catalyst.is_subquery(expression) else expression
