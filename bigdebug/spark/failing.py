"""Failing: which stages of Spark's failed, and how far they had come. Spark's exceptions do not always tell."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from py4j.protocol import Py4JError

from bigdebug.spark.gateway import classes, items

if TYPE_CHECKING:
    from pyspark import SparkContext

_MOST_TASKS = 5_000
"""Tasks of a stage, the last ones, that are asked what became of them; each costs three calls of the JVM."""

_PATIENCE = 1_000
"""Milliseconds in which Spark's listeners are to come to what has happened."""

_BRIEF = 1.5
"""Seconds that a task ran, and which matter little if they are spent once more: to start a worker takes most of that."""

_BEARABLE = 3.0
"""Seconds that a task ran beside others, in which it has met again what it crashed on when it runs alone: it takes about two thirds of them."""

_PATIENT = 4.0
"""Seconds for a task that ran for longer, which may have crashed at once, for Spark may fail it seconds later (of 16 million lines after 0.7 or 4 s): a worker has to start, and a
shuffle to be read.
"""


class Failed(NamedTuple):
    """A stage of Spark's in which tasks failed: the ids of its RDDs, the first partition of these tasks, how many seconds its task ran, and the partitions that finished.

    It has so many ``tasks``, ``at_source`` if it reads what no other stage wrote, and ``reason`` is what Spark says of it.
    """

    rdds: frozenset[int]
    first: int
    ran: float
    finished: frozenset[int]
    tasks: int
    at_source: bool
    reason: str

    @property
    def soon(self) -> float:
        """Seconds in which what crashed first is looked for by itself, with a worker that has to start; where its task ran for long, it may have crashed later than that."""
        return 2 * self.ran + 2 if self.ran <= _BEARABLE else _PATIENT

    @property
    def brief(self) -> bool:
        """Whether to look for it by itself is hardly longer than to look for all."""
        return self.ran <= _BRIEF


NOTHING = Failed(frozenset(), 0, math.inf, frozenset(), 0, False, "")


def failed_stages(sc: SparkContext, began: int, ended: int | None = None) -> list[Failed]:
    """The stages that have failed from ``began`` to ``ended`` (now, if None), in nanoseconds of this machine's clock, the latest first.

    No stages at all, if Spark has forgotten something of one of them, or does not tell in time.
    """
    jsc: Any = sc._jsc
    jvm = classes(sc._jvm)
    try:
        jsc.sc().listenerBus().waitUntilEmpty(_PATIENCE)
        store = jsc.sc().statusStore()
        wanted = jvm.java.util.Collections.singletonList(jvm.org.apache.spark.status.api.v1.StageStatus.FAILED)
        quantiles, statuses = getattr(store, "stageList$default$4")(), getattr(store, "stageList$default$5")()
        stages = [stage for stage in items(store.stageList(wanted, False, False, quantiles, statuses)) if _is_between(stage, began, ended)]
        # One without failed tasks was only cancelled, because another one failed.
        return [_failed(store, stage) for stage in sorted(stages, key=lambda s: -int(s.stageId())) if int(stage.numFailedTasks())]
    except Py4JError:
        return []


def _is_between(stage: Any, began: int, ended: int | None) -> bool:
    return _at(stage.submissionTime()) >= began // 1_000_000 and (ended is None or _at(stage.completionTime()) <= ended // 1_000_000)


def _at(time: Any) -> int:
    """In milliseconds."""
    return int(time.get().getTime()) if time.isDefined() else 0


def _failed(store: Any, stage: Any) -> Failed:
    became = [(task.status(), int(task.partitionId()), task) for task in items(store.taskList(stage.stageId(), stage.attemptId(), _MOST_TASKS))]
    first, ran = min(((partition, _seconds(task)) for status, partition, task in became if status == "FAILED"), default=(0, math.inf))
    finished = frozenset(partition for status, partition, _ in became if status == "SUCCESS")
    at_source = bool(store.operationGraphForStage(stage.stageId()).incomingEdges().isEmpty())
    reason = str(stage.failureReason().get()) if stage.failureReason().isDefined() else ""
    return Failed(frozenset(map(int, items(stage.rddIds()))), first, ran, finished, int(stage.numTasks()), at_source, reason)


def _seconds(task: Any) -> float:
    """How long a task ran, as far as Spark knows."""
    return int(task.duration().get()) / 1_000 if task.duration().isDefined() else math.inf
