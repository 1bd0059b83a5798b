"""Unoptimized: a plan without what Spark put in for speed, the same rows with it and without; a trace goes through what that stands for."""

from __future__ import annotations

from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Node
from bigdebug.spark.sql.plans.rewriting import with_inputs


def unoptimized(catalyst: Catalyst, plan: Node) -> Node:
    """The plan over what caches were filled from, and without the limits in groups that a filter above a window allows."""
    c = catalyst
    name = plan.nodeName()
    if name == "InMemoryRelation":
        filled = plan.cacheBuilder().logicalPlan()
        columns = zip(c.items(filled.output()), c.items(plan.output()), strict=True)
        return c.project([c.renamed(column, known) for column, known in columns], unoptimized(c, filled))
    if name == "WindowGroupLimit":
        return unoptimized(c, plan.child())
    made: Node = with_inputs(c, plan, lambda child: unoptimized(c, child))
    return made
