"""Which code an id has, and which id a code: items and operations are numbered 0, 1, ... in the order of their ids.

Three ways to hold the ids, all of them arrays that may be memory-mapped: integers that lie close together (a bit each), integers
that do not (sorted), and texts (sorted by their UTF-8 bytes, behind one another).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import chain
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]
ABSENT = -1
"""The code of an id that is not there."""

_SPREAD = 8
"""Slots per id up to which a bit for each slot (and a count for eight of them) takes less than eight bytes for each id."""
_AROUND = 64
"""Ids on either side of where one would stand that are looked at for near ones."""
_LONG = 1_000
"""Characters beyond which a text is not compared letter by letter: near ones are its neighbours, then."""

_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
_BELOW = np.concatenate([np.zeros((256, 1), np.uint8), _BITS.cumsum(axis=1, dtype=np.uint8)], axis=1)
"""Bits that are set below a place of a byte: by byte and place."""
_NTH = np.argsort(1 - _BITS, axis=1, kind="stable").astype(np.uint8)
"""Places of the bits that are set, in order: by byte and number."""


class Ids(Protocol):
    """Ids in their order; the code of one is its place."""

    kind: ClassVar[str]

    def __len__(self) -> int: ...

    def codes(self, ids: Iterable[Any]) -> NDArray[np.int64]:
        """The code of each id, ABSENT where there is none. Raises TypeError for an id that is of no type that ids have here."""
        ...

    def take(self, codes: NDArray[Any]) -> NDArray[Any]:
        """The id of each code: int64, or Python's str."""
        ...

    def near(self, wanted: Any, count: int = 3) -> list[Any]:
        """Up to ``count`` ids that somebody may have meant."""
        ...

    def arrays(self) -> Arrays:
        """What ``restored`` makes it of again."""
        ...


