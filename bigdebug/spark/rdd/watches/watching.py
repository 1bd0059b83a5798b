"""Watching: the watches of one session, and what jobs are asked to tell for them."""

from __future__ import annotations

import inspect
import itertools
import threading
from typing import TYPE_CHECKING, Any

from pyspark.cloudpickle import dumps
from pyspark.sql import DataFrame

from bigdebug.agents.watches.sealed import Secret
from bigdebug.agents.watches.wanted import Asked, Wanted
from bigdebug.graph import Operator
from bigdebug.shown import shown
from bigdebug.spark.listening import Listener, Message
from bigdebug.spark.process import watchable
from bigdebug.spark.rdd.watches.hearing import Hearing
from bigdebug.spark.rdd.watches.latency import Latency
from bigdebug.trace.watch import Steering, Watch

if TYPE_CHECKING:
    from bigdebug.spark.rdd.recorder import Recorder


class Watching:
    """Opens watches, and hears for them. Costs nothing while there are none: no thread, no socket, no property of a job."""

    def __init__(self, recorder: Recorder) -> None:
        self.secret = Secret()
        self._recorder = recorder
        self._ids = itertools.count(1)
        self._alone = threading.RLock()
        self._open: dict[str, Watch] = {}
        self._guards: dict[str, bytes | None] = {}
        self.hearing = Hearing(recorder, self._disable)
        self._listener: Listener | None = None

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
        watchable(self._recorder.sc)
        latency = Latency(most, slow)
        watch = Watch(
            f"w{next(self._ids)}", operator, guard, timeout, slow, most, rate, Steering(self._change, self._stop, self.hearing.trace), latency,
        )
        pickled = _pickled(guard)
        with self._alone:
            if self._listener is None:
                self._listener = Listener(self._recorder.sc, self.secret, self.hearing.heard, self._orders, self.close)
            self._guards[watch.id] = pickled
            self.hearing.listen_for(watch, latency)
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
                # A guard may be set while the job runs: it is called where records pass.
                Wanted(w.id, None if w.operator is None else w.operator.id, w.operator is not None, w.timeout, w.deviations, w.rate)
                for w in self._open.values()
            ]
            return Asked(self._listener.address, tuple(wanted))

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
            watch.disabled = False
            if watch.id in self._open:
                self._guards[watch.id] = pickled
            listener = self._listener
        if listener is not None:
            listener.tell(("guard", watch.id, watch.generation, pickled))

    def _disable(self, watch: Watch, generation: int) -> None:
        """Call a guard no more that raises all the time; the user may give another, and may have done so by now."""
        with self._alone:
            if self._guards.get(watch.id) is None or watch.generation != generation:
                return
            watch.disabled = True
            self._guards[watch.id] = None
            listener = self._listener
        if listener is not None:
            listener.tell(("guard", watch.id, generation, None))

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
    try:
        found: bytes = dumps(guard)  # type: ignore[no-untyped-call]
    except Exception as problem:
        raise TypeError(f"the guard cannot be pickled, and so not go to Spark's workers: {type(problem).__name__}: {problem}; let it make what it refers to itself") from problem
    return found
