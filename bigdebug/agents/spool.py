"""The spool: all frames that reached a reduce partition, read back in the order of their tags.

Frames arrive in whatever order the network gave. Reading them by (branch, partition, position) makes positions
after a shuffle, and so record ids, the same on every executor and every attempt.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

from bigdebug.agents.frames import Loads, Tag, tag_of
from bigdebug.agents.notes import Notes


class Spool:
    """Holds frames in memory up to ``limit`` bytes and beyond that in an unlinked file of the worker's."""

    def __init__(self, frames: Iterable[bytes], loads: Loads, limit: int) -> None:
        self._loads = loads
        self._held: list[bytes | tuple[int, int]] = []
        self.tags: list[Tag] = []
        self.bytes = 0
        self._file: Any = None
        for frame in frames:
            self.bytes += len(frame)
            self.tags.append(tag_of(frame))
            self._held.append(frame if self.bytes <= limit else self._spill(frame))
        self._order = sorted(range(len(self.tags)), key=lambda i: self.tags[i][:3])

    def __len__(self) -> int:
        """How many records there are; known before the first is decoded."""
        return sum(tag.count for tag in self.tags)

    def batches(self) -> Iterator[tuple[Tag, int, list[Any]]]:
        """Tag, bytes and records of each frame in canonical order; can be asked again."""
        for i in self._order:
            frame = self._read(self._held[i])
            yield self.tags[i], len(frame), self._loads(frame)

    def __iter__(self) -> Iterator[Any]:
        for _, _, records in self.batches():
            yield from records

    def note(self, notes: Notes) -> None:
        """Note the tags in reading order, neighbours joined: the association of this level with the map side."""
        columns = [notes.column(f"runs.{name}") for name in Tag._fields]
        last: list[int] | None = None
        for i in self._order:
            tag = self.tags[i]
            if last and last[:2] == [tag.branch, tag.partition] and last[2] + last[3] == tag.start:
                last[3] += tag.count
                continue
            if last:
                for column, value in zip(columns, last):
                    column.append(value)
            last = list(tag)
        if last:
            for column, value in zip(columns, last):
                column.append(value)

    def close(self) -> None:
        self._held.clear()
        if self._file is not None:
            self._file.close()

    def _spill(self, frame: bytes) -> tuple[int, int]:
        if self._file is None:
            places = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
            self._file = tempfile.TemporaryFile(prefix="bigdebug-", dir=next(filter(os.path.isdir, places), None))
        at = self._file.seek(0, os.SEEK_END)
        self._file.write(frame)
        return at, len(frame)

    def _read(self, held: bytes | tuple[int, int]) -> bytes:
        if isinstance(held, bytes):
            return held
        self._file.seek(held[0])
        return bytes(self._file.read(held[1]))
