"""Frames: the batches in which records cross a shuffle, each with a tag that says which records it holds.

The tag stands behind the pickle's STOP opcode, where every unpickler stops reading: a tagged frame is still what
PySpark and the JVM expect. So no record carries an id of its own, and yet each can be named on arrival.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

_TAG = struct.Struct("!Hiqi")
TAG_BYTES = _TAG.size
_LONG = struct.Struct("!q")

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


def target_frame(target: int) -> bytes:
    """The frame that tells Spark's PairwiseRDD to which partition the next frame goes."""
    return _LONG.pack(target)


class Batches:
    """Cuts lists into frames of 64 to 640 KB; the sizes depend on the records alone, never on the machine."""

    def __init__(self, dumps: Dumps, first: int = 1000) -> None:
        self._dumps = dumps
        self._size = first

    def cut(self, records: list[Any], branch: int, partition: int, start: int) -> Iterator[bytes]:
        at = 0
        while at < len(records):
            batch = records[at : at + self._size]
            frame = self._dumps(batch)
            yield tagged(frame, Tag(branch, partition, start + at, len(batch)))
            at += len(batch)
            if len(frame) > LARGE and self._size > 1:
                self._size = max(1, self._size // 2)
            elif len(frame) < SMALL and len(batch) == self._size:
                self._size *= 2
