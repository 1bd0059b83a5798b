"""Unfinished: which partitions of the source of a query had not finished when it failed. Nothing crashed in the others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from bigdebug.spark.failing import Failed, failed_stages
from bigdebug.spark.sql.calls import functions_of
from bigdebug.spark.sql.catalyst import Catalyst
from bigdebug.spark.sql.expressions import Node

if TYPE_CHECKING:
    from bigdebug.spark.sql.recorder import Action

_NARROW = {"Project", "Filter", "Generate", "Expand", "MapInPandas", "MapInArrow", "PythonMapInArrow"}
"""Nodes that run where their input is read, and compute all of its rows."""

_FILES = "org.apache.spark.sql.execution.datasources.HadoopFsRelation"

_FIXED = {"LogicalRDD", "Range", "InMemoryRelation"}
"""Sources in memory, whose partitions are the same in every query."""


class Unfinished:
    """Of a query that an action ran, with the only one of its sources.

    A query over several sources, or one that stops when it has enough rows, tells of no partition that all of it was computed.
    """

    def __init__(self, catalyst: Catalyst, action: Action, nodes: Sequence[Node]) -> None:
        """``nodes`` are those of the query's plan, and of the subqueries in it."""
        self._catalyst = catalyst
        self._action = action
        self._nodes = nodes

    @cached_property
    def _source(self) -> Node | None:
        """What is read, if it has the same partitions whatever is asked of it."""
        leaves = [node for node in self._nodes if not self._catalyst.children(node)]
        return leaves[0] if len(leaves) == 1 and self._is_fixed(leaves[0]) else None

    def _is_fixed(self, leaf: Node) -> bool:
        if leaf.nodeName() in _FIXED:
            return True
        if leaf.nodeName() != "LogicalRelation" or not self._catalyst.is_a(leaf.relation(), _FILES):
            return False
        files = leaf.relation()
        # Filters on columns that the names of files tell, choose files.
        told = files.partitionSchema().length() or leaf.output().length() != files.dataSchema().length()
        return not told and bool(files.bucketSpec().isEmpty())

    @cached_property
    def _failed(self) -> Failed | None:
        """The stage that failed, if it is certain that it was this query's: no other one failed meanwhile, and it says why."""
        action, problem = self._action, self._action.problem
        failed = failed_stages(self._catalyst.spark.sparkContext, action.began) if problem is not None and self._source is not None else []
        meanwhile = [each for each in failed if each.ended <= action.ended // 1_000_000]
        if len(meanwhile) == 1 and meanwhile[0].at_source and _last_line(problem) in meanwhile[0].reason:
            return meanwhile[0]
        return None

    def runs_there(self, node: Node) -> bool:
        """Whether all that a node computes of the rows below it, it computes in the stage that reads them."""
        return node.nodeName() in _NARROW or (node.nodeName() == "Aggregate" and not functions_of(self._catalyst, node))

    def of(self, plan: Node, partitions: int) -> list[int]:
        """Those of the partitions of a plan that are to be looked at, the one first that failed: all of them where it is not known which."""
        while (below := self._catalyst.children(plan)) and plan.nodeName() in _NARROW:
            (plan,) = below
        if below or self._source is None or not plan.equals(self._source) or self._failed is None or self._failed.tasks != partitions:
            return list(range(partitions))
        first, finished = self._failed.first, self._failed.finished
        return sorted(set(range(partitions)) - finished, key=lambda partition: (partition != first, partition))


def _last_line(problem: BaseException | None) -> str:
    """Of Python's exceptions what was raised, of Spark's the place in the query."""
    return str(problem).strip().rpartition("\n")[2].strip()
