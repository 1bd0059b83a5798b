"""Membership: IN with a subquery, whose answer may be unknown.

Spark simplifies conditions before it makes joins of them, and only so is unknown taken for false where that is the same: an
existence join below a NOT would not be.
"""

from __future__ import annotations

from bigdebug.errors import UntraceableError
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.written import place_of

_SIMPLIFYING = (
    "NullPropagation", "BooleanSimplification", "SimplifyBinaryComparison", "SimplifyConditionals", "PushFoldableIntoBranches",
    "ReplaceNullWithFalseInPredicate",
)

_ROUNDS = 20

_CARRYING = {"Sort", "GlobalLimit", "LocalLimit", "Offset", "SubqueryAlias", "View"}
"""Nodes above the result's columns that decide nothing by them, as Spark's rules see it."""


def simplified(catalyst: Catalyst, plan: Node) -> Node:
    """The plan with its conditions as Spark has them when it makes joins of IN: NOT stands right above an IN, or nowhere.

    Raises UntraceableError where the answer of an IN may be unknown and something else than AND, OR and NOT makes use of it.
    """
    if not catalyst.asks_membership(plan):
        return plan
    rules = [catalyst.rule(name) for name in _SIMPLIFYING]
    for _ in range(_ROUNDS):
        before = plan
        for rule in rules:
            plan = rule.apply(plan)
        if plan.fastEquals(before):
            break
    _check(catalyst, plan, top=True)
    return plan


def _check(catalyst: Catalyst, node: Node, top: bool) -> None:
    """``top`` says that only nodes which decide nothing stand above."""
    name = node.nodeName()
    if name not in _CARRYING and not (top and name == "Project"):
        for expression in catalyst.expressions(node):
            _check_uses(catalyst, expression, node, condition=name in ("Filter", "Join"))
    for child in catalyst.children(node):
        _check(catalyst, child, top and name in _CARRYING)


def _check_uses(catalyst: Catalyst, expression: Expr, node: Node, condition: bool) -> None:
    """Raise UntraceableError if an IN that may be unknown stands where that is not the same as false; in a ``condition`` it is."""
    if not catalyst.asks_membership(expression):
        return
    name, inner = expression.nodeName(), catalyst.children(expression)
    if name == "InSubquery":
        if not condition and expression.nullable():
            raise UntraceableError(
                f"{node.nodeName()}{place_of(node)} makes use of {' '.join(str(expression.sql()).split())[:200]}, which may be NULL, and how Spark takes "
                "that here cannot be told",
                remedy="Write EXISTS, or IN as a condition of its own in WHERE; or leave NULLs out on both sides.",
            )
    elif name == "Not" and inner[0].nodeName() == "InSubquery" and condition and node.nodeName() == "Filter":
        return
    elif name in ("If", "CaseWhen"):
        for i, part in enumerate(inner):
            asks = i == 0 if name == "If" else i % 2 == 0 and i < len(inner) - 1
            _check_uses(catalyst, part, node, condition or asks)
    else:
        for i, part in enumerate(inner):
            _check_uses(catalyst, part, node, (condition and name in ("And", "Or")) or (name == "AggregateExpression" and i == 1))
