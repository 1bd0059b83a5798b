"""The triples of a graph in one direction, as compressed sparse rows, in memory or memory-mapped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bigdebug.errors import CorruptBlockError
from bigdebug.store.mapping import Pages
from bigdebug.store.ranges import spread


@contextmanager
def as_built() -> Iterator[None]:
    """Within: places that no array has, and texts that are none, are a CorruptBlockError: only a file that was altered leads to them."""
    try:
        yield
    except (IndexError, UnicodeDecodeError, pa.ArrowException) as problem:
        raise CorruptBlockError(
            f"The index is not what was built: {problem}", remedy="graph.verify() names the file that was altered; build the index again from its triples.",
        ) from problem


class Edges(NamedTuple):
    """Triples at some items: row by row the item, its neighbour, the operation between them (all codes)."""

    items: NDArray[np.int64]
    neighbours: NDArray[np.int64]
    ops: NDArray[np.int64]


@dataclass(frozen=True)
class Adjacency:
    """The neighbours of every item in one direction: those of item i stand from ``offsets[i]`` to ``offsets[i + 1]``, ascending, and
    beside each the operation. ``pages`` are those of the three arrays, where they are mapped.
    """

    offsets: NDArray[Any]
    neighbours: NDArray[np.uint32]
    ops: NDArray[Any]
    pages: tuple[Pages | None, Pages | None, Pages | None] = (None, None, None)

    def of(self, codes: NDArray[Any]) -> Edges:
        """The triples at these items, item by item in the order given. Takes time by triples and, on disk, by pages touched."""
        codes = np.asarray(codes, np.int64)
        starts, stops = self._ends(codes)
        for pages in self.pages[1:]:
            if pages is not None:
                pages.want(starts, stops)
        places = spread(starts, stops - starts)
        with as_built():
            return Edges(
                np.repeat(codes, stops - starts), self.neighbours[places].astype(np.int64), self.ops[places].astype(np.int64)
            )

    def degrees(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        """How many triples each of these items has in this direction."""
        starts, stops = self._ends(np.asarray(codes, np.int64))
        return stops - starts

    def _ends(self, codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        with as_built():
            if self.pages[0] is not None:
                self.pages[0].want(codes, codes + 2)
            starts, stops = self.offsets[codes].astype(np.int64), self.offsets[codes + 1].astype(np.int64)
            if len(codes) and ((stops < starts).any() or stops.max() > len(self.neighbours)):
                raise IndexError("triples of an item end before they begin, or behind the last one")
        return starts, stops
