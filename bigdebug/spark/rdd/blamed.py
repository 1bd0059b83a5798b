"""Blamed: what tasks tell of crashes, as the culprits of a run."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from bigdebug.agents.guards.crash import Crash
from bigdebug.agents.guards.policy import Place
from bigdebug.graph import Stage
from bigdebug.spark.raised import told
from bigdebug.spark.rdd.lineage_rdd import LineageRDD
from bigdebug.trace.culprits import CrashCulprit, Described
from bigdebug.trace.run import Run

if TYPE_CHECKING:
    from bigdebug.spark.rdd.recorder import Recorder


class _Origin:
    """Where a culprit came from, traced once."""

    __slots__ = ("_known", "_tracing")

    def __init__(self, tracing: Callable[[], LineageRDD | None]) -> None:
        self._tracing = tracing
        self._known: list[LineageRDD | None] = []

    def found(self) -> LineageRDD | None:
        if not self._known:
            self._known.append(self._tracing())
        return self._known[0]

    def names(self) -> Iterable[tuple[int, int]]:
        trace = self.found()
        return () if trace is None else trace.source_ids()


class Blamed:
    """Makes the culprits of one run."""

    def __init__(self, recorder: Recorder, run: Run) -> None:
        self._recorder = recorder
        self._run = run

    def culprits(self, stage: Stage, partition: int, crashes: Iterable[Crash]) -> Iterator[CrashCulprit]:
        """Those of a partition of a stage, of all of which the crashes are told, in order."""
        seen: Counter[tuple[int, int | None]] = Counter()
        for crash in crashes:
            at = crash.operator, crash.position
            yield self._culprit(crash, stage, partition, Place(crash.operator, partition, crash.position, seen[at]))
            seen[at] += not crash.again

    def _culprit(self, crash: Crash, stage: Stage, partition: int, place: Place) -> CrashCulprit:
        operator = self._run.graph[crash.operator]
        origin = _Origin(partial(self._trace, stage, partition, crash.segment, crash.position))
        return CrashCulprit(
            record=Described(crash.shown) if crash.record is None else pickle.loads(crash.record), operator=operator, partition=partition,
            met=crash.met, finding=origin.found, naming=origin.names, place=place, again=crash.again, raised=crash.raised, **told(crash.raised, operator),
        )

    def _trace(self, stage: Stage, partition: int, segment: int, position: int | None) -> LineageRDD | None:
        """The trace over what the record at ``position`` of those before a segment was made of."""
        if position is None:
            return None
        at, run = np.array([position], dtype=np.int64), self._run
        self._recorder.questions(run)
        if segment == 0 and stage.fetches and run.graph[stage.reads].form.merges:
            standing = run.lineage.sent(stage, partition, at)
        else:
            standing = {stage.segments[segment - 1].operators[-1] if segment else stage.reads: {partition: at}}
        trace: LineageRDD = LineageRDD(run, standing, lambda: standing, self._recorder).goBackAll()
        return trace
