"""Telling: the culprits of one operator, each told once, however often the operator is looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from bigdebug.trace.culprit import CrashCulprit
from bigdebug.trace.culprits import Culprits

Key = tuple[object, str, str | None]


class Telling:
    """What is told of an operator: those of the known culprits of a run that come from here on; those ``before`` are known, too, and found again."""

    def __init__(self, culprits: Culprits, before: Iterable[CrashCulprit] = ()) -> None:
        self._culprits = culprits
        self._start = len(culprits.known)
        self._said = len(culprits.unknown)
        self._before = [*before]
        self._again: Counter[Key] = Counter()
        self.anew()

    @property
    def told(self) -> list[CrashCulprit]:
        return self._culprits.known[self._start :]

    def anew(self) -> None:
        """From here on what was told is found once more, beside what was not."""
        self._again = Counter(map(key_of, [*self._before, *self.told]))

    def begin(self) -> None:
        """The operator is looked at from the beginning, so what is not known of it is said once more, too."""
        self.anew()
        del self._culprits.unknown[self._said :]

    def fresh(self, found: Sequence[CrashCulprit], most: int) -> tuple[list[CrashCulprit], bool]:
        """Those that were not told yet, until it is the ``most`` in all; and whether there are more than that."""
        fresh = [culprit for culprit in found if not self._was_told(culprit)] if self._again.total() else [*found]
        room = most - len(self.told) - sum(culprit.operator.id == other.operator.id for culprit in found[:1] for other in self._before)
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
