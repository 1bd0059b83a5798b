"""The outbox: what a task has to tell the driver, until it is sent. It never waits: what finds no room is left out, and counted."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

MOST = 10_000
"""Messages that wait at most, and their bytes."""

MOST_BYTES = 16 << 20

AT_ONCE = 1 << 20
"""Bytes of records that are sent together."""


class Outbox:
    """Put into by the thread of the task, emptied by another: each writes its own counter."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[int, tuple[Any, ...]]] = deque()
        self._put = self._taken = 0
        self.open = True

    def put(self, message: tuple[Any, ...], size: int = 200) -> bool:
        """False if there is no room for a message of this size, or nobody is there to hear it."""
        if not self.open or len(self._waiting) >= MOST or self._put - self._taken + size > MOST_BYTES:
            return False
        self._put += size
        self._waiting.append((size, message))
        return True

    def batches(self) -> Iterator[list[tuple[Any, ...]]]:
        """What is there, some messages at a time."""
        while self._waiting:
            batch, held = [], 0
            while self._waiting and held < AT_ONCE:
                size, message = self._waiting.popleft()
                self._taken += size
                held += size
                batch.append(message)
            yield batch
