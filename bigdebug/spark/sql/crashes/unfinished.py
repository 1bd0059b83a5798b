"""Unfinished: which partitions of the source of a query had not finished when it failed. Nothing crashed in the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from bigdebug.errors import BigdebugError
from bigdebug.spark.failing import Failed, failed_stages
from bigdebug.spark.process import is_one_process
from bigdebug.spark.sql.crashes.walk import through
from bigdebug.spark.sql.crashes.waves import Partitions, every
from bigdebug.spark.sql.plans.calls import functions_of
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.executions import KEPT, planned_at, reads_cache
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.runs import FrameRun

if TYPE_CHECKING:
    from bigdebug.spark.sql.action import Action

_NARROW = {"Project", "Filter", "Generate", "Expand", "MapInPandas", "MapInArrow", "PythonMapInArrow"}
"""Nodes that run where their input is read, a partition of it in a partition of theirs."""

_KNOWN = _NARROW | {
    "Aggregate", "Window", "Sort", "RepartitionByExpression", "FlatMapGroupsInPandas", "FlatMapGroupsInArrow",
}
"""With those whose input is shuffled, if not for them, then for what is above."""

_CLEANING = "spark.sql.classic.shuffleDependency.fileCleanup.enabled"
"""With it, Spark lets go of what stages wrote when a query ends."""

_FILES = "org.apache.spark.sql.execution.datasources.HadoopFsRelation"


@dataclass(frozen=True)
class Failure:
    """An action that failed: between when, in nanoseconds of this machine's clock, and why. ``cut`` is what decides how files were cut into
    partitions, as far as that is settings; None if that is not known. ``executed`` are Spark's plans of it, if they are known.
    """

    began: int
    ended: int
    problem: BaseException
    cut: tuple[int, int] | None
    executed: Sequence[Any] = ()

    @classmethod
    def of(cls, catalyst: Catalyst, action: Action, problem: BaseException, executed: Sequence[Any]) -> Failure:
        """That of an action that has just failed with ``problem``."""
        try:
            executed = () if str(catalyst.spark.conf.get(_CLEANING, "false")).lower() == "true" else executed
            known = action.frame_to_run is action.frame and not reads_cache(catalyst, catalyst.frame(Catalyst.plan(action.frame)))
            if known and action.name in KEPT:
                known = planned_at(action.frame, action.began / 1e9) is None
            cut = _cut(catalyst.spark) if known else None
        except (Py4JError, PySparkException):  # then all partitions are looked at
            cut = None
        return cls(action.began, action.ended, problem, cut, executed)


def _cut(spark: Any) -> tuple[int, int] | None:
    """The settings of a session, and how many cores its context has; None if these may come and go."""
    sc = spark.sparkContext
    steady = is_one_process(sc) or bool(sc._jsc.sc().conf().contains("spark.default.parallelism"))
    return (int(spark._jsparkSession.sessionState().conf().settings().hashCode()), int(sc.defaultParallelism)) if steady else None


class Unfinished:
    """Of a query that failed, with the only one of its sources, which may be what a stage before wrote.

    A query over several sources, or one that stops when it has enough rows, tells of no partition that all of it was computed.
    """

    def __init__(self, catalyst: Catalyst, run: FrameRun, failure: Failure, sources: Sequence[Node], above: Sequence[Node]) -> None:
        """``above`` its ``sources`` are the other nodes that had not finished, also those of subqueries."""
        self._catalyst = catalyst
        self._run = run
        self._failure = failure
        self._sources = sources
        self._above = above

    @cached_property
    def _failed(self) -> Failed | None:
        """The stage that failed, if it is certain that it is one of this query, of which nothing puts partitions together that were read."""
        failure = self._failure
        if len(self._sources) != 1 or not {node.nodeName() for node in self._above} <= _KNOWN:
            return None
        failed = failed_stages(self._catalyst.spark.sparkContext, failure.began, failure.ended)
        if len(failed) != 1 or not _says(failed[0].reason, failure.problem):
            return None  # another query failed beside this one, or this one not of a task
        return failed[0]

    @property
    def known(self) -> bool:
        """Whether it is known what failed first."""
        return self._failed is not None and self._failed.ran < math.inf

    @property
    def brief(self) -> bool:
        """Whether it had run so shortly that all who ask may wait for it."""
        return self._failed is not None and self._failed.brief

    def _reads(self, failed: Failed, source: Node) -> bool:
        """Whether it is certain that the stage read a source, in partitions that come again."""
        if source.nodeName() == "LogicalRDD":
            return int(source.rdd().id()) in failed.rdds
        return failed.at_source and source.equals(self._sources[0]) and (source.nodeName() == "Range" or self._is_cut_again(source))

    def _is_cut_again(self, source: Node) -> bool:
        """Whether a source is files that are cut into the same partitions whatever is asked of them."""
        c, failure = self._catalyst, self._failure
        if source.nodeName() != "LogicalRelation" or not c.is_a(source.relation(), _FILES) or failure.cut is None or failure.cut != _cut(c.spark):
            return False
        files = source.relation()
        # Filters on columns that the names of files tell, choose files.
        told = files.partitionSchema().length() or source.output().length() != files.dataSchema().length()
        if told or files.bucketSpec().isDefined() or not files.sparkSession().equals(c.spark._jsparkSession):
            return False
        try:
            self._run.questions.check()
            return not self._run.questions.moved
        except BigdebugError:  # they are others now
            return False

    def runs_there(self, node: Node) -> bool:
        """Whether all that a node computes of the rows below it, it computes in the stage that reads them."""
        if node.nodeName() == "Aggregate":
            return not functions_of(self._catalyst, node) and all(map(self._is_bare, self._catalyst.items(node.aggregateExpressions())))
        return node.nodeName() in _NARROW

    def _is_bare(self, column: Expr) -> bool:
        """Whether nothing is computed of a key, or of the value of an aggregate: that is behind the shuffle."""
        value = self._catalyst.children(column)[0] if column.nodeName() == "Alias" else column
        return value.nodeName() in ("AttributeReference", "Literal", "AggregateExpression")

    def of(self, plan: Node, partitions: int) -> Partitions:
        """Those of the partitions of a plan that are to be looked at, the one first that failed: all of them where it is not known which."""
        plan = through(self._catalyst, plan, _NARROW)
        failed = None if self._catalyst.children(plan) else self._failed
        if failed is None or failed.tasks != partitions or not self._reads(failed, plan):
            return every(plan, partitions)
        left = sorted(set(range(partitions)) - failed.finished, key=lambda partition: (partition != failed.first, partition))
        return Partitions(left, failed.soon)


def _says(reason: str, problem: BaseException) -> bool:
    """Whether Spark failed a stage for what the user was told: of Python's exceptions what was raised, of Spark's the place in the query."""
    last = str(problem).strip().rpartition("\n")[2].strip()
    return bool(last) and any(line.strip() == last or line.rstrip().endswith(f": {last}") for line in reason.splitlines())
