"""Integers as ids, in their order: all from one to another, most of them, or any. The code of one is its place."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bigdebug.store.mapping import Pages

ABSENT = -1
"""The code of an id that is not there."""

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

    def __init__(
        self, first: int, count: int, present: NDArray[np.uint8], before: NDArray[np.uint32], marks: NDArray[np.uint32],
        pages: tuple[Pages | None, Pages | None] = (None, None),
    ) -> None:
        self.first = first
        self.count = count
        self.present = present
        self.before = before
        self.marks = marks
        self._pages = pages

    @classmethod
    def of_bits(cls, first: int, present: NDArray[np.uint8]) -> DenseIds:
        """Of the bits alone, lowest first in each byte."""
        counts = np.cumsum(np.append(np.uint32(0), _BELOW[present, 8]), dtype=np.uint32)
        return cls(first, int(counts[-1]), present, counts[:-1], counts[:-1:MARK])

    def __len__(self) -> int:
        return self.count

    def codes(self, ids: Iterable[Any]) -> NDArray[np.int64]:
        values = integers(ids)
        # Compared before it is subtracted, so that nothing overflows.
        within = (values >= self.first) & (values <= self.first + 8 * len(self.present) - 1)
        slots = np.where(within, values, self.first) - self.first
        byte, place = slots >> 3, slots & 7
        self._want(byte, byte + 1)
        bits = self.present[byte]
        found = within & ((bits >> place.astype(np.uint8)) & 1).astype(bool)
        return np.where(found, self.before[byte].astype(np.int64) + _BELOW[bits, place], ABSENT)

    def take(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        codes = np.asarray(codes).astype(np.int64)
        byte = (np.searchsorted(self.marks, codes.astype(np.uint32), side="right") - 1) * MARK
        self._want(byte, np.minimum(byte + MARK, len(self.before)))
        step = MARK // 2
        while step:
            further = np.minimum(byte + step, len(self.before) - 1)
            byte = np.where(self.before[further] <= codes, further, byte)
            step //= 2
        ids: NDArray[np.int64] = self.first + 8 * byte + _NTH[self.present[byte], codes - self.before[byte]]
        return ids

    def near(self, wanted: Any, count: int = 3) -> list[Any]:
        if not is_integer(wanted):
            return []
        slot = min(max(int(wanted) - self.first, 0), 8 * len(self.present) - 1)
        rank = int(self.before[slot >> 3]) + int(_BELOW[self.present[slot >> 3], slot & 7])
        return _nearest(int(wanted), self.take(around(rank, count, self.count)), count)

    def _want(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> None:
        for pages in self._pages:
            if pages is not None:
                pages.want(starts, stops)


class SortedIds:
    """Integers of any size, sorted; found by bisection."""

    kind: ClassVar[str] = "sorted"

    def __init__(self, values: NDArray[np.int64], pages: Pages | None = None) -> None:
        self.values = values
        self._pages = pages

    def __len__(self) -> int:
        return len(self.values)

    def codes(self, ids: Iterable[Any]) -> NDArray[np.int64]:
        wanted = integers(ids)
        if not len(self.values):
            return np.full(len(wanted), ABSENT, np.int64)
        places = np.minimum(np.searchsorted(self.values, wanted), len(self.values) - 1)
        codes: NDArray[np.int64] = np.where(self.values[places] == wanted, places, ABSENT)
        return codes

    def take(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        codes = np.asarray(codes, np.int64)
        if self._pages is not None:
            self._pages.want(codes, codes + 1)
        ids: NDArray[np.int64] = self.values[codes]
        return ids

    def near(self, wanted: Any, count: int = 3) -> list[Any]:
        if not is_integer(wanted):
            return []
        rank = bisect_left(self.values, int(wanted))
        return _nearest(int(wanted), self.take(around(rank, count, len(self))), count)


def integer_ids(values: NDArray[np.int64]) -> RangeIds | DenseIds | SortedIds:
    """The smallest way to hold these integers, which are sorted and each there once."""
    if not len(values) or not is_dense(int(values[0]), int(values[-1]), len(values)):
        return SortedIds(values)
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
        if not -(2**63) <= int(value) < 2**63:
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
