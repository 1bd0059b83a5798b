"""The triples of a graph in one direction, as compressed sparse rows, in memory or on disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bigdebug.errors import CorruptBlockError
from bigdebug.store.arrays import Array


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
    """The neighbours of every item in one direction: those of item i stand from the value of ``offsets`` at i up to that at i + 1,
    ascending, and beside each the operation.
    """

    offsets: Array
    neighbours: Array
    ops: Array

    def of(self, codes: NDArray[Any]) -> Edges:
        """The triples at these items, item by item in the order given. Takes time by triples and, on disk, by pages touched."""
        return self.between(codes, *self.ends(codes))

    def between(self, codes: NDArray[Any], starts: NDArray[np.int64], stops: NDArray[np.int64]) -> Edges:
        """The triples at these items, which stand where ``ends`` says."""
        codes = np.asarray(codes, np.int64)
        with as_built():
            neighbours, ops = (array.parts(starts, stops).astype(np.int64) for array in (self.neighbours, self.ops))
        return Edges(np.repeat(codes, stops - starts), neighbours, ops)

    def degrees(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        """How many triples each of these items has in this direction."""
        starts, stops = self.ends(codes)
        return stops - starts

    def ends(self, codes: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the triples at each of these items begin, and where they end."""
        codes = np.asarray(codes, np.int64)
        with as_built():
            starts, stops = self.offsets.take(codes).astype(np.int64), self.offsets.take(codes + 1).astype(np.int64)
            if len(codes) and ((stops < starts).any() or stops.max() > len(self.neighbours)):
                raise IndexError("triples of an item end before they begin, or behind the last one")
        return starts, stops
