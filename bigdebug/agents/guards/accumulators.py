"""Accumulators: what values are merged into, and how it was before a merge that crashed, which may have changed it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from bigdebug.agents.frames import Dumps
from bigdebug.agents.guards.held import Holding, given, is_plain, weight
from bigdebug.agents.guards.inflight import crashes

_FEWEST = 16
"""Values that are kept to be merged again, before another picture is taken."""


_SIZED, _NO_SIZE = frozenset((str, bytes, tuple, list, dict, set, frozenset)), 8
"""Types that say how long they are, whatever is in them, and what others count: a class of the user's may raise what would be taken for a crash of the merge."""


class _Picture:
    """An accumulator as it was, and what has been merged into it since."""

    def __init__(self, pickled: bytes) -> None:
        self.pickled = pickled
        self.since: list[Any] = []
        self.weight = 0

    def add(self, value: Any) -> None:
        self.since.append(value)
        known = weight(value)
        self.weight += known if known is not None else len(value) if type(value) in _SIZED else _NO_SIZE

    @property
    def is_old(self) -> bool:
        """Whether what came since weighs as much as itself."""
        return len(self.since) >= _FEWEST and self.weight + len(self.since) >= len(self.pickled)


class Accumulators:
    """Merges values into accumulators, each of which has a number.

    Of those that may change a picture is taken each time that values of its size have been merged, and these are kept: that costs a part
    of what it takes to make them, and about as much memory as themselves. A crash costs to read the picture, to merge what came since, and
    to take another one: as much as the accumulator is large.
    """

    def __init__(self, merge: Callable[[Any, Any], Any], dumps: Dumps) -> None:
        self._merge = merge
        self._dumps = dumps
        self._held = Holding()
        self._pictures: dict[int, _Picture] = {}

    def clear(self) -> None:
        """The numbers are given to others."""
        self._pictures.clear()

    def merge(self, into: list[Any], number: int, value: Any) -> None:
        """Merge a value into the accumulator of a list that has a number. Raises what the merge raises: then it is as it was before."""
        try:
            into[number] = self._merged(number, into[number], value)
        except crashes():
            into[number] = self._restored(number, into[number])
            raise

    def _merged(self, number: int, accumulator: Any, value: Any) -> Any:
        if is_plain(accumulator):
            if self._pictures:
                self._pictures.pop(number, None)
            return self._merge(accumulator, value)
        picture = self._pictures.get(number)
        if picture is None or picture.is_old:
            picture = self._taken(number, accumulator)
        kept = self._held(value)
        made = self._merge(accumulator, value)
        if picture is not None:
            picture.add(kept)
        return made

    def _restored(self, number: int, accumulator: Any) -> Any:
        """An accumulator as it was before the last merge, which has crashed."""
        picture = self._pictures.get(number)
        if picture is None:
            return accumulator
        try:
            again = pickle.loads(picture.pickled)
            for value in picture.since:
                again = self._merge(again, given(value))
        except crashes():  # it does not crash on the same values each time, or its pickle cannot be read
            return accumulator
        self._taken(number, again)
        return again

    def _taken(self, number: int, accumulator: Any) -> _Picture | None:
        try:
            picture = self._pictures[number] = _Picture(self._dumps(accumulator))
        except crashes():  # it need not be picklable
            self._pictures.pop(number, None)
            return None
        return picture
