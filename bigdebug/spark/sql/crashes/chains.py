"""Chains: operators behind one another that one pass can look at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bigdebug.spark.sql.crashes.trials import trials
from bigdebug.spark.sql.crashes.walk import Step
from bigdebug.spark.sql.plans import code
from bigdebug.spark.sql.plans.calls import functions_of
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node

_PASSING = ("Project", "Filter")
"""Nodes that give a row for each of theirs, or none."""


def chain(catalyst: Catalyst, steps: Iterable[Step]) -> list[Node]:
    """The first of some steps of a plan, each of which goes on with the one before it, that one pass can look at; none where that gains nothing."""
    nodes: list[Node] = []
    passes: list[int] = []
    for step in steps:
        node = step.node
        functions = functions_of(catalyst, node)
        if len(step.inputs) != 1 or step.asked or not node.deterministic() or (functions and not _calls_by_row(node, functions)):
            break
        nodes.append(node)
        passes.append(any(True for _ in trials(catalyst, node)) + bool(functions))
        if not passes[0] or functions or node.nodeName() not in _PASSING:
            break
    last = max((number for number, count in enumerate(passes) if count), default=0)
    return nodes[: last + 1] if sum(passes) > 1 else []


def _calls_by_row(node: Node, functions: Sequence[Expr]) -> bool:
    return bool(node.nodeName() == "Project") and all(map(code.is_of_row, functions))
