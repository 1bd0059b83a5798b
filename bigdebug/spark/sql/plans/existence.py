"""Existence: EXISTS asks whether there is a row, and neither their order nor how many are taken makes a difference to that, unless some
are skipped, or none taken."""

from __future__ import annotations

from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.rewriting import from_below, with_expressions, with_inputs

_ALIKE = {"Project", "SubqueryAlias", "View", "PipeOperator", "Distinct", "Union"}
"""Nodes that give rows if and only if one of their inputs does."""


def asking_for_any(catalyst: Catalyst, plan: Node) -> Node:
    """The plan in which no EXISTS asks for a number of rows, or for an order of all of them; LIMIT 0 and OFFSET stay."""
    if plan.subqueriesAll().isEmpty():
        return plan
    plan = with_inputs(catalyst, plan, lambda child: asking_for_any(catalyst, child))
    if plan.subqueries().isEmpty():
        return plan
    return with_expressions(catalyst, plan, lambda e: from_below(catalyst, e, lambda each: _asking(catalyst, each)))


def _asking(catalyst: Catalyst, expression: Expr) -> Expr:
    if expression.nodeName() != "Exists":
        return expression
    plan = expression.plan()
    asked = _any_of(catalyst, plan)
    return expression if asked is plan else expression.withNewPlan(asked)


def _any_of(catalyst: Catalyst, plan: Node) -> Node:
    """A plan that gives rows if and only if this one does."""
    name = plan.nodeName()
    if name == "Sort" or (name in ("GlobalLimit", "LocalLimit") and plan.limitExpr().eval(None) > 0):
        return _any_of(catalyst, plan.child())
    return with_inputs(catalyst, plan, lambda child: _any_of(catalyst, child)) if name in _ALIKE else plan
