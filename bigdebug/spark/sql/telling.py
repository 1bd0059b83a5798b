"""Telling: the culprits of one operator, each told once, however often the operator is looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from bigdebug.trace.culprits import CrashCulprit, Culprits

Key = tuple[object, str, str | None]


class Telling:
    """What is told of an operator: those of the known culprits of a run that come from here on."""

    def __init__(self, culprits: Culprits) -> None:
        self._culprits = culprits
        self._start = len(culprits.known)
        self._said = len(culprits.unknown)
        self._again: Counter[Key] = Counter()

    @property
    def told(self) -> list[CrashCulprit]:
        return self._culprits.known[self._start :]

    def anew(self) -> None:
        """From here on what was told is found once more, beside what was not."""
        self._again = Counter(map(key_of, self.told))

    def begin(self) -> None:
        """The operator is looked at from the beginning, so what is not known of it is said once more, too."""
        self.anew()
        del self._culprits.unknown[self._said :]

    def fresh(self, found: Iterable[CrashCulprit], most: int) -> tuple[list[CrashCulprit], bool]:
        """Those that were not told yet, until it is the ``most`` in all; and whether there are more than that."""
        fresh = [culprit for culprit in found if not self._was_told(culprit)] if self._again.total() else list(found)
        room = most - len(self.told)
        return fresh[:room], len(fresh) > room

    def _was_told(self, culprit: CrashCulprit) -> bool:
        key = key_of(culprit)
        if not self._again[key]:
            return False
        self._again[key] -= 1
        return True


def key_of(culprit: CrashCulprit) -> Key:
    """Where it crashed, the row, and what that met: of equal rows, each is as good as the other."""
    return culprit.place, repr(culprit.record), culprit.met
