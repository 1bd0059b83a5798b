"""The spool: all frames that reached a reduce partition, read back in the order of their tags.

Frames arrive in whatever order the network gave. Reading them by (branch, partition, position) makes positions
after a shuffle, and so record ids, the same on every executor and every attempt.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from bigdebug.agents.frames import TAG_BYTES, TAGS, Loads, Tag
from bigdebug.agents.notes import Notes, smallest


class Spool:
    """Holds frames in memory up to ``limit`` bytes and beyond that in an unlinked file of the worker's.

    A shuffle by PySpark's own sizes has a frame for ten records: what is done for each is done for all of them at once.
    """

    def __init__(self, frames: Iterable[bytes], loads: Loads, limit: int) -> None:
        self._loads = loads
        self._file: Any = None
        self._alone = threading.Lock()
        self.bytes = 0
        held: list[bytes | tuple[int, int]] = []
        tails: list[bytes] = []
        for frame in frames:
            self.bytes += len(frame)
            tails.append(frame[-TAG_BYTES:])
            held.append(frame if self.bytes <= limit else self._spill(frame))
        tags = np.frombuffer(b"".join(tails), TAGS)
        order = np.lexsort((tags["start"], tags["partition"], tags["branch"]))
        self._tags = tags[order]
        self._held = [held[i] for i in order.tolist()]
        ends = np.cumsum(self._tags["count"], dtype=np.int64)
        self._count = int(ends[-1]) if len(ends) else 0
        self.starts: list[int] = (ends - self._tags["count"]).tolist()
        """Of each frame in canonical order, how many records stand before it."""

    def __len__(self) -> int:
        """How many records there are; known before the first is decoded."""
        return self._count

    def batches(self) -> Iterator[tuple[Tag, int, list[Any]]]:
        """Tag, bytes and records of each frame in canonical order; can be asked again."""
        for tag, held in zip(map(Tag._make, self._tags.tolist()), self._held):
            frame = self._read(held)
            yield tag, len(frame), self._loads(frame)

    def batch(self, number: int) -> list[Any]:
        """The records of the frame that is the ``number``-th in canonical order; new ones each time."""
        return self._loads(self._read(self._held[number]))  # type: ignore[no-any-return]

    def size(self, number: int) -> int:
        """The bytes of that frame."""
        held = self._held[number]
        return len(held) if isinstance(held, bytes) else held[1]

    def __iter__(self) -> Iterator[Any]:
        for number in range(len(self.starts)):  # in ``chain``, two threads that ask at once would end the process: one may let go of what the other is in
            yield from self.batch(number)

    def note(self, notes: Notes) -> None:
        """Note the tags in reading order, neighbours joined: the association of this level with the map side."""
        tags = self._tags
        starts = np.ones(len(tags), dtype=bool)
        same = (tags["branch"][1:] == tags["branch"][:-1]) & (tags["partition"][1:] == tags["partition"][:-1])
        starts[1:] = ~same | (tags["start"][1:] != tags["start"][:-1] + tags["count"][:-1])
        first = np.flatnonzero(starts)
        runs = {name: tags[name][first] for name in Tag._fields}
        runs["count"] = np.diff(np.append(self.starts, self._count)[np.append(first, len(tags))])
        for name, values in runs.items():
            notes.columns[f"runs.{name}"] = partial(smallest, values.astype(np.int64))

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
        with self._alone:  # functions read in threads of theirs
            self._file.seek(held[0])
            return bytes(self._file.read(held[1]))
