"""Rewriting: plans and expressions with some of their parts changed. What nothing was changed of stays itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node

Change = Callable[[Expr], Expr]


def with_expressions(catalyst: Catalyst, node: Node, change: Change) -> Node:
    """The node with each of its expressions changed; itself if none was."""
    changed = {}
    for i in range(node.productArity()):
        element = node.productElement(i)
        new = _element(catalyst, element, change)
        if new is not element:
            changed[i] = new
    return catalyst.changed(node, changed) if changed else node


def with_inputs(catalyst: Catalyst, tree: Any, change: Callable[[Any], Any]) -> Any:
    """A node with each of its inputs changed, or an expression with what it is made of; itself if none was."""
    children = catalyst.children(tree)
    formed = [change(child) for child in children]
    return catalyst.with_children(tree, formed) if any(new is not old for new, old in zip(formed, children)) else tree


def from_below(catalyst: Catalyst, expression: Expr, change: Change) -> Expr:
    """The expression with all that it is made of changed, and then itself; itself if nothing was."""
    return change(with_inputs(catalyst, expression, lambda child: from_below(catalyst, child, change)))


def _element(catalyst: Catalyst, element: Any, change: Change) -> Any:
    """An argument of a node: an expression, an Option of one, a Seq of some or of such Seqs; or something else."""
    c = catalyst
    if c.is_expression(element):
        return change(element)
    if c.is_a(element, "scala.Option"):
        if not element.isDefined():
            return element
        inner = element.get()
        made = _element(c, inner, change)
        return element if made is inner else c.some(made)
    if c.is_a(element, "scala.collection.immutable.Seq"):
        parts = c.items(element)
        others = [_element(c, part, change) for part in parts]
        return c.seq(others) if any(new is not old for new, old in zip(others, parts)) else element
    return element
