"""Hearing: what becomes of what tasks tell of watches, while they run and when they have ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from bigdebug.agents.watches.tap import KEPT_ERRORS, MOST_ERRORS
from bigdebug.errors import NotCapturedError
from bigdebug.graph import Operator
from bigdebug.spark.listening import Line, Message
from bigdebug.spark.raised import told
from bigdebug.spark.rdd.watches.latency import Latency
from bigdebug.trace.watch import Watch
from bigdebug.trace.watched import GuardError, Seen, WatchedRecord, unpickled

if TYPE_CHECKING:
    from bigdebug.agents.stage import Report
    from bigdebug.spark.rdd.recorded import Recorded as Captured
    from bigdebug.spark.rdd.recorder import Recorder
    from bigdebug.trace.run import Run


class Hearing:
    """Hears for the watches of one session, as long as somebody has them. ``disable`` is called for one whose guard raises all the time."""

    def __init__(self, recorder: Recorder, disable: Callable[[Watch, int], None]) -> None:
        self._recorder = recorder
        self._disable = disable
        self._known: WeakValueDictionary[str, Watch] = WeakValueDictionary()
        self._latency: WeakKeyDictionary[Watch, Latency] = WeakKeyDictionary()
        self._names: dict[int, Operator] = {}
        self._tasks: dict[Line, dict[str, Any]] = {}

    def listen_for(self, watch: Watch, latency: Latency) -> None:
        """From now on tasks may tell of this watch."""
        self._known[watch.id], self._latency[watch] = watch, latency

    def compiled(self, rdds: Iterable[Captured]) -> None:
        """These are the RDDs of a job to come."""
        self._names.update((rdd._definition.operator.id, rdd._definition.operator) for rdd in rdds)

    # ---- what tasks tell --------------------------------------------------------------------------------------

    def settle(self, run: Run, watches: Collection[str], reports: Sequence[Report]) -> None:
        """Take what tasks of an action that has ended have reported: it tells where the driver was not reached, and what did not run."""
        ran = {watch for report in reports for watch in report.watched.watches}
        for watch in [watch for watch in self._told_of() if watch.id in watches] if run.status != "failed" else ():
            if watch.id not in ran and (watch.operator is None or watch.operator.id in run.graph):
                watch.unseen.append(
                    f"Run {run.id} ({run.action}) computed nothing of what is watched: Spark had it from an earlier action, or no Python function reads it."
                )
        for report in reports:
            told_last = report.watched
            for watch in self._told_of():
                if watch.id in told_last.totals:
                    watch.counted((run.id, report.stage, report.partition, report.attempt), told_last.totals[watch.id])
                self._latency[watch].timed((run.id, report.stage, report.partition, report.attempt), told_last.times)
                if told_last.trouble is not None and watch.on and watch.id in told_last.watches:
                    watch.unheard(told_last.trouble)

    def heard(self, line: Line, message: Message) -> None:
        """Take a message of a task. Called in the thread of its connection."""
        task = self._tasks.get(line)
        match message:
            case ("task", facts):
                self._tasks[line] = facts
            case ("end",):
                line.tell([("bye",)])
            case ("lost",):
                self._tasks.pop(line, None)
                for each in self._told_of():
                    self._latency[each].lost(line)
            case ("totals", totals) if task is not None:
                self._counted(task, totals)
            case (_, str(known), *_) if task is not None and (watch := self._known.get(known)) is not None:
                self._told(line, task, watch, message)

    def _counted(self, task: dict[str, Any], totals: dict[str, Any]) -> None:
        key = task["run"], task["stage"], task["partition"], task["task"]
        for watch in self._told_of():
            if watch.id in totals["guards"]:
                watch.counted(key, totals["guards"][watch.id])
                if watch.on and (watch.disabled or watch.failed >= MOST_ERRORS):
                    self._disable(watch, totals["guards"][watch.id][2])
            self._latency[watch].timed(key, totals["times"])

    def _told_of(self) -> list[Watch]:
        return list(self._known.values())

    def _told(self, line: Line, task: dict[str, Any], watch: Watch, message: Message) -> None:
        latency = self._latency[watch]
        match message:
            case ("record", _, position, came, when, pickled, text):
                assert watch.operator is not None
                facts = self._facts(task, watch.operator.id, (watch.operator.id, position), came, pickled, text)
                watch.saw(WatchedRecord(**facts, when=datetime.fromtimestamp(when)))
            case ("error", _, pickled, text, raised, seen):
                assert watch.operator is not None
                what = told(raised, watch.operator)
                del what["locals"]
                watch.raised(GuardError(unpickled(pickled, text), **what, seen=seen), KEPT_ERRORS)
            case ("slow", _, operator, position, came, seconds, pickled, text):
                latency.took(self._facts(task, operator, self._before(task, operator, position), came, pickled, text), seconds)
            case ("hang", _, number, operator, position, came, seconds, pickled, text, where, in_guard):
                at = (operator, position) if in_guard else self._before(task, operator, position)
                facts = self._facts(task, operator, at, came, pickled, text)
                latency.hangs_at((line, number), time.monotonic() - seconds, where, {**facts, "in_guard": in_guard})
            case ("hanging", _, number, _, where):
                latency.hangs_at((line, number), None, where)
            case ("over", _, number, seconds):
                latency.over((line, number), seconds)

    def _facts(self, task: dict[str, Any], operator: int, at: tuple[int, int] | None, came: int, pickled: bytes | None, text: str) -> dict[str, Any]:
        run, partition = task["run"], task["partition"]
        into = at if came < 0 or at is None else (task["into"][operator], came)
        finding = partial(self._sources, run, into, partition)
        return {
            "operator": self._names[operator], "partition": partition, "attempt": task["attempt"], "run": run, "at": at, "came": into,
            "pickled": pickled, "text": text, "finding": finding,
        }

    @staticmethod
    def _before(task: dict[str, Any], operator: int, position: int | None) -> tuple[int, int] | None:
        return None if position is None or operator not in task["before"] else (task["before"][operator], position)

    # ---- traces -----------------------------------------------------------------------------------------------

    def trace(self, seen: Sequence[Seen], back: bool) -> Any:
        """The trace over records, those of the latest run; or over what they were made of."""
        known = [record for record in seen if record.at is not None]
        if not known:
            raise NotCapturedError("This watch has no records yet that a trace could be over", remedy="Run an action that they pass in.")
        run = max((record.run for record in known), key=lambda run: int(run[1:]))
        found: dict[int, dict[int, list[int]]] = {}
        for record in known:
            place = record.came if back else record.at
            if record.run == run and place is not None:
                operator, position = place
                found.setdefault(operator, {}).setdefault(record.partition, []).append(position)
        standing = self._standing(run, found)
        return standing.goBackAll() if back else standing

    def _sources(self, run: str, at: tuple[int, int] | None, partition: int) -> Any:
        return None if at is None else self._standing(run, {at[0]: {partition: [at[1]]}}).goBackAll()

    def _standing(self, run_id: str, found: dict[int, dict[int, list[int]]]) -> Any:
        from bigdebug.spark.rdd.lineage_rdd import LineageRDD

        run = next((known for known in self._recorder.runs if known.id == run_id), None)
        if run is None:
            raise NotCapturedError(
                "The action in which these records passed has not ended, or its run was forgotten", value=run_id,
                remedy="Ask when it has; what a watch tells before is record, operator, partition and position.",
            )
        self._recorder.questions(run)
        standing = {o: {p: np.unique(np.array(at, dtype=np.int64)) for p, at in places.items()} for o, places in found.items()}
        return LineageRDD(run, standing, lambda: standing, self._recorder)
