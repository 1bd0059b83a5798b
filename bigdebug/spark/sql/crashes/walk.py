"""Walk: the nodes of a plan in the order in which they are looked at, each after what it is computed of."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

from bigdebug.spark.sql.crashes import grouped, pushed
from bigdebug.spark.sql.crashes.reused import Reused
from bigdebug.spark.sql.crashes.scalars import subqueries
from bigdebug.spark.sql.plans.calls import as_written, functions_of
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Node


class Step(NamedTuple):
    """A node of a plan, and where its inputs, and the subqueries in its expressions, stand among the nodes before it."""

    node: Node
    inputs: tuple[int, ...]
    written: Node
    """The node that it is a part of in Spark's plan, if not itself."""
    asked: tuple[int, ...] = ()


def through(catalyst: Catalyst, plan: Node, names: Container[str]) -> Node:
    """What is below the nodes of these names, each of which has one input, at the top of a plan; a source, if all are."""
    while (below := catalyst.children(plan)) and plan.nodeName() in names:
        (plan,) = below
    return plan


def steps_of(catalyst: Catalyst, plan: Node, shared: Sequence[Node] = ()) -> list[Step]:
    """The nodes of a plan, the sources first; those that Spark computes once, and those of plans in it that are ``shared``, once, wherever they are read."""
    found: list[Step] = []
    asks = any(map(catalyst.asks_plan, (plan, *shared)))
    reused = Reused(catalyst, shared)

    def add(node: Node) -> int:
        if (end := reused.end(node)) is not None:
            return renamed(end, node)
        end = add_itself(node)
        reused.ends(node, end)
        return end

    def renamed(end: int, node: Node) -> int:
        known = found[end].node
        columns = list(zip(catalyst.items(known.output()), catalyst.items(node.output()), strict=True))
        if all(one.exprId().equals(other.exprId()) for one, other in columns):
            return end
        found.append(Step(catalyst.project([catalyst.renamed(one, other) for one, other in columns], known), (end,), node))
        return len(found) - 1

    def value(subquery: Node) -> int:
        if (end := reused.value(subquery)) is None:
            reused.has_value(subquery, end := add(subquery))
        return end

    def add_itself(node: Node) -> int:
        node = written = as_written(catalyst, pushed.without_pruning(catalyst, node))
        if node.nodeName() == "Aggregate" and functions_of(catalyst, node):
            node = grouped.apart(catalyst, node) or node
        node = pushed.apart(catalyst, node) or node
        inputs = tuple(add(child) for child in catalyst.children(node))
        found.append(Step(node, inputs, written, tuple(map(value, subqueries(catalyst, node))) if asks else ()))
        return len(found) - 1

    add(plan)
    return found
