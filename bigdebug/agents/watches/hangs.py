"""Hangs: calls that have not ended after a time, found by another thread than the one that is in them (BigDebug 4.4)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from bigdebug.agents.guards.crash import Raised, standing
from bigdebug.agents.guards.inflight import NO_RECORD
from bigdebug.agents.watches.calls import Calls
from bigdebug.agents.watches.outbox import Outbox
from bigdebug.agents.watches.tap import Snapshot, snapshot
from bigdebug.agents.watches.timing import OPERATOR, POSITION, RECORD, Call, InGuard

AGAIN = 1.0
"""Seconds after which it is told again where a call is."""


class Hangs:
    """Looks, for one watch, whether the call in progress is still the same. When it began is known as well as looks are frequent."""

    def __init__(self, watch: str, timeout: float, operators: frozenset[int], calls: Calls, outbox: Outbox, dumps: Callable[[Any], bytes]) -> None:
        self.watch, self._timeout, self._operators = watch, timeout, operators
        self._calls, self._outbox, self._dumps = calls, outbox, dumps
        self._seen: Call | None = None
        self._since = self._told = 0.0
        self._number = 0
        self._hangs = False

    def look(self, now: float) -> None:
        """See what the task is doing, ``now`` seconds by a clock that only goes ahead."""
        call = self._calls.now
        if call is not self._seen:
            self.end(now)
            self._seen, self._since = call, now
        elif call is not None and call[OPERATOR] in self._operators and now - self._since >= self._timeout:
            self._tell(call, now)

    def end(self, now: float) -> None:
        """The call has ended, or the task has."""
        if self._hangs:
            self._outbox.put(("over", self.watch, self._number, now - self._since))
            self._hangs = False
        self._seen = None

    def _tell(self, call: Call, now: float) -> None:
        if self._hangs and now - self._told < AGAIN:
            return
        where = self._where()
        if not self._hangs:
            self._hangs, self._number = True, self._number + 1
            came = self._calls.came(call[OPERATOR])
            pickled, text = self._snapshot(call[RECORD])
            message = ("hang", self.watch, self._number, call[OPERATOR], call[POSITION], came, now - self._since, pickled, text, where, isinstance(call, InGuard))
            self._outbox.put(message, 5_000 + len(pickled or text))
        else:
            self._outbox.put(("hanging", self.watch, self._number, now - self._since, where), 5_000)
        self._told = now

    def _snapshot(self, record: Any) -> Snapshot:
        return (None, "") if record is NO_RECORD else snapshot(record, self._dumps)

    def _where(self) -> Raised:
        return standing(sys._current_frames().get(self._calls.thread))
