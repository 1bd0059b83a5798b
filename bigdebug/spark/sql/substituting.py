"""Substituting: a query over other plans in the place of some of its operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bigdebug.errors import ReplayError
from bigdebug.spark.sql.inquiry.triable import scalars
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.reading import PlanOperator
from bigdebug.spark.sql.plans.rewriting import from_below, with_expressions

ENTERED = "Entered"
"""An operator in whose place a query reads what it is given."""


def substituted(catalyst: Catalyst, operator: PlanOperator, given: Mapping[int, Node]) -> PlanOperator:
    """The operator over plans that are ``given`` by the ids of operators, with the columns of these; itself where there are none below it.

    Raises ReplayError where it drew its rows in the run: of others it would draw others.
    """
    if operator.id in given:
        return replace(operator, name=ENTERED, node=given[operator.id], inputs=(), subqueries=(), limits=(), kept=None)
    inputs = tuple(substituted(catalyst, child, given) for child in operator.inputs)
    asked = tuple(substituted(catalyst, child, given) for child in operator.subqueries)
    changed = operator.over(catalyst, inputs)
    if any(new is not old for new, old in zip(asked, operator.subqueries)):
        changed = _asking(catalyst, changed, operator, asked)
    if changed is operator:
        return operator
    if operator.draws:
        raise ReplayError(
            f"{operator} drew its rows in the run, and of other records it would draw others", remedy=f"Replay at it or above it: trace.replay(at=run.graph[{operator.id}]).",
        )
    return replace(changed, kept=None)


def _asking(catalyst: Catalyst, changed: PlanOperator, operator: PlanOperator, asked: tuple[PlanOperator, ...]) -> PlanOperator:
    """The operator with other plans in its subqueries. An input that is read once more as one (``misses``) stands in no expression."""
    inputs = {child.id for child in operator.inputs}
    standing = [(new, old) for new, old in zip(asked, operator.subqueries) if old.repeats not in inputs]
    plans = {
        expression.exprId().id(): new.plan(catalyst) for expression, (new, old) in zip(scalars(catalyst, operator), standing, strict=True) if new is not old
    }

    def change(expression: Expr) -> Expr:
        if not catalyst.is_subquery(expression) or expression.exprId().id() not in plans:
            return expression
        return expression.withNewPlan(plans[expression.exprId().id()])

    node = with_expressions(catalyst, changed.node, lambda expression: from_below(catalyst, expression, change))
    return replace(changed, node=node, subqueries=asked)
