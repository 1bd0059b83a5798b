"""Latency: the calls of one watch that hang or took long, as tasks tell of them."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bigdebug.agents.guards.crash import Raised
from bigdebug.agents.watches.timing import Times, deviations
from bigdebug.spark.raised import told
from bigdebug.trace.watch import KEPT_BYTES
from bigdebug.trace.watched import HungCall, SlowRecord

Facts = dict[str, Any]


@dataclass
class _Hang:
    facts: Facts
    began: float
    where: Raised
    seconds: float | None = None
    state: str = "running"


class Latency:
    """``most`` of each are kept. Thread-safe."""

    def __init__(self, most: int, beyond: float | None) -> None:
        self._most, self._beyond = most, beyond
        self._hangs: dict[Any, _Hang] = {}
        self._slow: list[tuple[float, int, Facts]] = []
        self._numbers = itertools.count()
        self._bytes = 0
        self._times: dict[Any, Mapping[int, Times]] = {}
        self._alone = threading.Lock()

    def hangs_at(self, call: Any, began: float | None, where: Raised, facts: Facts | None = None) -> None:
        """A call hangs, or still does: this is where it is."""
        with self._alone:
            if facts is not None and began is not None and len(self._hangs) < self._most:
                self._hangs[call] = _Hang(facts, began, where)
            elif call in self._hangs:
                self._hangs[call].where = where

    def over(self, call: Any, seconds: float) -> None:
        """It has ended after all."""
        with self._alone:
            if call in self._hangs:
                self._hangs[call].seconds, self._hangs[call].state = seconds, "ended"

    def lost(self, line: Any) -> None:
        """The task has ended; what it was in did not."""
        with self._alone:
            for (mine, _), hang in self._hangs.items():
                if mine is line and hang.state == "running":
                    hang.seconds, hang.state = time.monotonic() - hang.began, "lost"

    def took(self, facts: Facts, seconds: float) -> None:
        """A call took longer than others of its task."""
        with self._alone:
            heapq.heappush(self._slow, (seconds, next(self._numbers), facts))
            self._bytes += _size(facts)
            while len(self._slow) > self._most or (self._bytes > KEPT_BYTES and len(self._slow) > 1):
                self._bytes -= _size(heapq.heappop(self._slow)[2])

    def timed(self, task: Any, times: Mapping[int, Times]) -> None:
        """How long calls of a task took, so far."""
        if self._beyond is not None and times:
            with self._alone:
                self._times[task] = times

    def hangs(self) -> list[HungCall]:
        """In the order in which they were noticed."""
        now = time.monotonic()
        with self._alone:
            known = list(self._hangs.values())
            return [HungCall(**h.facts, seconds=now - h.began if h.seconds is None else h.seconds, state=h.state, **_line(h)) for h in known]

    def slow(self) -> list[SlowRecord]:
        """Those that are beyond the bound by all that is known of their operators now, the slowest first."""
        if self._beyond is None:
            return []
        with self._alone:
            every: dict[int, Times] = {}
            for times in self._times.values():
                for operator, (calls, total, squares) in times.items():
                    before = every.get(operator, (0, 0.0, 0.0))
                    every[operator] = before[0] + calls, before[1] + total, before[2] + squares
            known = sorted(self._slow, reverse=True)
        found = [SlowRecord(**f, seconds=s, deviations=deviations(s, every.get(f["operator"].id, (0, 0.0, 0.0)))) for s, _, f in known]
        return [record for record in found if record.deviations > self._beyond]


def _size(facts: Facts) -> int:
    return len(facts["pickled"] or facts["text"]) + 500


def _line(hang: _Hang) -> dict[str, Any]:
    what = told(hang.where, hang.facts["operator"])
    return {"user_line": what["user_line"], "traceback": what["traceback"]}
