"""Whether a graph has cycles, and which: items without sources are taken away, then those that have none any more, until all are gone."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigdebug.provgraph.adjacency import Adjacency

SHOWN = 19
"""Items of a cycle that are told."""
_FEW = 64
"""Items, and neighbours of one, that are taken one by one."""


@dataclass(frozen=True)
class Cycles:
    """How many items are on cycles or between two; of one cycle the first ``SHOWN`` items, each followed by one it was derived from, and
    how many items it has.
    """

    items: int = 0
    example: tuple[int, ...] = ()
    length: int = 0


def cycles(backward: Adjacency, forward: Adjacency, *, block: int = 1 << 20, scratch: Path | None = None) -> Cycles:
    """The cycles of a graph (Kahn 1962). Takes time by triples, about a second for a million where they form long chains.

    Needs five bytes for each item, and a hundred for each of ``block`` triples; those of items in an unnamed file of ``scratch``, if
    that is given, which the kernel keeps in memory as it sees fit. Raises OSError where the disk has no room for it.
    """
    peeling = _Peeling(len(backward.offsets) - 1, block, scratch)
    peeling.peel(backward, forward)
    if not peeling.gone.all():
        peeling.peel(forward, backward)
    stay = sum(len(some) - int(peeling.gone[some].sum()) for some in peeling.blocks())
    return Cycles(stay, *_example(backward, peeling.gone)) if stay else Cycles()


class _Peeling:
    """Which items are gone, and how many triples the others have left in one direction."""

    def __init__(self, items: int, block: int, scratch: Path | None) -> None:
        self.block = block
        self.left = _scratch(items, np.uint32, scratch)
        self.gone = _scratch(items, np.bool_, scratch)

    def blocks(self) -> Iterator[NDArray[np.int64]]:
        """All items, some at a time."""
        for start in range(0, len(self.gone), self.block):
            yield np.arange(start, min(start + self.block, len(self.gone)))

    def peel(self, towards: Adjacency, away: Adjacency) -> None:
        """Takes away the items that no cycle leads to: those without neighbours ``towards`` that are there, one after the other."""
        for some in self.blocks():
            self.left[some] = towards.degrees(some)
        for some in self.blocks():
            # What has gone from the other side counts no more.
            for _ in self._less(away, some[self.gone[some]]):
                pass
        for some in self.blocks():
            waiting = [some[(self.left[some] == 0) & ~self.gone[some]]]
            last = int(some[-1])
            while waiting:
                ready = waiting.pop()
                if len(ready) <= _FEW:
                    ready = self._one_by_one(away, ready.tolist(), last)
                self.gone[ready] = True
                # Those further on are found when they are come to.
                waiting += (found for one in self._less(away, ready) if len(found := one[one <= last]))

    def _one_by_one(self, away: Adjacency, ready: list[int], last: int) -> NDArray[np.int64]:
        """Takes items away, and up to ``last`` those that are ready by that, while they are few: a long chain takes no arrays a step.

        Returns those that are left, for they are many or have many neighbours.
        """
        left, gone, offsets, neighbours = (array.data for array in (self.left, self.gone, away.offsets.whole(), away.neighbours.whole()))
        while ready and len(ready) <= _FEW:
            item = ready[-1]
            start, stop = offsets[item], offsets[item + 1]
            if stop - start > _FEW:
                break
            ready.pop()
            gone[item] = True
            for other in neighbours[start:stop]:
                left[other] -= 1
                if not left[other] and not gone[other] and other <= last:
                    ready.append(other)
        return np.array(ready, np.int64)

    def _less(self, away: Adjacency, items: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Takes the triples at these items away, and gives the items that have none left by that."""
        for some in self._neighbours(away, items):
            reached = np.sort(some)
            first = np.flatnonzero(np.append(True, reached[1:] != reached[:-1]))
            last = reached[first].astype(np.int64)
            self.left[last] -= np.diff(np.append(first, len(reached))).astype(np.uint32)
            yield last[(self.left[last] == 0) & ~self.gone[last]]

    def _neighbours(self, away: Adjacency, items: NDArray[np.int64]) -> Iterator[NDArray[np.uint32]]:
        """All neighbours of these items, in pieces: one item may have more than memory holds."""
        counts = away.degrees(items)
        for item in items[counts > self.block].tolist():
            start, stop = away.offsets.part(item, item + 2).tolist()
            for place in range(start, stop, self.block):
                yield away.neighbours.part(place, min(place + self.block, stop))
        some = items[(counts > 0) & (counts <= self.block)]
        ends = np.cumsum(away.degrees(some))
        cuts = np.searchsorted(ends, np.arange(self.block, int(ends[-1]) if len(ends) else 0, self.block))
        yield from (away.of(part).neighbours.astype(np.uint32) for part in np.split(some, cuts) if len(part))


def _example(backward: Adjacency, gone: NDArray[np.bool_]) -> tuple[tuple[int, ...], int]:
    """Items along a cycle among what has not gone, the first ones if they are many; and how many there are (Brent 1980)."""
    offsets, neighbours, left = backward.offsets.whole().data, backward.neighbours.whole().data, gone.data

    def source(item: int) -> int:
        """The first source that has not gone either: every item that is left has one."""
        return next(int(other) for other in neighbours[offsets[item] : offsets[item + 1]] if not left[other])

    slow = int(np.argmin(gone))
    fast, length, power = source(slow), 1, 1
    while slow != fast:
        if length == power:
            slow, power, length = fast, 2 * power, 0
        fast, length = source(fast), length + 1
    path = [slow]
    while len(path) < min(length, SHOWN):
        path.append(source(path[-1]))
    return tuple(path), length


def _scratch(items: int, kind: Any, folder: Path | None) -> NDArray[Any]:
    if folder is None or not items:
        return np.zeros(items, kind)
    with tempfile.TemporaryFile(dir=folder) as file:
        # Room is taken now: a mapped page that finds none on the disk later ends the process.
        os.posix_fallocate(file.fileno(), 0, items * np.dtype(kind).itemsize)
        return np.asarray(np.memmap(file, kind, "r+", shape=(items,)))
