"""Unfinished: which partitions of the source of a query had not finished when it failed. Nothing crashed in the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bigdebug.errors import BigdebugError
from bigdebug.spark.failing import Failed, failed_stages
from bigdebug.spark.jobs import is_one_process
from bigdebug.spark.sql.calls import functions_of
from bigdebug.spark.sql.catalyst import Catalyst
from bigdebug.spark.sql.executions import KEPT, planned_at, reads_cache
from bigdebug.spark.sql.expressions import Node
from bigdebug.spark.sql.runs import FrameRun

if TYPE_CHECKING:
    from bigdebug.spark.sql.recorder import Action

_NARROW = {"Project", "Filter", "Generate", "Expand", "MapInPandas", "MapInArrow", "PythonMapInArrow"}
"""Nodes that run where their input is read, and compute all of its rows."""

_FILES = "org.apache.spark.sql.execution.datasources.HadoopFsRelation"


@dataclass(frozen=True)
class Failure:
    """An action that failed: between when, in nanoseconds of this machine's clock, and why. ``cut`` is what decides how files were cut into
    partitions, as far as that is settings; None if that is not known.
    """

    began: int
    ended: int
    problem: BaseException
    cut: tuple[int, int] | None

    @classmethod
    def of(cls, catalyst: Catalyst, action: Action, problem: BaseException) -> Failure:
        """That of an action that has just failed with ``problem``."""
        known = action.frame_to_run is action.frame and not reads_cache(catalyst, action.frame)
        if known and action.name in KEPT:
            known = planned_at(action.frame, action.began / 1e9) is None
        return cls(action.began, action.ended, problem, _cut(catalyst.spark) if known else None)


def _cut(spark: Any) -> tuple[int, int] | None:
    """The settings of a session, and how many cores its context has; None if these may come and go."""
    sc = spark.sparkContext
    steady = sc.getConf().contains("spark.default.parallelism") or is_one_process(sc)
    return (int(spark._jsparkSession.sessionState().conf().settings().hashCode()), int(sc.defaultParallelism)) if steady else None


class Unfinished:
    """Of a query that failed, with the only one of its sources.

    A query over several sources, or one that stops when it has enough rows, tells of no partition that all of it was computed.
    """

    def __init__(self, catalyst: Catalyst, run: FrameRun, failure: Failure, nodes: Sequence[Node]) -> None:
        """``nodes`` are those of the query's plan, and of the subqueries in it."""
        self._catalyst = catalyst
        self._run = run
        self._failure = failure
        self._nodes = nodes

    @cached_property
    def _source(self) -> Node | None:
        """What is read, if there is nothing else."""
        leaves = [node for node in self._nodes if not self._catalyst.children(node)]
        return leaves[0] if len(leaves) == 1 else None

    @cached_property
    def _stage(self) -> Failed | None:
        """The stage that failed, if it is certain that it read the source of this query, in partitions that come again."""
        failure, source = self._failure, self._source
        if source is None:
            return None
        failed = failed_stages(self._catalyst.spark.sparkContext, failure.began)
        meanwhile = [each for each in failed if each.ended <= failure.ended // 1_000_000]
        if len(meanwhile) != 1 or _last_line(failure.problem) not in meanwhile[0].reason:
            return None  # another query failed beside this one, or this one not of a task
        if source.nodeName() == "LogicalRDD":
            certain = int(source.rdd().id()) in meanwhile[0].rdds
        else:
            certain = meanwhile[0].at_source and (source.nodeName() == "Range" or self._is_cut_again(source, failure))
        return meanwhile[0] if certain else None

    def _is_cut_again(self, source: Node, failure: Failure) -> bool:
        """Whether a source is files that are cut into the same partitions whatever is asked of them."""
        c = self._catalyst
        if source.nodeName() != "LogicalRelation" or not c.is_a(source.relation(), _FILES) or failure.cut is None or failure.cut != _cut(c.spark):
            return False
        files = source.relation()
        # Filters on columns that the names of files tell, choose files.
        told = files.partitionSchema().length() or source.output().length() != files.dataSchema().length()
        if told or files.bucketSpec().isDefined() or not files.sparkSession().equals(c.spark._jsparkSession):
            return False
        try:
            self._run.questions.check()
        except BigdebugError:  # they are others now
            return False
        return True

    def runs_there(self, node: Node) -> bool:
        """Whether all that a node computes of the rows below it, it computes in the stage that reads them."""
        return node.nodeName() in _NARROW or (node.nodeName() == "Aggregate" and not functions_of(self._catalyst, node))

    def of(self, plan: Node, partitions: int) -> list[int]:
        """Those of the partitions of a plan that are to be looked at, the one first that failed: all of them where it is not known which."""
        while (below := self._catalyst.children(plan)) and plan.nodeName() in _NARROW:
            (plan,) = below
        stage = None if below or self._source is None or not plan.equals(self._source) else self._stage
        if stage is None or stage.tasks != partitions:
            return list(range(partitions))
        first, finished = stage.first, stage.finished
        return sorted(set(range(partitions)) - finished, key=lambda partition: (partition != first, partition))


def _last_line(problem: BaseException) -> str:
    """Of Python's exceptions what was raised, of Spark's the place in the query."""
    return str(problem).strip().rpartition("\n")[2].strip()
