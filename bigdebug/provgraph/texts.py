"""Texts as ids, sorted by their UTF-8 bytes. The code of one is its place."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bigdebug.provgraph.integers import ABSENT, around
from bigdebug.provgraph.slips import LONG, variants
from bigdebug.store.arrays import Array, InMemory

_AROUND = 64
"""Ids on either side of where one would stand that are looked at for near ones."""
_BESIDE = 2
"""Ids on either side of where another spelling would stand."""


class TextIds:
    """Texts, sorted by their UTF-8 bytes and held behind one another; found by bisection."""

    kind: ClassVar[str] = "text"

    def __init__(self, offsets: Array, data: Array) -> None:
        self.offsets = offsets
        self.data = data

    @classmethod
    def of(cls, texts: pa.LargeStringArray) -> TextIds:
        """Of an Arrow array that is sorted and has each text once."""
        offsets, data = text_arrays(texts)
        return cls(InMemory(offsets), InMemory(data))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def codes(self, ids: Iterable[Any]) -> NDArray[np.int64]:
        return np.fromiter((self._code(text) for text in texts(ids)), np.int64)

    def _code(self, text: str) -> int:
        wanted = _bytes(text)
        place = self._place(wanted)
        return place if place < len(self) and self._at(place) == wanted else ABSENT

    def _place(self, wanted: bytes) -> int:
        return bisect_left(range(len(self)), wanted, key=self._at)

    def _at(self, code: int) -> bytes:
        start, stop = self.offsets.part(code, code + 2).tolist()
        return self.data.part(start, stop).tobytes()

    def take(self, codes: NDArray[Any]) -> NDArray[Any]:
        found: NDArray[Any] = self._taken(np.asarray(codes).astype(np.int64)).to_numpy(zero_copy_only=False)
        return found

    def _taken(self, codes: NDArray[np.int64]) -> Any:
        starts, stops = self.offsets.take(codes), self.offsets.take(codes + 1)
        if (stops < starts).any():
            raise IndexError("a text ends before it begins")
        ends = np.append(0, np.cumsum(stops - starts))
        data = self.data.parts(starts, stops)
        return pa.LargeStringArray.from_buffers(len(codes), pa.py_buffer(ends), pa.py_buffer(data))

    def _beginnings(self) -> list[str]:
        """The characters that texts begin with, the first ones of many."""
        found: list[str] = []
        place = self._place(b"\0")  # behind the empty text
        while place < len(self) and len(found) < _AROUND:
            found.append(self._at(place).decode(errors="ignore")[:1])
            place = self._place(_bytes(found[-1]) + b"\xff")  # which no UTF-8 has
        return found

    def near(self, wanted: Any, count: int = 3) -> list[Any]:
        if not isinstance(wanted, str):
            return []
        place = self._place(_bytes(wanted))
        beside = around(place, _AROUND, len(self))
        meant = (around(self._place(_bytes(text)), _BESIDE, len(self)) for text in variants(wanted, self._beginnings()))
        beside = np.array([*dict.fromkeys(chain(beside, *meant))], np.int64)
        # Near a long one are its neighbours alone. A text has no more characters than bytes; long ones are not even read.
        short = beside[self.offsets.take(beside + 1) - self.offsets.take(beside) <= LONG] if len(wanted) <= LONG else beside[:0]
        close: list[Any] = get_close_matches(wanted, self._taken(short).to_pylist(), count) if len(short) else []
        return close or self._taken(beside[:count]).to_pylist()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def text_arrays(texts: pa.LargeStringArray) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Where each text begins, the first at 0 and the end behind the last one; and their bytes."""
    _, offsets, data = texts.buffers()
    if not len(texts):
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    places = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    held = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return places - places[0], held[places[0] : places[-1]]


def texts(ids: Iterable[Any]) -> list[str]:
    """The ids as they are. Raises TypeError for one that is no text, and says which."""
    held = list(ids)
    for value in held:
        if not isinstance(value, str):
            raise TypeError(f"ids are texts here, not {type(value).__name__}")
    return held
