"""Failing: which stages of Spark's failed, and how far they had come. Spark's exceptions do not always tell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from py4j.protocol import Py4JError

from bigdebug.spark.gateway import classes

if TYPE_CHECKING:
    from pyspark import SparkContext

_MOST_TASKS = 5_000
"""Tasks of a stage that are asked what became of them; each costs two calls of the JVM."""


class Failed(NamedTuple):
    """A stage of Spark's in which a task failed: the ids of its RDDs, the partition of that task, and the partitions that finished."""

    rdds: frozenset[int]
    first: int
    finished: frozenset[int]
    tasks: int = 0
    at_source: bool = False
    """Whether it reads what no other stage wrote."""
    ended: int = 0
    """In milliseconds of this machine's clock."""
    reason: str = ""


NOTHING = Failed(frozenset(), 0, frozenset())


def failed_stages(sc: SparkContext, began: int) -> list[Failed]:
    """The stages that have failed since ``began``, in nanoseconds of this machine's clock, the latest first; none if Spark has forgotten them."""
    jsc: Any = sc._jsc
    jvm = classes(sc._jvm)
    try:
        jsc.sc().listenerBus().waitUntilEmpty()
        store = jsc.sc().statusStore()
        wanted = jvm.java.util.Collections.singletonList(jvm.org.apache.spark.status.api.v1.StageStatus.FAILED)
        quantiles, statuses = getattr(store, "stageList$default$4")(), getattr(store, "stageList$default$5")()
        stages = [s for s in _items(store.stageList(wanted, False, False, quantiles, statuses)) if _at(s.submissionTime()) >= began // 1_000_000]
        return [failed for stage in sorted(stages, key=lambda s: -int(s.stageId())) for failed in _failed(store, stage)]
    except Py4JError:
        return []


def _at(time: Any) -> int:
    """In milliseconds."""
    return int(time.get().getTime()) if time.isDefined() else 0


def _failed(store: Any, stage: Any) -> Iterator[Failed]:
    """The stage, if it is not one that was only cancelled because another one failed."""
    became = {(task.status(), int(task.partitionId())) for task in _items(store.taskList(stage.stageId(), stage.attemptId(), _MOST_TASKS))}
    crashed = [partition for status, partition in became if status == "FAILED"]
    if crashed:
        finished = frozenset(partition for status, partition in became if status == "SUCCESS")
        at_source = bool(store.operationGraphForStage(stage.stageId()).incomingEdges().isEmpty())
        reason = str(stage.failureReason().get()) if stage.failureReason().isDefined() else ""
        yield Failed(frozenset(map(int, _items(stage.rddIds()))), min(crashed), finished, int(stage.numTasks()), at_source, _at(stage.completionTime()), reason)


def _items(found: Any) -> list[Any]:
    """Of a sequence of Scala's."""
    return [found.apply(i) for i in range(found.size())]
