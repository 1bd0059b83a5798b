"""Timing: how long the calls of an operator took, and which of them took much longer than the others (BigDebug 4.4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from bigdebug.agents.watches.outbox import Outbox
from bigdebug.agents.watches.tap import snapshot

FLOOR = 0.001
"""Seconds that a call takes at least to be told of: what is shorter hangs on the machine more than on the record."""

FEW = 64
"""Calls after which their mean means something; of those before, all that reach the floor are told of, and the driver judges."""

Call = list[Any]
"""A call in progress: operator, position of its record among those that came to it, the record, and seconds so far."""

OPERATOR, POSITION, RECORD, SECONDS = range(4)


class InGuard(list[Any]):
    """A call of a guard in progress, on a record of an operator that is at a position among those."""



Times = tuple[int, float, float]
"""How many calls, the sum of their seconds, and of the squares of these."""


def deviations(seconds: float, times: Times) -> float:
    """By how many standard deviations a call took longer than the mean."""
    calls, total, squares = times
    mean = total / calls if calls else 0.0
    variance = squares / calls - mean * mean if calls else 0.0
    return (seconds - mean) / math.sqrt(variance) if variance > 0 else 0.0


class Timing:
    """The calls of one operator in one task, for watches each of which asks for those beyond so many standard deviations."""

    def __init__(self, asked: Sequence[tuple[str, float]], came: Callable[[int], int], outbox: Outbox, dumps: Callable[[Any], bytes]) -> None:
        self._asked = asked
        self._came = came
        self._outbox = outbox
        self._dumps = dumps
        self._calls, self._total, self._squares = 0, 0.0, 0.0
        self.left_out = 0

    def took(self, call: Call) -> None:
        """A call has ended."""
        seconds = call[SECONDS]
        if seconds >= FLOOR:
            self._tell(call, seconds)  # beside those before it: in its own mean, no call is far from it
        self._calls += 1
        self._total += seconds
        self._squares += seconds * seconds

    def times(self) -> Times:
        return self._calls, self._total, self._squares

    def _tell(self, call: Call, seconds: float) -> None:
        beyond = deviations(seconds, self.times())
        for watch, most in self._asked:
            if self._calls < FEW or beyond > most:
                pickled, text = snapshot(call[RECORD], self._dumps)
                message = ("slow", watch, call[OPERATOR], call[POSITION], self._came(call[OPERATOR]), seconds, pickled, text)
                self.left_out += not self._outbox.put(message, len(pickled or text) + 200)
