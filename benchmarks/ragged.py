"""Ragged text: files of drawn strings, put together by numpy at some 100 MB a second."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
Draws = np.random.Generator

ALPHABET = np.frombuffer(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", dtype=np.uint8)


class Pool:
    """Strings that a file is made of, separators included; a file is a sequence of ids into it."""

    def __init__(self, strings: Sequence[bytes]) -> None:
        self._bytes = np.frombuffer(b"".join(strings), dtype=np.uint8)
        self._lengths = np.fromiter(map(len, strings), dtype=np.int64, count=len(strings))
        self._starts = np.cumsum(self._lengths) - self._lengths

    def text(self, ids: Ids) -> bytes:
        """The strings of ``ids``, one after the other. Needs 9 bytes of memory for each byte of text."""
        lengths = self._lengths[ids]
        shifts = self._starts[ids] - (np.cumsum(lengths) - lengths)
        text: bytes = self._bytes[np.repeat(shifts, lengths) + np.arange(lengths.sum())].tobytes()
        return text

    def write(self, path: Path, chunks: Iterable[Ids]) -> None:
        """Write the strings of all ``chunks``. The file appears whole or not at all."""
        partial = path.with_name(f"{path.name}.{os.getpid()}")
        with partial.open("wb") as file:
            for ids in chunks:
                file.write(self.text(ids))
        partial.replace(path)


class Zipf:
    """Ranks 0 to ``size - 1``, drawn with probability proportional to 1 / (rank + 1)."""

    def __init__(self, size: int) -> None:
        shares = np.cumsum(1.0 / np.arange(1, size + 1))
        self._shares = shares / shares[-1]

    def draw(self, draws: Draws, count: int) -> Ids:
        return np.searchsorted(self._shares, draws.random(count), side="right").astype(np.int64)


def evenly(draws: Draws, low: int, high: int, count: int) -> Ids:
    """``count`` integers from ``low`` up to, not including, ``high``."""
    # From random() alone: the stream of doubles is the part of numpy's generators that stays the same longest.
    return (low + np.floor(draws.random(count) * (high - low))).astype(np.int64)


def strings(draws: Draws, count: int, shortest: int, longest: int) -> list[bytes]:
    """``count`` random strings of letters and digits. Distinct but for chance."""
    lengths = evenly(draws, shortest, longest + 1, count)
    letters: Any = ALPHABET[evenly(draws, 0, len(ALPHABET), int(lengths.sum()))].tobytes()
    ends = np.cumsum(lengths).tolist()
    return [letters[end - length : end] for end, length in zip(ends, lengths.tolist())]
