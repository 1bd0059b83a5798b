"""Values of a column numbered in their order, however many there are: chunks are numbered for themselves, then merged.

Each chunk leaves a *run*, its distinct values sorted, and codes into that. Merging all runs by ranges of values gives the dictionary,
and for each run the place of its values in it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bigdebug.provgraph.spilling import Extent, Spill
from bigdebug.provgraph.texts import text_arrays

_BEGINNING = 1 << 10
"""Bytes of a text that decide in which range it is merged."""


class Run(Protocol):
    """Values on disk, ascending."""

    def __len__(self) -> int: ...

    def read(self, start: int, stop: int) -> Any:
        """Some of them."""
        ...

    def after(self, value: Any) -> int:
        """The place behind the last one that is not above ``value``."""
        ...

    def samples(self, step: int) -> list[Any]:
        """One of each ``step`` bytes."""
        ...


@dataclass(frozen=True)
class NumberRun:
    """Numbers of numpy."""

    spill: Spill
    extent: Extent

    def __len__(self) -> int:
        return len(self.extent)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        return self.spill.read(self.extent, start, stop)

    def after(self, value: Any) -> int:
        return bisect_right(range(len(self)), value, key=lambda place: self.read(place, place + 1)[0])

    def samples(self, step: int) -> list[Any]:
        every = max(1, step // self.extent.dtype.itemsize)
        return [self.read(place, place + 1)[0] for place in range(every - 1, len(self), every)]


@dataclass(frozen=True)
class TextRun:
    """Texts, in the order of their UTF-8 bytes. Of long ones only the beginning is looked at: those that begin alike stay together."""

    spill: Spill
    offsets: Extent
    data: Extent

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def read(self, start: int, stop: int) -> pa.LargeStringArray:
        offsets = self.spill.read(self.offsets, start, stop + 1)
        data = self.spill.read(self.data, int(offsets[0]), int(offsets[-1]))
        return pa.LargeStringArray.from_buffers(stop - start, pa.py_buffer(offsets - offsets[0]), pa.py_buffer(data))

    def _at(self, place: int) -> bytes:
        start, stop = self.spill.read(self.offsets, place, place + 2).tolist()
        return self.spill.read(self.data, start, min(stop, start + _BEGINNING)).tobytes()

    def after(self, value: bytes) -> int:
        return bisect_right(range(len(self)), value, key=self._at)

    def samples(self, step: int) -> list[bytes]:
        offsets = self.spill.read(self.offsets)
        weights = offsets[1:] + 8 * np.arange(1, len(offsets))
        marks = np.arange(step, int(weights[-1]) + 1, step) if len(weights) else np.zeros(0, np.int64)
        # A text that is longer than a step is there as often as it has steps.
        return [text for place, times in Counter(np.searchsorted(weights, marks).tolist()).items() for text in [self._at(place)] * times]


def ranges(runs: Sequence[Run], budget: int) -> Iterator[list[tuple[int, int]]]:
    """Cuts runs into ranges of values that take about ``budget`` bytes together; equal values are never in two of them.

    Yields for each range, ascending, the part of each run that is in it.
    """
    if not runs:
        return
    step = max(1, budget // (4 * len(runs)))
    samples = list(merge(*(run.samples(step) for run in runs)))
    splitters = samples[2 * len(runs) :: 2 * len(runs)]
    places = [[0] * len(runs), *([run.after(splitter) for run in runs] for splitter in splitters), [len(run) for run in runs]]
    for starts, stops in pairwise(places):
        if starts != stops:
            yield list(zip(starts, stops))


def together(some: Sequence[Any]) -> Any:
    """Several stretches of values as one. Raises TypeError for integers beside texts."""
    whole = {isinstance(one, np.ndarray) for one in some}
    if len(whole) > 1:
        raise TypeError("ids are all integers or all texts, and these are both")
    return np.concatenate(some) if whole == {True} else pa.concat_arrays(some)


def numbered(values: Any) -> tuple[Any, NDArray[np.uint32]]:
    """The distinct values in their order, and the place of each value among them."""
    return _numbers(values) if isinstance(values, np.ndarray) else _texts(values)


def _numbers(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    if not len(values):
        return values, np.zeros(0, np.uint32)
    first, last = int(values.min()), int(values.max())
    if last - first < 2 * len(values):
        there = np.zeros(last - first + 1, bool)
        there[values - first] = True
        places = np.cumsum(there, dtype=np.uint32)
        return np.flatnonzero(there) + first, places[values - first] - np.uint32(1)
    order = np.argsort(values)
    ordered = values[order]
    new = np.append(True, ordered[1:] != ordered[:-1])
    codes = np.empty(len(values), np.uint32)
    codes[order] = np.cumsum(new, dtype=np.uint32) - np.uint32(1)
    return ordered[new], codes


def _texts(values: pa.LargeStringArray) -> tuple[pa.LargeStringArray, NDArray[np.uint32]]:
    encoded = values.dictionary_encode()
    order = pc.array_sort_indices(encoded.dictionary).to_numpy()
    places = np.empty(len(order), np.uint32)
    places[order] = np.arange(len(order), dtype=np.uint32)
    found = encoded.dictionary.take(pa.array(order)), places[encoded.indices.to_numpy()]
    del encoded
    # Arrow keeps what it has freed, and texts are freed in other sizes than they are asked for.
    pa.default_memory_pool().release_unused()
    return found


def run_of(values: Any, spill: Spill) -> Run:
    """Writes distinct values, which are sorted."""
    if isinstance(values, np.ndarray):
        return NumberRun(spill, spill.write(values))
    offsets, data = text_arrays(values)
    return TextRun(spill, spill.write(offsets), spill.write(data))


@dataclass(frozen=True)
class Merged:
    """A range of values over all runs: the distinct ones, and for each run that has some of them where, and their places in ``values``."""

    values: Any
    parts: list[tuple[int, int, NDArray[np.uint32]]]


def merged(runs: Sequence[Run], budget: int) -> Iterator[Merged]:
    """All runs, by ascending ranges of values that take about ``budget`` bytes; ``parts`` has (run, start, codes)."""
    for parts in ranges(runs, budget):
        some = [(number, start, stop) for number, (start, stop) in enumerate(parts) if stop > start]
        read = [runs[number].read(start, stop) for number, start, stop in some]
        values, codes = numbered(together(read))
        ends = np.cumsum([stop - start for _, start, stop in some])
        pieces = np.split(codes, ends[:-1])
        yield Merged(values, [(number, start, piece) for (number, start, _), piece in zip(some, pieces)])
