"""Accumulators: what values are merged into, and how it was before a merge that crashed, which may have changed it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from bigdebug.agents.frames import Dumps
from bigdebug.agents.guards.held import given, held, is_plain
from bigdebug.agents.guards.inflight import crashes

_FEWEST = 16
"""Values that are kept to be merged again, before another picture is taken."""


class _Picture:
    """An accumulator as it was, what has been merged into it since, and how much of that is kept at most."""

    def __init__(self, pickled: bytes, most: int) -> None:
        self.pickled = pickled
        self.most = most
        self.since: list[Any] = []


class Accumulators:
    """Merges values into accumulators, each of which has a number.

    Of those that may change a picture is taken each time that as many values as before have been merged: so it costs a small part of
    what it takes to make them, and a crash costs to merge at most half of the values again.
    """

    def __init__(self, merge: Callable[[Any, Any], Any], dumps: Dumps) -> None:
        self._merge = merge
        self._dumps = dumps
        self._pictures: dict[int, _Picture] = {}

    def clear(self) -> None:
        """The numbers are given to others."""
        self._pictures.clear()

    def merged(self, number: int, accumulator: Any, value: Any) -> Any:
        """The accumulator with a value in it."""
        if is_plain(accumulator):
            if self._pictures:
                self._pictures.pop(number, None)
            return self._merge(accumulator, value)
        picture = self._pictures.get(number)
        if picture is None or len(picture.since) >= picture.most:
            picture = self._taken(number, accumulator, _FEWEST if picture is None else 2 * picture.most)
        kept = held(value, self._dumps)
        made = self._merge(accumulator, value)
        if picture is not None:
            picture.since.append(kept)
        return made

    def restored(self, number: int, accumulator: Any) -> Any:
        """An accumulator as it was before the last merge, which has crashed."""
        picture = self._pictures.get(number)
        if picture is None:
            return accumulator
        try:
            again = pickle.loads(picture.pickled)
            for value in picture.since:
                again = self._merge(again, given(value))
        except crashes():  # it does not crash on the same values each time
            return accumulator
        self._taken(number, again, picture.most)
        return again

    def _taken(self, number: int, accumulator: Any, most: int) -> _Picture | None:
        try:
            picture = self._pictures[number] = _Picture(self._dumps(accumulator), most)
        except Exception:  # it need not be picklable
            self._pictures.pop(number, None)
            return None
        return picture
