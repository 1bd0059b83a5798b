"""Watching: the watches of one session, what jobs are asked to tell for them, and what becomes of what tasks tell."""

from __future__ import annotations

import inspect
import itertools
import pickle
import threading
import time
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
from pyspark.cloudpickle import dumps
from pyspark.sql import DataFrame

from bigdebug.agents.watches.sealed import Secret
from bigdebug.agents.watches.tap import KEPT_ERRORS, MOST_ERRORS
from bigdebug.agents.watches.wanted import Asked, Wanted
from bigdebug.errors import NotCapturedError
from bigdebug.graph import Operator
from bigdebug.shown import shown
from bigdebug.spark.listening import Line, Listener, Message
from bigdebug.spark.raised import told
from bigdebug.spark.rdd.latency import Latency
from bigdebug.trace.culprits import Described
from bigdebug.trace.watch import Steering, Watch
from bigdebug.trace.watched import GuardError, Seen, WatchedRecord

if TYPE_CHECKING:
    from bigdebug.agents.stage import Report
    from bigdebug.spark.rdd.recorded import Recorded as Captured
    from bigdebug.spark.rdd.recorder import Recorder
    from bigdebug.trace.run import Run

class Watching:
    """Opens watches, and hears for them. Costs nothing while there are none: no thread, no socket, no property of a job."""

    def __init__(self, recorder: Recorder) -> None:
        self.secret = Secret()
        self._recorder = recorder
        self._ids = itertools.count(1)
        self._alone = threading.RLock()
        self._open: dict[str, Watch] = {}
        self._known: WeakValueDictionary[str, Watch] = WeakValueDictionary()
        self._latency: WeakKeyDictionary[Watch, Latency] = WeakKeyDictionary()
        """Those that tasks may still tell of, as long as somebody has them."""
        self._guards: dict[str, bytes | None] = {}
        self._names: dict[int, Operator] = {}
        self._tasks: dict[Line, dict[str, Any]] = {}
        self._listener: Listener | None = None

    # ---- watches ----------------------------------------------------------------------------------------------

    def open(
        self, op: Any, guard: Any, timeout: float | None, slow: float | None, most: int, rate: int,
    ) -> Watch:
        """A new watch; it is asked of every action that begins from now on."""
        operator = None if op is None else self._operator(op)
        if guard is None and timeout is None and slow is None:
            raise TypeError("watch() takes a guard for the records of an RDD, or timeout=, or slow=; dbg.watch(rdd, lambda record: ...)")
        if guard is not None and operator is None:
            raise TypeError("a guard is called on the records of one RDD; dbg.watch(rdd, guard)")
        for name, given, kind in (("timeout", timeout, int | float), ("slow", slow, int | float), ("most", most, int), ("rate", rate, int)):
            if given is not None and (not isinstance(given, kind) or isinstance(given, bool) or not given > 0):
                raise ValueError(f"{name} is a number above 0, not {shown(given)}")
        latency = Latency(most, slow)
        watch = Watch(
            f"w{next(self._ids)}", operator, guard, timeout, slow, most, rate, Steering(self._change, self._stop, self._trace), latency,
        )
        pickled = _pickled(guard)
        with self._alone:
            if self._listener is None:
                self._listener = Listener(self._recorder.sc, self.secret, self._heard, self._orders)
            self._guards[watch.id] = pickled
            self._known[watch.id], self._latency[watch] = watch, latency
            self._open[watch.id] = watch
        return watch

    @property
    def on(self) -> tuple[Watch, ...]:
        """The watches that are on."""
        with self._alone:
            return tuple(self._open.values())

    def close(self) -> None:
        """Stop all watches."""
        for watch in self.on:
            watch.stop()

    def asked(self) -> Asked | None:
        """What an action that begins now asks of its tasks; None if there is no watch."""
        with self._alone:
            if self._listener is None:
                return None
            wanted = [
                Wanted(w.id, None if w.operator is None else w.operator.id, w.guard is not None, w.timeout, w.deviations, w.rate)
                for w in self._open.values()
            ]
            return Asked(self._listener.address, tuple(wanted))

    def compiled(self, rdds: Iterable[Captured]) -> None:
        """These are the RDDs of a job to come."""
        self._names.update((rdd._definition.operator.id, rdd._definition.operator) for rdd in rdds)

    def _operator(self, op: Any) -> Operator:
        if isinstance(op, DataFrame):
            raise TypeError(
                "a watch is on the records of an RDD, and Spark computes the rows of a DataFrame itself; watch df.rdd, or ask "
                'dbg.lineage(df).where("...") for the rows that you look for'
            )
        operator = op if isinstance(op, Operator) else getattr(getattr(op, "_definition", None), "operator", None)
        if not isinstance(operator, Operator) or getattr(op, "_recorder", self._recorder) is not self._recorder:
            raise TypeError(f"watch() takes an RDD of dbg.context, or an operator of a run's graph, not {shown(op)}")
        return operator

    def _change(self, watch: Watch, guard: Any) -> None:
        if watch.operator is None and guard is not None:
            raise TypeError("a guard is called on the records of one RDD; dbg.watch(rdd, guard)")
        if not watch.on:
            raise ValueError("this watch has been stopped, and nobody would call the guard; dbg.watch(rdd, guard) makes a new one")
        pickled = _pickled(guard)
        with self._alone:
            watch.generation += 1
            self._guards[watch.id] = pickled
            listener = self._listener
        if listener is not None:
            listener.tell(("guard", watch.id, watch.generation, pickled))

    def _disable(self, watch: Watch) -> None:
        """Call a guard no more that raises all the time; the user may give another."""
        with self._alone:
            watch.disabled = True
            self._guards[watch.id] = None
            listener = self._listener
        if listener is not None:
            listener.tell(("guard", watch.id, watch.generation, None))

    def _stop(self, watch: Watch) -> None:
        with self._alone:
            self._open.pop(watch.id, None)
            self._guards.pop(watch.id, None)
            listener = self._listener
            last = not self._open
            if last:
                self._listener = None
        if listener is not None:
            listener.tell(("guard", watch.id, watch.generation + 1, None))
            listener.tell(("stop", watch.id))
            if last:
                listener.close()

    def _orders(self) -> list[Message]:
        with self._alone:
            return [("guard", watch.id, watch.generation, self._guards[watch.id]) for watch in self._open.values()]

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

    def _heard(self, line: Line, message: Message) -> None:
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
                if watch.on and self._guards.get(watch.id) is not None and (watch.disabled or watch.failed >= MOST_ERRORS):
                    self._disable(watch)
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
            case ("error", _, pickled, text, raised):
                assert watch.operator is not None
                what = told(raised, watch.operator)
                del what["locals"]
                watch.raised(GuardError(pickle.loads(pickled) if pickled else Described(text), **what), KEPT_ERRORS)
            case ("slow", _, operator, position, came, seconds, pickled, text):
                latency.took(self._facts(task, operator, self._before(task, operator, position), came, pickled, text), seconds)
            case ("hang", _, number, operator, position, came, seconds, pickled, text, where):
                facts = self._facts(task, operator, self._before(task, operator, position), came, pickled, text)
                latency.hangs_at((line, number), time.monotonic() - seconds, where, facts)
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

    def _trace(self, seen: Sequence[Seen], back: bool) -> Any:
        """The trace over records, those of the latest run; or over what they were made of."""
        known = [record for record in seen if record.at is not None]
        if not known:
            raise NotCapturedError("This watch has no records yet that a trace could be over", remedy="Run an action that they pass in.")
        run = known[-1].run
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


def _pickled(guard: Any) -> bytes | None:
    """A guard, as it travels."""
    if guard is None:
        return None
    if not callable(guard):
        raise TypeError(f"the guard is a function of a record, not {shown(guard)}; dbg.watch(rdd, lambda record: ...)")
    try:
        inspect.signature(guard).bind(None)
    except TypeError as problem:
        raise TypeError(f"the guard is a function of one record, and {shown(guard)} is not: {problem}") from problem
    except ValueError:  # some built-in functions do not tell
        pass
    found: bytes = dumps(guard)  # type: ignore[no-untyped-call]
    return found
