"""Quiet functions: those of the user in a query that is asked about, without their accumulators.

A question computes again what the action has computed; what the user counts on the way must not be counted again. An RDD that a
DataFrame was made of is Spark's to compute: what its functions add, they add again.
"""

from __future__ import annotations

from dataclasses import replace

from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.reading import PlanOperator
from bigdebug.spark.sql.plans.rewriting import from_below, with_expressions, with_inputs

_CALL = "org.apache.spark.sql.catalyst.expressions.PythonFuncExpression"
"""What runs Python, table functions included; the second argument is the function."""


def quiet(catalyst: Catalyst, root: PlanOperator) -> PlanOperator:
    """The same query, which adds to no accumulator of the user's."""
    inputs = tuple(quiet(catalyst, child) for child in root.inputs)
    subqueries = tuple(quiet(catalyst, child) for child in root.subqueries)
    made = root.over(catalyst, inputs)
    node, *view = (_itself(catalyst, each) for each in (made.node, *made.view))
    same = all(new is old for new, old in zip((node, *view, *subqueries), (made.node, *made.view, *made.subqueries)))
    return made if same else replace(made, node=node, subqueries=subqueries, view=tuple(view))


def _itself(catalyst: Catalyst, node: Node) -> Node:
    """A node with its own expressions quiet."""
    if not any(catalyst.runs_code(expression) for expression in catalyst.expressions(node)):
        return node
    return with_expressions(catalyst, node, lambda e: _within(catalyst, e))


def _within(catalyst: Catalyst, expression: Expr) -> Expr:
    return from_below(catalyst, expression, lambda part: _silenced(catalyst, part)) if catalyst.runs_code(expression) else expression


def _whole(catalyst: Catalyst, plan: Node) -> Node:
    """A plan that an expression asks: Spark executes it as it is written there."""
    if not catalyst.runs_code(plan):
        return plan
    return _itself(catalyst, with_inputs(catalyst, plan, lambda child: _whole(catalyst, child)))


def _silenced(catalyst: Catalyst, call: Expr) -> Expr:
    if catalyst.is_subquery(call):
        return call.withNewPlan(_whole(catalyst, call.plan()))
    if not catalyst.is_a(call, _CALL):
        return call
    given = call.func()
    if given.accumulator() is None:
        return call
    function = catalyst.jvm.SimplePythonFunction(
        given.command(), given.envVars(), given.pythonIncludes(), given.pythonExec(), given.pythonVer(), given.broadcastVars(), None,
    )
    return catalyst.changed(call, {1: function})
