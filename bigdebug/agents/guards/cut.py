"""Cut: what a stage reads ends early, where to come to its end takes longer than somebody waits for a first culprit."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from threading import Timer
from typing import Any, NamedTuple

from bigdebug.agents.guards.guard import Guard


class Impatience(NamedTuple):
    """Seconds from the begin of tasks to where they are cut; that of the ``first`` partition is not cut before something crashed in it, or ``most`` are over."""

    seconds: float
    first: int
    most: float


class Cut:
    """Cuts what passes between the steps of one task. What crashes behind the cut may do so because of it, and is not noted."""

    def __init__(self, impatience: Impatience, split: int, guard: Guard) -> None:
        self._guard = guard
        self._until = time.monotonic() + impatience.most if split == impatience.first else 0.0
        self._late = self.was_made = False
        self._timer = Timer(impatience.seconds, self._be_late)
        self._timer.daemon = True
        self._timer.start()

    def __call__(self, level: int, records: Iterable[Any]) -> Iterator[Any]:
        """The records of a level, as far as they pass."""
        for record in records:
            yield record
            if self._late and self._is_due():
                return

    def ended(self) -> bool:
        """The task has come to its end: whether it was cut."""
        self._timer.cancel()
        return self.was_made

    def _be_late(self) -> None:
        self._late = True

    def _is_due(self) -> bool:
        if not self.was_made and (self._guard.total or time.monotonic() >= self._until):
            self.was_made = True
            self._guard.close()
        return self.was_made
