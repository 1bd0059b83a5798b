"""Values of a column numbered in their order, however many there are: chunks are numbered for themselves, then merged.

Each chunk leaves a *run*, its distinct values sorted, and codes into that. Merging all runs by ranges of values gives the dictionary,
and for each run the place of its values in it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bigdebug.provgraph.spilling import Extent, Spill
from bigdebug.provgraph.texts import text_arrays

_BEGINNING, _LONGER = 1 << 10, 1 << 16
"""Bytes of a text that decide in which range it is merged: so many, or more where all texts of a range begin alike."""
_SAMPLE = 64
"""Bytes that a sample takes, beside its text."""


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

    @property
    def bytes(self) -> int:
        """What all of them take."""
        ...

    @property
    def sample(self) -> int:
        """Bytes that one sample takes."""
        ...

    def part(self, start: int, stop: int) -> Run:
        """Some of them, as a run."""
        ...

    def finer(self) -> Run | None:
        """The same, of which more decides where they are cut; None if no more does."""
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

    @property
    def bytes(self) -> int:
        return self.extent.bytes

    @property
    def sample(self) -> int:
        return _SAMPLE

    def part(self, start: int, stop: int) -> NumberRun:
        return NumberRun(self.spill, self.extent.part(start, stop))

    def finer(self) -> None:
        return None


@dataclass(frozen=True)
class TextRun:
    """Texts, in the order of their UTF-8 bytes. Of long ones only the ``beginning`` is looked at: those that begin alike stay together."""

    spill: Spill
    offsets: Extent
    data: Extent
    beginning: int = _BEGINNING

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def read(self, start: int, stop: int) -> pa.LargeStringArray:
        offsets = self.spill.read(self.offsets, start, stop + 1)
        data = self.spill.read(self.data, int(offsets[0]), int(offsets[-1]))
        return pa.LargeStringArray.from_buffers(stop - start, pa.py_buffer(offsets - offsets[0]), pa.py_buffer(data))

    def _at(self, place: int) -> bytes:
        start, stop = self.spill.read(self.offsets, place, place + 2).tolist()
        return self.spill.read(self.data, start, min(stop, start + self.beginning)).tobytes()

    def after(self, value: bytes) -> int:
        return bisect_right(range(len(self)), value, key=self._at)

    def samples(self, step: int) -> list[bytes]:
        offsets = self.spill.read(self.offsets)
        weights = offsets[1:] - offsets[:1] + 8 * np.arange(1, len(offsets))
        marks = np.arange(step, int(weights[-1]) + 1, step) if len(weights) else np.zeros(0, np.int64)
        # A text that is longer than a step is there as often as it has steps.
        return [text for place, times in Counter(np.searchsorted(weights, marks).tolist()).items() for text in [self._at(place)] * times]

    @property
    def bytes(self) -> int:
        first, last = (int(self.spill.read(self.offsets, place, place + 1)[0]) for place in (0, len(self)))
        return self.offsets.bytes + last - first

    @property
    def sample(self) -> int:
        return _SAMPLE + min(self.beginning, self.bytes // max(len(self), 1))

    def part(self, start: int, stop: int) -> TextRun:
        return replace(self, offsets=self.offsets.part(start, stop + 1))

    def finer(self) -> TextRun | None:
        return replace(self, beginning=_LONGER) if self.beginning < _LONGER else None


def ranges(runs: Sequence[Run], budget: int) -> Iterator[list[tuple[int, int]]]:
    """Cuts runs into ranges of values that take up to ``budget`` bytes together, as far as these can be told apart; equal values are never in two.

    Yields for each range, ascending, the part of each run that is in it. Samples of the values take a quarter of ``budget``, or eight for each run.
    """
    cuts = list(_cuts(runs, budget))
    for starts, stops in cuts:
        parts = [run.part(start, stop) for run, start, stop in zip(runs, starts, stops)]
        within: list[Run | None] = []
        if sum(part.bytes for part in parts) > budget:
            # Where there were too few samples; or, if it is all that there was to cut, where values begin alike.
            within = [*parts] if len(cuts) > 1 else [part.finer() for part in parts]
        finer = [part for part in within if part is not None]
        if not finer or len(finer) < len(parts):
            yield list(zip(starts, stops))
            continue
        for inner in ranges(finer, budget):
            yield [(start + first, start + last) for start, (first, last) in zip(starts, inner)]


def _cuts(runs: Sequence[Run], budget: int) -> Iterator[tuple[list[int], list[int]]]:
    """Where the ranges begin in each run, and where they end."""
    some = [run for run in runs if len(run)]
    if not some:
        return
    most = max(8 * len(some), budget // (4 * max(run.sample for run in some)))
    step = max(1, budget // (4 * len(some)), sum(run.bytes for run in some) // most)
    samples = list(merge(*(run.samples(step) for run in some)))
    splitters = samples[2 * len(some) :: 2 * len(some)]
    places = [[0] * len(runs), *([run.after(splitter) for run in runs] for splitter in splitters), [len(run) for run in runs]]
    for starts, stops in pairwise(places):
        if starts != stops:
            yield starts, stops


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
