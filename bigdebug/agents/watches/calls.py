"""Calls: which function of the user a task is in, on which record, and for how long.

Where records pass from one function to the next is a junction. PySpark pulls records one at a time, so when one passes the function
behind the junction is at work on it, and when the next one is asked for, the one before the junction is again: its iterator goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from threading import get_ident
from time import perf_counter
from typing import Any

from bigdebug.agents.guards.inflight import NO_RECORD
from bigdebug.agents.watches.timing import SECONDS, Call, InGuard, Timing

OUTSIDE, BEYOND = 0, -1
"""Stand for operators: Spark, which gives the first records of a stage, and what takes the last ones."""


class Calls:
    """The calls of one task. ``now`` is the one in progress, for other threads to look at; None: the task is in no function of the user.

    With ``timings``, by operator and set before any record passes, calls are timed, which takes two looks at the clock for each.
    """

    def __init__(self) -> None:
        self.now: Call | None = None
        self.thread = get_ident()
        self.timings: Mapping[int, Timing] | None = None
        self._since = 0.0
        self._current: dict[int, Call | None] = {OUTSIDE: None}
        self.entered: dict[int, Callable[[], int]] = {}
        """For operators of segments that have several: how many records have come into the segment so far."""

    def junction(self, giver: int, taker: int, records: Iterable[Any], whole: bool = False) -> Iterator[Any]:
        """The records on their way from one operator to the next. A ``whole`` one has an iterator of them, and goes on when that has ended."""
        return (self._noted if self.timings is None else self._timed)(giver, taker, records, whole)

    def _noted(self, giver: int, taker: int, records: Iterable[Any], whole: bool) -> Iterator[Any]:
        self.thread = get_ident()
        current = self._current
        current.setdefault(giver, None)
        for position, record in enumerate(records):
            self.now = current[taker] = [taker, position, record, 0.0]
            yield record
            self.now = current[giver]
        self._ended(taker, whole)

    def _ended(self, taker: int, whole: bool) -> None:
        self._since = perf_counter()
        # From here on it is at work on no record: what it still gives, it makes of all that it has read.
        self.now = self._current[taker] = [taker, None, NO_RECORD, 0.0] if whole else None

    def _timed(self, giver: int, taker: int, records: Iterable[Any], whole: bool) -> Iterator[Any]:
        self.thread = get_ident()
        current, clock = self._current, perf_counter
        current.setdefault(giver, None)
        took = self._took(taker)
        for position, record in enumerate(records):
            now, ended = clock(), self.now
            if ended is not None:
                ended[SECONDS] += now - self._since
            self._since = now
            mine: Call = [taker, position, record, 0.0]
            self.now = current[taker] = mine
            yield record
            now, ended = clock(), self.now
            if ended is not None:
                ended[SECONDS] += now - self._since
            self._since = now
            self.now = current[giver]
            if took is not None:
                took(mine)
        self._ended(taker, whole)

    def over(self, operator: int, function: Callable[..., Any], arriving: bool = False) -> Callable[..., Any]:
        """The function, each call of which is noted: it is called on the record that left last, or if ``arriving`` on what it is given."""
        took = self._took(operator)

        def called(*given: Any) -> Any:
            left = None if arriving else self._current.get(BEYOND)
            began = perf_counter()
            call = [operator, None, given, 0.0] if left is None else [operator, left[1], left[2], 0.0]
            self.now = call
            made = function(*given)
            self.now = None
            if took is not None:
                call[SECONDS] = perf_counter() - began
                took(call)
            return made

        return called

    def into_guard(self, operator: int, position: int, record: Any) -> Call | None:
        """A guard is called on a record of an operator: until it ends the task is in no function of the program, and none of them takes that time. Gives what was in progress."""
        before = self.now
        if before is not None and self.timings is not None:
            before[SECONDS] += perf_counter() - self._since
        self.now = InGuard((operator, position, record, 0.0))
        return before

    def goes_on(self, before: Call | None) -> None:
        """The guard has ended, and what was in progress goes on."""
        self._since = perf_counter()
        self.now = before

    def came(self, operator: int) -> int:
        """The position of the record that came last into the segment of an operator; -1 if it has no other."""
        entered = self.entered.get(operator)
        return -1 if entered is None else entered() - 1

    def _took(self, operator: int) -> Callable[[Call], None] | None:
        timing = None if self.timings is None else self.timings.get(operator)
        return None if timing is None else timing.took
