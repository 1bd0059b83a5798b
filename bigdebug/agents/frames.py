"""Frames: the batches in which records cross a shuffle, each with a tag that says which records it holds.

The tag stands behind the pickle's STOP opcode, where every unpickler stops reading: a tagged frame is still what
PySpark and the JVM expect. So no record carries an id of its own, and yet each can be named on arrival.
"""

from __future__ import annotations

import re
import struct
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from bigdebug.agents.garbage import Beginning

_TAG = struct.Struct("!Hiqi")
TAG_BYTES = _TAG.size
TAGS = np.dtype([("branch", ">u2"), ("partition", ">i4"), ("start", ">i8"), ("count", ">i4")])
"""Tags as they stand one behind the other."""

_LONG = struct.Struct("!q")

# cloudpickle gives each class that a function makes an id by chance, and writes it behind the name of what makes it again.
_MADE = b"_make_skeleton_"
# It is the last but one of what makes it; None is the last.
_CHANCE = re.compile(rb"\x8c\x20[0-9a-f]{32}\x94Nt\x94R")

Dumps = Callable[[Any], bytes]
Loads = Callable[[bytes], Any]

SMALL, LARGE = 1 << 16, 10 << 16


class Tag(NamedTuple):
    """Which records a frame holds: ``count`` from ``start`` on, of ``partition`` of the stage on ``branch``."""

    branch: int
    partition: int
    start: int
    count: int  # type: ignore[assignment]  # tuples have a method of this name; nobody counts in a tag


def tagged(frame: bytes, tag: Tag) -> bytes:
    return frame + _TAG.pack(*tag)


def tag_of(frame: bytes) -> Tag:
    return Tag(*_TAG.unpack_from(frame, len(frame) - TAG_BYTES))


@dataclass(frozen=True)
class Framed:
    """What ``function`` gives for a partition, as frames: a task of a question."""

    function: Callable[[int, Iterable[Any]], Iterable[Any]]
    dumps: Dumps

    def __call__(self, split: int, incoming: Iterable[Any]) -> Iterator[bytes]:
        return Batches(self.dumps).cut(self.function(split, incoming), 0, split, 0)

    def __reduce__(self) -> tuple[Any, ...]:
        return _framed, (Beginning(), self.function, self.dumps)


def _framed(_: Beginning, function: Callable[[int, Iterable[Any]], Iterable[Any]], dumps: Dumps) -> Framed:
    return Framed(function, dumps)


def target_frame(target: int) -> bytes:
    """The frame that tells Spark's PairwiseRDD to which partition the next frame goes."""
    return _LONG.pack(target)


def checksum(frame: bytes, before: int = 0) -> int:
    """The crc32 of a frame, behind that of the frames ``before`` it; the same for records that are."""
    return zlib.crc32(_CHANCE.sub(b"", frame) if _MADE in frame else frame, before)


class Pace:
    """How many records to take at once, by the bytes of those that were taken before: from ``small`` to ``large``.

    It begins with ``first``, and never takes more than ``most``. Sizes follow from the records alone, never from the
    machine, so that every attempt takes the same.
    """

    def __init__(self, first: int, small: int, large: int, most: int = sys.maxsize) -> None:
        self.size = min(first, most)
        self._small, self._large, self._most = small, large, most

    def took(self, records: int, size: int) -> None:
        """So many records had so many bytes."""
        if size > self._large:
            self.size = max(1, 2 * self._small * records // size)
        elif size < self._small and records == self.size:
            self.size = min(4 * self.size, self._most)


class Batches:
    """Cuts records into frames of 64 to 640 KB, beginning with ``first`` records."""

    def __init__(self, dumps: Dumps, first: int = 1) -> None:
        self._dumps = dumps
        self._pace = Pace(first, SMALL, LARGE)

    def cut(self, records: Iterable[Any], branch: int, partition: int, start: int) -> Iterator[bytes]:
        """The records as tagged frames."""
        for count, frame in self._pickled(records):
            yield tagged(frame, Tag(branch, partition, start, count))
            start += count

    def weigh(self, records: Iterable[Any]) -> int:
        """The bytes of the records as frames, of which one is there at a time."""
        return sum(len(frame) for _, frame in self._pickled(records))

    def _pickled(self, records: Iterable[Any]) -> Iterator[tuple[int, bytes]]:
        source = iter(records)
        while batch := list(islice(source, self._pace.size)):
            frame = self._dumps(batch)
            self._pace.took(len(batch), len(frame))
            yield len(batch), frame
