"""Domains: the values of outer columns for which Spark computes a correlated subquery.

It takes them from a copy of the outer query. That copy is no second reading of what the outer query reads: it says which
questions there are, and no row is made of it.
"""

from __future__ import annotations

from collections.abc import Collection

from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Node

DOMAIN = "Domain"

_STILL = {
    "Aggregate", "Project", "Filter", "Join", "Union", "Distinct", "Expand", "Generate", "SubqueryAlias", "View", "ResolvedHint",
    "LogicalRelation", "LocalRelation", "LogicalRDD", "Range", "OneRowRelation",
}
"""Nodes that give the copy what they give the outer query. A limit, or what was kept of a run, might not."""


def domains_of(catalyst: Catalyst, plan: Node) -> set[int]:
    """The ids of the columns that subqueries of a plan, pulled up but not joined yet, take from outside."""
    if not catalyst.asks_plan(plan):
        return set()
    found: set[int] = set()
    for subquery in catalyst.items(plan.subqueriesAll()):
        _collect(catalyst, subquery, found)
    return found


def _collect(catalyst: Catalyst, node: Node, found: set[int]) -> None:
    if node.nodeName() == "DomainJoin":
        found.update(attribute.exprId().id() for attribute in catalyst.items(node.domainAttrs()))
    for child in catalyst.children(node):
        _collect(catalyst, child, found)


def is_domain(catalyst: Catalyst, node: Node, domains: Collection[int]) -> bool:
    """Whether a node computes such values, the same as the outer query has."""
    if not domains or node.nodeName() != "Aggregate":
        return False
    columns = catalyst.items(node.aggregateExpressions())
    if not columns or any(column.exprId().id() not in domains for column in columns):
        return False
    return bool(node.deterministic()) and not catalyst.asks_clock(node) and _is_still(catalyst, node)


def _is_still(catalyst: Catalyst, node: Node) -> bool:
    return node.nodeName() in _STILL and all(_is_still(catalyst, child) for child in catalyst.children(node))
