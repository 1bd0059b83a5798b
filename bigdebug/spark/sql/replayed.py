"""Replayed: a query over other records, which have the names that they have in the run, so that what it gives leads back to those of the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bigdebug.model import Origin, Rids, Statistics
from bigdebug.spark.sql.leaf import Leaf
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.reading import PlanOperator
from bigdebug.spark.sql.runs import FrameRun

_NAME = "__bigdebug_entered"


def with_name(catalyst: Catalyst, node: Node, plan: Node, name: Expr) -> Node:
    """The columns of ``node``, and the name of each row, of a plan that has them."""
    return catalyst.project([*catalyst.items(node.output()), catalyst.alias(name, _NAME)], plan)


def without_name(catalyst: Catalyst, plan: Node) -> Node:
    """The columns alone."""
    return catalyst.project(catalyst.items(plan.output())[:-1], plan)


@dataclass(frozen=True)
class EnteredLeaf(Leaf):
    """What a replay reads in the place of an operator: ``plan`` has its columns and, last, the names of the rows in the run. ``source`` tells where these came
    from, if it was a source.
    """

    plan: Node = None
    source: Leaf | None = None

    def named(self, catalyst: Catalyst) -> tuple[Node, Expr]:
        named = catalyst.project([*catalyst.items(self.node.output()), catalyst.alias(self.plan.output().last(), _NAME)], self.plan)
        return named, named.output().last()

    def origins(self, catalyst: Catalyst, rids: Rids) -> list[Origin]:
        assert self.source is not None
        return self.source.origins(catalyst, rids)


def run_of(run: FrameRun, frame: Any, root: PlanOperator, entered: Mapping[int, Node]) -> FrameRun:
    """A run of no action: the query of ``run`` as it is replayed, ``entered`` by these plans, under the conditions of then. It is none of the user's."""
    leaves, catalyst = run.questions.leaves, run.questions.catalyst
    made = {
        operator.id: _entered(catalyst, operator, leaves.get(operator.id), entered[operator.id]) if operator.id in entered else leaves[operator.id]
        for operator in root if operator.id in entered or operator.id in leaves
    }
    return FrameRun(run.id, f"replay of {run.name}", "replay", "succeeded", frame, run.questions.replayed(root, made), Statistics(-1, -1, -1), run.crossing)


def _entered(catalyst: Catalyst, operator: PlanOperator, leaf: Leaf | None, plan: Node) -> EnteredLeaf:
    if leaf is None:
        return EnteredLeaf(operator.id, str(operator), operator.node, catalyst.column(plan.output().last()), counts=True, name=str(operator), plan=plan)
    return EnteredLeaf(operator.id, leaf.dataset, operator.node, leaf.rid, counts=True, name=leaf.name, view=leaf.view, plan=plan, source=leaf)
