"""A watch: what tasks tell of the records that pass while they run (on-demand watchpoints and latency, BigDebug 4.2, 4.4)."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from bigdebug.graph import Operator
from bigdebug.shown import counted, plain, shown
from bigdebug.trace.table import Table
from bigdebug.trace.watched import GuardError, HungCall, Seen, SlowRecord, WatchedRecord

KEPT_BYTES = 64 << 20
"""Of the records that a watch keeps, as pickles."""

SHOWN = 20
"""Records that a table of a watch lists, the latest ones."""

Totals = tuple[int, int, int, int, bool]
"""Of a task: records that matched, those that were sent, the guard's generation, its exceptions, and whether it is disabled."""


@dataclass(frozen=True)
class Steering:
    """How a watch reaches the tasks: ``change`` its guard, ``stop`` it, and ``trace`` the records that it was told of,
    as they are or ``back`` to the input."""

    change: Callable[[Watch, Any], None]
    stop: Callable[[Watch], None]
    trace: Callable[[Sequence[Seen], bool], Any]


class Latencies(Protocol):
    """What is known of how long calls take, as far as tasks have told."""

    def hangs(self) -> list[HungCall]: ...

    def slow(self) -> list[SlowRecord]: ...


class Watch(AbstractContextManager["Watch"]):
    """Made by ``dbg.watch``; on until ``stop()``, or the end of its block. Ask again, and there is more. Thread-safe.

    ``records`` are the latest for which the guard held, as many as ``most``: of all ``matched`` of them, a task sends as many as
    ``rate`` a second, and never waits. ``hangs`` are calls that take longer than ``timeout`` seconds, ``slow`` records that took longer
    than others of their operator, the slowest first.
    ``errors`` has the first exceptions of the guard, and records that it could not be shown; after 100 of them it is ``disabled``. ``unreached`` says which tasks could not
    tell, and why. ``operator`` is the one that is watched, None for all.
    """

    def __init__(
        self, id: str, operator: Operator | None, guard: Any, timeout: float | None, deviations: float | None, most: int, rate: int,  # noqa: A002
        steering: Steering, latency: Latencies,
    ) -> None:
        self.id, self.operator, self.timeout, self.deviations, self.most, self.rate = id, operator, timeout, deviations, most, rate
        self.generation = 1
        self.on = True
        self.disabled = False
        self.errors: list[GuardError] = []
        self._guard = guard
        self._steering = steering
        self._alone = threading.RLock()
        self._changing = threading.Lock()
        self._records: deque[WatchedRecord] = deque()
        self._arrived = self._bytes = 0
        self.unseen: list[str] = []
        """Of which runs no task computed what is watched, and why."""
        self._totals: dict[Any, Totals] = {}
        self._unreached: Counter[str] = Counter()
        self.latency = latency

    # ---- what the user asks -----------------------------------------------------------------------------------

    @property
    def guard(self) -> Any:
        """The predicate on records of the operator; can be set while a job runs, whose tasks call the new one within 0.2 s."""
        return self._guard

    @guard.setter
    def guard(self, guard: Any) -> None:
        with self._changing:  # and not _alone: tasks that have something to tell must not wait until all have heard
            self._steering.change(self, guard)
            with self._alone:
                self._guard = guard
                self.errors.clear()

    @property
    def records(self) -> list[WatchedRecord]:
        with self._alone:
            return list(self._records)

    @property
    def hangs(self) -> list[HungCall]:
        return self.latency.hangs()

    @property
    def slow(self) -> list[SlowRecord]:
        return self.latency.slow()

    @property
    def matched(self) -> int:
        """For how many records the guard held, as far as tasks have told."""
        with self._alone:
            return max(sum(total[0] for total in self._totals.values()), self._arrived)

    @property
    def failed(self) -> int:
        """How often the guard raised."""
        with self._alone:
            return sum(total[3] for total in self._totals.values() if total[2] == self.generation)

    @property
    def left_out(self) -> int:
        """Of how many records that matched nothing was sent: there were more than ``rate`` a second, or no room."""
        return max(self.matched - self._arrived, 0)

    @property
    def unreached(self) -> list[str]:
        """Why tasks could not tell of records, and how many could not."""
        with self._alone:
            return [f"{why} ({count:,} {'task' if count == 1 else 'tasks'})" for why, count in self._unreached.items()]

    def stop(self) -> None:
        """Watch no more, also in tasks that are running. What is known stays."""
        if self.on:
            self._steering.stop(self)
            self.on = False

    def __exit__(self, *raised: object) -> None:
        self.stop()

    def lineage(self) -> Any:
        """The trace over the records that are known here, as far as the latest run goes that has any: those for which the guard held, else
        those that took long, else those of calls that hang. Raises NotCapturedError while that run's action has not ended.
        """
        return self._steering.trace(self.records or self.slow or self.hangs, False)

    def goBackAll(self) -> Any:  # noqa: N802 (as of a trace)
        """The records of the job's input that they were made of, as for ``lineage``."""
        return self._steering.trace(self.records or self.slow or self.hangs, True)

    # ---- what tasks tell --------------------------------------------------------------------------------------

    def saw(self, record: WatchedRecord) -> None:
        with self._alone:
            self._records.append(record)
            self._arrived += 1
            self._bytes += record.size
            while len(self._records) > self.most or (self._bytes > KEPT_BYTES and len(self._records) > 1):
                self._bytes -= self._records.popleft().size

    def raised(self, error: GuardError, most: int) -> None:
        with self._alone:
            if len(self.errors) < most:
                self.errors.append(error)

    def counted(self, task: Any, totals: Totals) -> None:
        with self._alone:
            self._totals[task] = totals
            self.disabled = self.disabled or (totals[4] and totals[2] == self.generation)

    def unheard(self, why: str) -> None:
        with self._alone:
            self._unreached[why] += 1

    # ---- shown ------------------------------------------------------------------------------------------------

    def tables(self) -> list[Table]:
        """One for each thing that is watched for."""
        found = []
        if self._guard is not None or self.records or self.failed:
            rows = [(shown(r.record), str(r.operator), str(r.partition), f"{r.when:%H:%M:%S.%f}"[:-3], str(r.attempt)) for r in self.records[-SHOWN:]]
            found.append(Table(("record", "operator", "partition", "when", "attempt"), rows, (*self._notes(), *self._missing()), repr(self)))
        if self.timeout is not None:
            calls = [
                (shown(h.record), str(h.operator), str(h.partition), f"{h.seconds:.1f}", h.state, h.where)
                for h in self.hangs[-SHOWN:]
            ]
            found.append(Table(("record", "operator", "partition", "seconds", "state", "line"), calls, self._missing(), f"calls longer than {self.timeout:g} s"))
        if self.deviations is not None:
            rows = [
                (shown(s.record), str(s.operator), str(s.partition), f"{s.seconds:.3g}", f"{s.deviations:.1f}") for s in self.slow[:SHOWN]
            ]
            caption = f"records that took longer than {self.deviations:g} standard deviations beyond the mean"
            found.append(Table(("record", "operator", "partition", "seconds", "deviations"), rows, self._missing(), caption))
        return found

    def _missing(self) -> list[str]:
        return [*self.unreached, *self.unseen]

    def _notes(self) -> list[str]:
        notes = []
        if self.left_out:
            notes.append(f"Of {counted(self.left_out)} nothing was sent: a task sends {self.rate:,} a second at most.")
        if self._arrived > len(self._records):
            notes.append(f"{counted(self._arrived - len(self._records))} came before the {len(self._records):,} that are kept.")
        if self.failed or self.errors:
            what = "raised" if all(error.seen for error in self.errors) else "raised, or was not shown a record,"
            first = f", first {self.errors[0].why()}" if self.errors else ""
            notes.append(f"The guard {what} {max(self.failed, len(self.errors)):,} times{first}{', and is called no more' if self.disabled else ''}.")
        return notes

    def __repr__(self) -> str:
        what = "all operators" if self.operator is None else str(self.operator)
        return plain(f"<watch on {what}: {'on' if self.on else 'off'}, {counted(self.matched)} matched, {counted(len(self.records))} here>")

    def _repr_mimebundle_(self, **kwargs: Any) -> Mapping[str, str]:
        tables = self.tables()
        return {"text/plain": "\n\n".join(table.text() for table in tables), "text/html": "".join(table.html() for table in tables)}
