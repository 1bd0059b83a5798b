"""A tap: lets the records of an operator pass, and tells of those for which a guard holds (on-demand watchpoints, BigDebug 4.2)."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from bigdebug.agents.copies import TakenError, UncopiedError, copied
from bigdebug.agents.guards.crash import raised_as
from bigdebug.agents.guards.held import PLAIN
from bigdebug.agents.watches.outbox import Outbox
from bigdebug.outside import from_outside
from bigdebug.shown import shown

if TYPE_CHECKING:
    from bigdebug.agents.watches.calls import Calls

LARGEST = 1 << 20
"""Bytes of a record's pickle beyond which its text is sent in its place."""

KEPT_ERRORS = 5
"""Exceptions of a guard that a task tells in full, and records that it could not be shown."""

MOST_ERRORS = 100
"""So many of these after which it is called no more."""

Snapshot = tuple[bytes | None, str]
"""A record as it is now: its pickle, or its text where it cannot be pickled, or is too large."""


def snapshot(record: Any, dumps: Callable[[Any], bytes]) -> Snapshot:
    """A record as it is now, whatever becomes of it later."""
    try:
        pickled = dumps(record)
    except Exception:  # a record inside a stage need not be picklable
        return None, shown(record)
    return (None, shown(record)) if len(pickled) > LARGEST else (pickled, "")


def _for_a_look(record: Any) -> Any:
    """A copy; the record itself where there is none, as of what a pattern found in a line. Raises TakenError for what a look takes from."""
    try:
        return copied(record)
    except TakenError:
        raise
    except UncopiedError:
        return record


class Tap:
    """What one watch sees of one ``operator`` in one task. ``guard`` is set by another thread, also while records pass; None: all pass unseen.

    It is called on copies of records that may change, for the program goes on with these whatever the guard does. While it is, the task is in
    no function of the program, and ``calls`` are told so: its time is its own. Of the records for which it holds, as many are sent as there is ``credit``, which grows by ``rate`` a second.
    """

    def __init__(self, watch: str, operator: int, rate: int, outbox: Outbox, dumps: Callable[[Any], bytes], calls: Calls | None = None) -> None:
        self.watch = watch
        self.operator = operator
        self.guard: Callable[[Any], Any] | None = None
        self.generation = 0
        self.rate = rate
        self.credit = float(rate)
        self.matched = self.sent = self.failed = 0
        self.disabled = False
        self.entered: Callable[[], int] = lambda: 0
        """How many records have come into the segment so far, where it has several operators."""
        self._outbox = outbox
        self._dumps = dumps
        self._calls = calls

    def order(self, generation: int, pickled: bytes | None) -> None:
        """From now on this is the guard, unless a later one is here already."""
        if generation < self.generation:
            return
        try:
            guard = None if pickled is None else pickle.loads(pickled)
        except Exception as problem:  # it may need what is not installed here
            self.generation, self.guard, self.failed, self.disabled = generation, None, 1, True
            self._tell_error(None, problem)
            return
        if generation > self.generation:
            self.disabled, self.failed = False, 0
        self.generation, self.guard = generation, guard

    def passing(self, records: Iterable[Any]) -> Iterator[Any]:
        """The records, as they are."""
        calls = self._calls
        for position, record in enumerate(records):
            guard = self.guard
            if guard is not None:
                before = None if calls is None else calls.into_guard(self.operator, position, record)
                try:
                    holds = bool(guard(record if type(record) in PLAIN else _for_a_look(record)))
                except BaseException as problem:
                    holds = False
                    self._crashed(record, problem)
                if calls is not None:
                    calls.goes_on(before)
                if holds:
                    self._matches(position, record)
            yield record

    def earn(self, seconds: float) -> None:
        """So many seconds have passed."""
        self.credit = min(float(self.rate), self.credit + self.rate * seconds)

    def totals(self) -> tuple[int, int, int, int, bool]:
        """Records for which the guard held, those of them that were sent, guard, its exceptions, and whether it is called no more."""
        return self.matched, self.sent, self.generation, self.failed, self.disabled

    def _matches(self, position: int, record: Any) -> None:
        self.matched += 1
        if self.credit < 1:
            return
        self.credit -= 1
        pickled, text = snapshot(record, self._dumps)
        self.sent += self._outbox.put(("record", self.watch, position, self.entered() - 1, time.time(), pickled, text), len(pickled or text) + 200)

    def _crashed(self, record: Any, problem: BaseException) -> None:
        """The job is to be what it is without the guard, whatever this raises. (Spark ends workers and interrupts none, and nobody closes a function that is called.)"""
        if from_outside(problem, interrupted=False):
            raise problem
        self.failed += 1
        if self.failed <= KEPT_ERRORS:
            self._tell_error(record, problem)
        if self.failed >= MOST_ERRORS:
            self.guard, self.disabled = None, True

    def _tell_error(self, record: Any, problem: BaseException) -> None:
        seen = not isinstance(problem, TakenError)
        pickled, text = snapshot(record, self._dumps) if seen else (None, shown(record))
        self._outbox.put(("error", self.watch, pickled, text, raised_as(problem), seen), 5_000 + len(pickled or text))