class DenseIds:
    """Integers that lie close together: a bit for each number from the first on, and how many are set before each byte.

    A code is found, and an id, in constant time and by a search among bytes.
    """

    kind: ClassVar[str] = "dense"

    def __init__(self, first: int, present: NDArray[np.uint8], before: NDArray[np.uint32]) -> None:
        self.first = first
        self.present = present
        self.before = before
        self._count = int(before[-1]) + int(_BELOW[present[-1], 8]) if len(present) else 0

    @classmethod
    def of_bits(cls, first: int, present: NDArray[np.uint8]) -> DenseIds:
        """Of the bits alone, lowest first in each byte."""
        ends = np.cumsum(_BELOW[present, 8], dtype=np.uint32)
        return cls(first, present, np.concatenate([np.zeros(1, np.uint32), ends[:-1]]) if len(ends) else ends)

    def __len__(self) -> int:
        return self._count

    def codes(self, ids: Iterable[Any]) -> NDArray[np.int64]:
        return self.ranks(integers(ids))

    def ranks(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """The code of each integer. Those beyond either end are compared before they are subtracted, so nothing overflows."""
        within = (values >= self.first) & (values <= self.first + 8 * len(self.present) - 1)
        slots = np.where(within, values, self.first) - self.first
        if not len(self.present):
            return np.full(len(values), ABSENT, np.int64)
        byte, place = slots >> 3, slots & 7
        bits = self.present[byte]
        found = within & ((bits >> place.astype(np.uint8)) & 1).astype(bool)
        return np.where(found, self.before[byte].astype(np.int64) + _BELOW[bits, place], ABSENT)

    def take(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        codes = np.asarray(codes).astype(np.int64)
        byte = np.searchsorted(self.before, codes.astype(self.before.dtype), side="right") - 1
        ids: NDArray[np.int64] = self.first + 8 * byte + _NTH[self.present[byte], codes - self.before[byte]]
        return ids

    def near(self, wanted: Any, count: int = 3) -> list[Any]:
        if not _is_integer(wanted) or not len(self):
            return []
        slot = min(max(int(wanted) - self.first, 0), 8 * len(self.present) - 1)
        byte = min(slot >> 3, len(self.present) - 1)
        rank = int(self.before[byte]) + int(_BELOW[self.present[byte], slot & 7])
        return _nearest(int(wanted), self.take(_around(rank, count, len(self))), count)

    def arrays(self) -> Arrays:
        return {"first": np.array([self.first], np.int64), "present": self.present, "before": self.before}


class SortedIds:
    """Integers of any size, sorted; found by bisection."""

    kind: ClassVar[str] = "sorted"

    def __init__(self, values: NDArray[np.int64]) -> None:
        self.values = values

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
        ids: NDArray[np.int64] = self.values[codes]
        return ids

    def near(self, wanted: Any, count: int = 3) -> list[Any]:
        if not _is_integer(wanted):
            return []
        rank = bisect_left(self.values, int(wanted))
        return _nearest(int(wanted), self.take(_around(rank, count, len(self))), count)

    def arrays(self) -> Arrays:
        return {"values": self.values}


class TextIds:
    """Texts, sorted by their UTF-8 bytes and held behind one another; found by bisection."""

    kind: ClassVar[str] = "text"

    def __init__(self, offsets: NDArray[np.int64], data: NDArray[np.uint8]) -> None:
        self.offsets = offsets
        self.data = data
        self._bytes = memoryview(np.ascontiguousarray(data).data)
        self._texts = pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(data))

    @classmethod
    def of(cls, texts: pa.LargeStringArray) -> TextIds:
        """Of an Arrow array that is sorted and has each text once."""
        return cls(*text_arrays(texts))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def codes(self, ids: Iterable[Any]) -> NDArray[np.int64]:
        return np.fromiter((self._code(text) for text in texts(ids)), np.int64)

    def _code(self, text: str) -> int:
        wanted = text.encode("utf-8", "surrogatepass")
        place = self._place(wanted)
        return place if place < len(self) and self._at(place) == wanted else ABSENT

    def _place(self, wanted: bytes) -> int:
        return bisect_left(range(len(self)), wanted, key=self._at)

    def _at(self, code: int) -> bytes:
        return bytes(self._bytes[self.offsets[code] : self.offsets[code + 1]])

    def take(self, codes: NDArray[Any]) -> NDArray[Any]:
        found: NDArray[Any] = self._taken(np.asarray(codes).astype(np.int64)).to_numpy(zero_copy_only=False)
        return found

    def _taken(self, codes: NDArray[np.int64]) -> Any:
        return self._texts.take(pa.array(codes))

    def near(self, wanted: Any, count: int = 3) -> list[Any]:
        if not isinstance(wanted, str):
            return []
        place = self._place(wanted.encode("utf-8", "surrogatepass"))
        beside: list[Any] = self._taken(_around(place, _AROUND, len(self))).to_pylist()
        if len(wanted) > _LONG:
            return beside[:count]
        close = get_close_matches(wanted, [text for text in beside if len(text) <= _LONG], count)
        return close or beside[:count]

    def arrays(self) -> Arrays:
        return {"offsets": self.offsets, "data": self.data}


def integer_ids(values: NDArray[np.int64]) -> DenseIds | SortedIds:
    """The smaller way to hold these integers, which are sorted and each there once."""
    if not len(values) or not is_dense(int(values[0]), int(values[-1]), len(values)):
        return SortedIds(values)
    first = int(values[0])
    slots = np.zeros(-(-(int(values[-1]) - first + 1) // 8) * 8, bool)
    slots[values - first] = True
    return DenseIds.of_bits(first, np.packbits(slots, bitorder="little"))


def is_dense(first: int, last: int, count: int) -> bool:
    """Whether ``count`` integers from first to last lie so close that a bit for each slot is the smaller way."""
    return last - first < _SPREAD * count


def ids_of(values: Iterable[Any]) -> tuple[Ids, NDArray[np.int64]]:
    """A dictionary of these ids, all integers or all texts, in memory; and the code of each. For what fits there several times."""
    held = list(values)
    if all(_is_integer(value) for value in held):
        unique, codes = np.unique(integers(held), return_inverse=True)
        return integer_ids(unique), codes.astype(np.int64)
    # Arrow sorts texts by their bytes; Python and numpy by code points, which is the same order.
    distinct = sorted(set(texts(held)))
    place = {text: code for code, text in enumerate(distinct)}
    return TextIds.of(pa.array(distinct, pa.large_string())), np.fromiter((place[text] for text in held), np.int64)


def text_arrays(texts: pa.LargeStringArray) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Where each text begins, the first at 0 and the end behind the last one; and their bytes."""
    _, offsets, data = texts.buffers()
    if not len(texts):
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    places = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    held = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return places - places[0], held[places[0] : places[-1]]


def restored(kind: str, arrays: Arrays) -> Ids:
    """The dictionary that gave these arrays."""
    if kind == DenseIds.kind:
        return DenseIds(int(arrays["first"][0]), arrays["present"], arrays["before"])
    if kind == SortedIds.kind:
        return SortedIds(arrays["values"])
    if kind == TextIds.kind:
        return TextIds(arrays["offsets"], arrays["data"])
    raise ValueError(f"no ids are held as {kind!r}")


def integers(ids: Iterable[Any]) -> NDArray[np.int64]:
    """The ids as int64. Raises TypeError for one that is no integer of 64 bits, and says which."""
    if isinstance(ids, np.ndarray) and ids.dtype.kind == "i":
        return ids.astype(np.int64, copy=False)
    held: Sequence[Any] = list(ids)
    for value in held:
        if not _is_integer(value):
            raise TypeError(f"ids are integers here, not {type(value).__name__}")
    return np.array([int(value) if -(2**63) <= int(value) < 2**63 else _beyond(value) for value in held], np.int64)


def texts(ids: Iterable[Any]) -> list[str]:
    """The ids as they are. Raises TypeError for one that is no text, and says which."""
    held = list(ids)
    for value in held:
        if not isinstance(value, str):
            raise TypeError(f"ids are texts here, not {type(value).__name__}")
    return held


def _beyond(value: Any) -> int:
    raise TypeError(f"ids are integers of 64 bits, and {value} is none")


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))


def _around(rank: int, count: int, size: int) -> NDArray[np.int64]:
    """Codes around a rank, nearest first, as far as there are any."""
    steps = chain.from_iterable((rank - step - 1, rank + step) for step in range(count))
    return np.array([code for code in steps if 0 <= code < size], np.int64)


def _nearest(wanted: int, found: NDArray[np.int64], count: int) -> list[int]:
    return sorted(found.tolist(), key=lambda value: (abs(value - wanted), value))[:count]
