"""Telling: the culprits of one operator, each told once, however often the operator is looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from bigdebug.trace.culprits import CrashCulprit

Key = tuple[object, str, str | None]


class Telling:
    """What was told of an operator. Of equal rows, each is as good as the other."""

    def __init__(self) -> None:
        self._told: list[CrashCulprit] = []
        self._again: Counter[Key] = Counter()
        self._full = False

    def anew(self) -> None:
        """From here on what was told is found once more, beside what was not."""
        self._again = Counter(map(_key, self._told))

    @property
    def some(self) -> bool:
        """Whether anything was."""
        return bool(self._told)

    def fresh(self, found: Iterable[CrashCulprit], most: int) -> tuple[list[CrashCulprit], bool]:
        """Those that were not told yet, and are now, until it is the ``most`` in all; and whether there are more than that, the first time."""
        fresh = [culprit for culprit in found if not self._was_told(culprit)] if self._again.total() else list(found)
        room = most - len(self._told)
        self._told += fresh[:room]
        over = len(fresh) > room and not self._full
        self._full = self._full or over
        return fresh[:room], over

    def _was_told(self, culprit: CrashCulprit) -> bool:
        key = _key(culprit)
        if not self._again[key]:
            return False
        self._again[key] -= 1
        return True


def _key(culprit: CrashCulprit) -> Key:
    return culprit.place, repr(culprit.record), culprit.met
