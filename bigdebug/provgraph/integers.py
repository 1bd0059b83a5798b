"""Integers as ids, in their order: all from one to another, most of them, or any. The code of one is its place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigdebug.store.arrays import Array, InMemory

ABSENT = -1
"""The code of an id that is not there."""

_LEAST, _MOST = -(2**63), 2**63 - 1

MARK = 1024
"""Bytes of a dense dictionary for which there is a mark: their counts are a page of the file."""

_SPREAD = 8
"""Slots for each id up to which a bit for every slot, and a count for eight of them, take less than the ids."""

_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
_BELOW = np.concatenate([np.zeros((256, 1), np.uint8), _BITS.cumsum(axis=1, dtype=np.uint8)], axis=1)
"""Bits that are set below a place of a byte: by byte and place."""
_NTH = np.argsort(1 - _BITS, axis=1, kind="stable").astype(np.uint8)
"""Places of the bits that are set, in order: by byte and number."""


class RangeIds:
    """All integers from the first on, so many as ``count``. Nothing is looked up."""

    kind: ClassVar[str] = "range"

    def __init__(self, first: int, count: int) -> None:
        self.first = first
        self.count = count

    def __len__(self) -> int:
        return self.count

    def codes(self, ids: Iterable[Any]) -> NDArray[np.int64]:
        values = integers(ids)
        there = (values >= self.first) & (values <= self.first + self.count - 1)
        return np.where(there, np.where(there, values, self.first) - self.first, ABSENT)

    def take(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        ids: NDArray[np.int64] = np.asarray(codes).astype(np.int64) + self.first
        return ids

    def near(self, wanted: Any, count: int = 3) -> list[Any]:
        if not is_integer(wanted):
            return []
        return _nearest(int(wanted), self.take(around(min(max(int(wanted) - self.first, 0), self.count), count, self.count)), count)


class DenseIds:
    """Integers that lie close together: a bit for each number from ``first`` on, and how many are set before each byte.

    ``marks`` has that of every ``MARK``-th byte. An id is found in constant time, a code by two short searches.
    """

    kind: ClassVar[str] = "dense"

    def __init__(self, first: int, count: int, present: Array, before: Array, marks: Array) -> None:
        self.first = first
        self.count = count
        self.present = present
        self.before = before
        self.marks = marks

    @classmethod
    def of_bits(cls, first: int, present: NDArray[np.uint8]) -> DenseIds:
        """Of the bits alone, lowest first in each byte."""
        counts = np.cumsum(np.append(np.uint32(0), _BELOW[present, 8]), dtype=np.uint32)
        return cls(first, int(counts[-1]), InMemory(present), InMemory(counts[:-1]), InMemory(counts[:-1:MARK]))

    def __len__(self) -> int:
        return self.count

    def codes(self, ids: Iterable[Any]) -> NDArray[np.int64]:
        values = integers(ids)
        # Compared before it is subtracted, so that nothing overflows.
        within = (values >= self.first) & (values <= self.first + 8 * len(self.present) - 1)
        slots = np.where(within, values, self.first) - self.first
        byte, place = slots >> 3, slots & 7
        bits = self.present.take(byte)
        found = within & ((bits >> place.astype(np.uint8)) & 1).astype(bool)
        return np.where(found, self.before.take(byte).astype(np.int64) + _BELOW[bits, place], ABSENT)

    def take(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        codes = np.asarray(codes).astype(np.int64)
        byte = (np.searchsorted(self.marks.whole(), codes.astype(np.uint32), side="right") - 1) * MARK
        step = MARK // 2
        while step:
            further = np.minimum(byte + step, len(self.before) - 1)
            byte = np.where(self.before.take(further) <= codes, further, byte)
            step //= 2
        ids: NDArray[np.int64] = self.first + 8 * byte + _NTH[self.present.take(byte), codes - self.before.take(byte)]
        return ids

    def near(self, wanted: Any, count: int = 3) -> list[Any]:
        if not is_integer(wanted):
            return []
        slot = min(max(int(wanted) - self.first, 0), 8 * len(self.present) - 1)
        byte = np.array([slot >> 3])
        rank = int(self.before.take(byte)[0]) + int(_BELOW[self.present.take(byte)[0], slot & 7])
        return _nearest(int(wanted), self.take(around(rank, count, self.count)), count)


class SortedIds:
    """Integers of any size, sorted; found by bisection."""

    kind: ClassVar[str] = "sorted"

    def __init__(self, values: Array) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def codes(self, ids: Iterable[Any]) -> NDArray[np.int64]:
        wanted = integers(ids)
        if not len(self.values):
            return np.full(len(wanted), ABSENT, np.int64)
        places = np.minimum(self.values.search(wanted), len(self.values) - 1)
        codes: NDArray[np.int64] = np.where(self.values.take(places) == wanted, places, ABSENT)
        return codes

    def take(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        return self.values.take(np.asarray(codes, np.int64))

    def near(self, wanted: Any, count: int = 3) -> list[Any]:
        if not is_integer(wanted):
            return []
        rank = int(self.values.search(np.array([min(max(int(wanted), _LEAST), _MOST)]))[0])
        return _nearest(int(wanted), self.take(around(rank, count, len(self))), count)


def integer_ids(values: NDArray[np.int64]) -> RangeIds | DenseIds | SortedIds:
    """The smallest way to hold these integers, which are sorted and each there once."""
    if not len(values) or not is_dense(int(values[0]), int(values[-1]), len(values)):
        return SortedIds(InMemory(values))
    first, last = int(values[0]), int(values[-1])
    if last - first + 1 == len(values):
        return RangeIds(first, len(values))
    slots = np.zeros(-(-(last - first + 1) // 8) * 8, bool)
    slots[values - first] = True
    return DenseIds.of_bits(first, np.packbits(slots, bitorder="little"))


def is_dense(first: int, last: int, count: int) -> bool:
    """Whether ``count`` integers from first to last lie so close that a bit for each slot is the smaller way."""
    return last - first < _SPREAD * count


def integers(ids: Iterable[Any]) -> NDArray[np.int64]:
    """The ids as int64. Raises TypeError for one that is no integer of 64 bits, and says which."""
    if isinstance(ids, np.ndarray) and ids.dtype.kind == "i":
        return ids.astype(np.int64, copy=False)
    held: Sequence[Any] = list(ids)
    for value in held:
        if not is_integer(value):
            raise TypeError(f"ids are integers here, not {type(value).__name__}")
        if not _LEAST <= int(value) <= _MOST:
            raise TypeError(f"ids are integers of 64 bits, and {value} is none")
    return np.array([int(value) for value in held], np.int64)


def is_integer(value: Any) -> bool:
    """Whether it is one of Python's or numpy's, and no bool."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))


def around(rank: int, count: int, size: int) -> NDArray[np.int64]:
    """Codes around a rank, nearest first, as far as there are any."""
    steps = chain.from_iterable((rank - step - 1, rank + step) for step in range(count))
    return np.array([code for code in steps if 0 <= code < size], np.int64)


def _nearest(wanted: int, found: NDArray[np.int64], count: int) -> list[int]:
    return sorted(found.tolist(), key=lambda value: (abs(value - wanted), value))[:count]
