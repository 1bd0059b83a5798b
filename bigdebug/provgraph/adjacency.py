"""The triples of a graph in one direction, as compressed sparse rows, in memory or memory-mapped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Edges(NamedTuple):
    """Triples at some items: row by row the item, its neighbour, the operation between them (all codes)."""

    items: NDArray[np.int64]
    neighbours: NDArray[np.int64]
    ops: NDArray[np.int64]


@dataclass(frozen=True)
class Adjacency:
    """The neighbours of every item in one direction: those of item i stand from ``offsets[i]`` to ``offsets[i + 1]``, ascending, and
    beside each the operation.
    """

    offsets: NDArray[Any]
    neighbours: NDArray[np.uint32]
    ops: NDArray[Any]

    def of(self, codes: NDArray[Any]) -> Edges:
        """The triples at these items, item by item in the order given. Takes time by triples and, on disk, by pages touched."""
        codes = np.asarray(codes, np.int64)
        starts = self.offsets[codes].astype(np.int64)
        counts = self.offsets[codes + 1].astype(np.int64) - starts
        places = np.arange(int(counts.sum())) + np.repeat(starts - (np.cumsum(counts) - counts), counts)
        return Edges(
            np.repeat(codes, counts), self.neighbours[places].astype(np.int64), self.ops[places].astype(np.int64)
        )

    def degrees(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        """How many triples each of these items has in this direction."""
        codes = np.asarray(codes, np.int64)
        counts: NDArray[np.int64] = self.offsets[codes + 1].astype(np.int64) - self.offsets[codes].astype(np.int64)
        return counts
