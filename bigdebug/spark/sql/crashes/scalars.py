"""Scalars: subqueries that are values in the expressions of a query. Spark computes each once, before the rows that it is for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.rewriting import from_below, with_expressions


def subqueries(catalyst: Catalyst, node: Node) -> list[Node]:
    """The plans of the subqueries in the expressions of a node of an optimized plan that are values."""
    found: list[Node] = []

    def noted(subquery: Expr) -> Expr:
        found.append(subquery.plan())
        return subquery

    _changed(catalyst, node, noted)
    return found


def with_values(catalyst: Catalyst, node: Node, plans: Iterator[Node | None]) -> Node | None:
    """The node with the values of its subqueries, which ``plans`` give in order; None if one of them is None, or has several rows."""
    unknown = []

    def value(subquery: Expr) -> Expr:
        plan = next(plans)
        rows = [] if plan is None else catalyst.items(catalyst.held(catalyst.frame(plan).limit(2)))
        if plan is None or len(rows) > 1:
            unknown.append(subquery)
            return subquery
        return catalyst.first_of(rows[0], plan) if rows else catalyst.null_of(subquery)

    made = _changed(catalyst, node, value)
    return None if unknown else made


def _changed(catalyst: Catalyst, node: Node, change: Callable[[Expr], Expr]) -> Node:
    def changed(part: Expr) -> Expr:
        return change(part) if part.nodeName() == "ScalarSubquery" else part

    return with_expressions(catalyst, node, lambda e: from_below(catalyst, e, changed) if catalyst.asks_plan(e) else e)
