"""Blamed: what tasks tell of crashes, as the culprits of a run."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, repeat, takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from bigdebug.agents.guards.crash import Crash, Place, Raised
from bigdebug.agents.guards.noted import Noted
from bigdebug.errors import IncompleteLineageError
from bigdebug.graph import Stage
from bigdebug.shown import counted, shown
from bigdebug.spark.raised import OfFunction
from bigdebug.spark.rdd.lineage_rdd import LineageRDD
from bigdebug.trace.culprit import CrashCulprit
from bigdebug.trace.culprits import Culprits
from bigdebug.trace.run import Run
from bigdebug.trace.watched import unpickled

if TYPE_CHECKING:
    from bigdebug.spark.rdd.recorder import Recorder


class Blamed:
    """Makes the culprits of one run."""

    def __init__(self, recorder: Recorder, run: Run) -> None:
        self._recorder = recorder
        self._run = run

    def culprits(self, stage: Stage, partition: int, crashes: Noted, failed: Container[int] | None = None) -> Iterator[CrashCulprit]:
        """Those of a partition of a stage, of all of which the crashes are told, in order. The run ``failed`` of these, None of all: it went on from the others."""
        seen: Counter[tuple[int, int | None]] = Counter()
        for number, (operator, position, again) in enumerate(crashes.places()):
            side = 0 if operator in stage.operators else 1 + stage.branch
            place = Place(operator, partition, position, seen[operator, position], side)
            spared = failed is not None and number not in failed
            yield CrashCulprit(Told(self, stage, partition, crashes, number), self._run.graph[operator], partition, place, again, spared=spared)
            seen[operator, position] += not again

    def early(self, stage: Stage, partition: int, crashes: Noted, culprits: Culprits) -> CrashCulprit:
        """The first one of a partition that is being looked at, the last that is noted. Where it came from is known when that has come to its end: who asks, waits."""
        *_, first = self.culprits(stage, partition, crashes)
        return replace(first, told=_ToldEarly(self, stage, partition, crashes, culprits))

    def reached(self, stage: Stage, partition: int, segment: int, position: int | None) -> LineageRDD | None:
        """The trace over the record at ``position`` of those before a segment; over what it was sent as, before a shuffle that it crashed behind."""
        if position is None:
            return None
        at, run = np.array([position], dtype=np.int64), self._run
        self._recorder.questions(run)
        if segment == 0 and stage.fetches and run.graph[stage.reads].form.merges:
            standing = run.lineage.sent(stage, partition, at)
        else:
            standing = {stage.segments[segment - 1].operators[-1] if segment else stage.reads: {partition: at}}
        return LineageRDD(run, standing, lambda: standing, self._recorder)


def iterators(crashes: Iterable[Noted]) -> list[str]:
    """What is said of records that crashed and were to give others: nothing, if there is none."""
    number = sum(each.iterators for each in crashes)
    if not number:
        return []
    return [
        (f"{counted(number)} that crashed {'is an iterator, or has' if number == 1 else 'are iterators, or have'} some in it: what that had yet to give was not looked at, and is left out with it. "
        "Have the function make lists, and each of their records is known by itself.")
    ]


def not_told(found: Sequence[CrashCulprit], early: Sequence[CrashCulprit]) -> list[CrashCulprit]:
    """Those of the culprits that were not told ``early``; of these it is known now where they came from."""
    told = {culprit.place: culprit.told for culprit in early}
    fresh = []
    for culprit in found:
        before = None if culprit.again else told.get(culprit.place)
        if isinstance(before, _ToldEarly) and isinstance(culprit.told, Told):
            before.found = culprit.told
        else:
            fresh.append(culprit)
    return fresh


def told_once(found: Iterable[CrashCulprit], known: Iterable[CrashCulprit]) -> list[CrashCulprit]:
    """Those of the culprits that are not known from another stage. What a program reads twice (a self join) may be computed in two, and its records crash in both at one place: what is decided of the one is decided of the other."""
    stages: dict[tuple[Any, ...], str] = {}
    fresh = []
    for culprit, is_new in chain(zip(known, repeat(False)), zip(found, repeat(True))):
        if isinstance(culprit.told, Told):
            stage = stages.setdefault((culprit.place, culprit.again, culprit.told.level(culprit.operator.id)), culprit.told.stage)
            is_new = is_new and stage == culprit.told.stage
        if is_new:
            fresh.append(culprit)
    return fresh


class Told(OfFunction):
    """One of the crashes that a task noted, read when it is asked for: most of thousands never are."""

    __slots__ = ("_blamed", "_crashes", "_number", "_partition", "_stage", "_traced")

    def __init__(self, blamed: Blamed, stage: Stage, partition: int, crashes: Noted, number: int) -> None:
        self._blamed = blamed
        self._stage = stage
        self._partition = partition
        self._crashes = crashes
        self._number = number
        self._traced: tuple[LineageRDD | None] | None = None

    @property
    def stage(self) -> str:
        return self._stage.id

    def level(self, operator: int) -> int:
        """The operator whose records are counted up to the place of a crash in ``operator``."""
        before = takewhile(lambda segment: operator not in segment.operators, self._stage.segments)
        return deque((self._stage.reads, *(segment.operators[-1] for segment in before)), maxlen=1)[0]

    @property
    def _crash(self) -> Crash:
        return self._crashes[self._number]

    @property
    def raised(self) -> Raised:
        return self._crash.raised

    @property
    def record(self) -> Any:
        crash = self._crash
        return None if crash.record is None and crash.shown is None else unpickled(crash.record, crash.shown or "")

    @property
    def as_given(self) -> tuple[bytes | None, str | None]:
        """The record's pickle, as the task made it, or its text if it could not be pickled."""
        return self._crash.record, self._crash.shown

    @property
    def met(self) -> str | None:
        return self._crash.met

    def reached(self) -> LineageRDD | None:
        """The trace over the record where it had come to, which its sources are behind."""
        crash = self._crash
        return self._blamed.reached(self._stage, self._partition, crash.segment, crash.position)

    def trace(self) -> LineageRDD | None:
        if self._traced is None:
            here = self.reached()
            self._traced = (None if here is None else here.goBackAll(),)
        return self._traced[0]

    def names(self) -> Iterable[tuple[int, int]]:
        trace = self.trace()
        return () if trace is None else trace.source_ids()


class _ToldEarly(Told):
    """What is told of a crash before its task has come to its end; ``found`` is what the task told then."""

    __slots__ = ("_culprits", "found")

    def __init__(self, blamed: Blamed, stage: Stage, partition: int, crashes: Noted, culprits: Culprits) -> None:
        super().__init__(blamed, stage, partition, crashes, len(crashes) - 1)
        self._culprits = culprits
        self.found: Told | None = None

    @property
    def settled(self) -> bool:
        return self.found is not None

    def reached(self) -> LineageRDD | None:
        return self._known().reached()

    def trace(self) -> LineageRDD | None:
        return self._known().trace()

    def _known(self) -> Told:
        while self.found is None and self._culprits.more():
            pass
        if self.found is None:
            raise IncompleteLineageError(
                f"It is not known where {shown(self.record)} came from: its partition could not be looked at to the end, or there it did not crash once more",
                remedy="See what run.culprits.unknown says, and whether its function depends on something else than its input.",
            )
        return self.found

    def names(self) -> Iterable[tuple[int, int]]:
        return () if self.found is None else self.found.names()
