"""Whether a graph has cycles, and which: items without sources are taken away, then those that have none any more, until all are gone."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigdebug.provgraph.adjacency import Adjacency


@dataclass(frozen=True)
class Cycles:
    """How many items are on cycles or between two, and the codes along one cycle: from an item through what it was made of to itself."""

    items: int = 0
    example: tuple[int, ...] = ()


def cycles(backward: Adjacency, forward: Adjacency, *, block: int = 1 << 20, scratch: Path | None = None) -> Cycles:
    """The cycles of a graph (Kahn 1962). Takes time by triples, and some 50 microseconds for each level of the longest path.

    Needs five bytes for each item, and a hundred for each of ``block`` triples; those of items in an unnamed file of ``scratch``, if
    that is given, which the kernel keeps in memory as it sees fit.
    """
    peeling = _Peeling(len(backward.offsets) - 1, block, scratch)
    peeling.peel(backward, forward)
    if not peeling.gone.all():
        peeling.peel(forward, backward)
    stay = sum(len(some) - int(peeling.gone[some].sum()) for some in peeling.blocks())
    return Cycles(stay, _example(backward, peeling.gone) if stay else ())


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
            while waiting:
                ready = waiting.pop()
                self.gone[ready] = True
                # Those further on are found when they are come to.
                waiting += (found for one in self._less(away, ready) if len(found := one[one <= some[-1]]))

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
            start, stop = int(away.offsets[item]), int(away.offsets[item + 1])
            for place in range(start, stop, self.block):
                yield away.neighbours[place : min(place + self.block, stop)]
        some = items[(counts > 0) & (counts <= self.block)]
        ends = np.cumsum(away.degrees(some))
        cuts = np.searchsorted(ends, np.arange(self.block, int(ends[-1]) if len(ends) else 0, self.block))
        yield from (away.of(part).neighbours.astype(np.uint32) for part in np.split(some, cuts) if len(part))


def _example(backward: Adjacency, gone: NDArray[np.bool_]) -> tuple[int, ...]:
    """A cycle among what has not gone: each of these has a source that has not gone either."""
    item, path = int(np.argmin(gone)), dict[int, int]()
    while item not in path:
        path[item] = len(path)
        sources = backward.of(np.array([item])).neighbours
        item = int(sources[~gone[sources]][0])
    return (*list(path)[path[item] :], item)


def _scratch(items: int, kind: Any, folder: Path | None) -> NDArray[Any]:
    if folder is None or not items:
        return np.zeros(items, kind)
    with tempfile.TemporaryFile(dir=folder) as file:
        file.truncate(items * np.dtype(kind).itemsize)
        return np.asarray(np.memmap(file, kind, "r+", shape=(items,)))
