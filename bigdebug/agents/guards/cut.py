"""Cut: what a stage reads ends early, where to come to its end takes longer than somebody waits for a first culprit."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from bigdebug.agents.guards.guard import Guard

_MOST = 4_096
"""Records that are read between two looks at the clock, at most."""

_BRIEF = 0.005
"""Seconds between two looks."""


class Impatience(NamedTuple):
    """Seconds from the begin of a task to where it is cut, if something has crashed in it by then; and if nothing has."""

    with_crashes: float
    without: float


class Cut:
    """Cuts what one task reads. What crashes behind the cut may do so because of it, and is not noted."""

    def __init__(self, impatience: Impatience, guard: Guard) -> None:
        self._impatience = impatience
        self._guard = guard
        self._began = time.monotonic()
        self.was_made = False

    def __call__(self, records: Iterable[Any]) -> Iterator[Any]:
        """The records, as far as they are read."""
        coming = iter(records)
        some, before = 1, time.monotonic()
        while not self._is_due(before):
            more = False
            for record in islice(coming, some):
                more = True
                yield record
            if not more:
                return
            now = time.monotonic()
            some = min(2 * some, _MOST) if now - before < _BRIEF else max(some // 2, 1)
            before = now

    def watching(self, level: int, records: Iterable[Any]) -> Iterable[Any]:
        """The records of a level of the stage: those of the first are cut."""
        return records if level else self(records)

    def _is_due(self, now: float) -> bool:
        impatience = self._impatience
        due = now - self._began >= (impatience.with_crashes if self._guard.total else impatience.without)
        if due and not self.was_made:
            self.was_made = True
            self._guard.close()
        return self.was_made
