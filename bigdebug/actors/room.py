"""Room: how much a trial may copy, so that it takes no time that anybody sees."""

from __future__ import annotations

from bigdebug.actors.codes import Untried

MOST_BYTES = 256 << 20
"""Bytes that are copied for a trial: it takes 0.1 s."""

MOST_OBJECTS = 100_000
"""Objects that are copied for a trial, one by one: it takes 0.3 s."""


class NoRoom(Untried):
    """There is too much to be copied."""


class Known:
    """What calls of a step found out: that there is too much to be copied of what its function remembers. Then no later one begins with that, which takes a second each time."""

    def __init__(self) -> None:
        self._why: NoRoom | None = None

    def check(self) -> None:
        """Raises NoRoom where an earlier call found that there is none."""
        if self._why is not None:
            raise NoRoom(str(self._why)) from None

    def learn(self, why: Untried) -> None:
        """It was not tried."""
        if isinstance(why, NoRoom) and why.named:
            self._why = why


class Room:
    """What a trial may still copy."""

    def __init__(self, size: int = MOST_BYTES, objects: int = MOST_OBJECTS) -> None:
        self._bytes, self._objects = size, objects

    def charge(self, size: int) -> None:
        """One object more, of so many bytes. Raises NoRoom if there is none."""
        self._objects -= 1
        self._bytes -= size
        if self._objects < 0 or self._bytes < 0:
            raise NoRoom("there is too much to be copied")
