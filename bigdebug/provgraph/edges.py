"""Triples of codes in order, however many: packed into numbers, sorted in runs on disk, merged into compressed sparse rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bigdebug.provgraph.numbering import NumberRun, ranges
from bigdebug.provgraph.spilling import Extent, Spill
from bigdebug.provgraph.stored import Folder

_ITEMS = 1 << 20
"""Items whose offsets are written at once."""

Codes = NDArray[np.uint32]


class Rows(NamedTuple):
    """Triples of codes: the item, its neighbour, the operation."""

    items: Codes
    neighbours: Codes
    ops: Codes


class Keys(NamedTuple):
    """Triples as numbers that sort as they do: one of 64 bits holds item, neighbour and, if it has room, the operation."""

    numbers: NDArray[np.uint64]
    ops: Codes | None


@dataclass(frozen=True)
class Packing:
    """How many bits an item and an operation take; operations that do not fit in beside two items stand apart, which sorts slower."""

    bits: int
    op_bits: int

    @classmethod
    def of(cls, items: int, operations: int) -> Packing:
        """For so many items and operations."""
        return cls(max(items - 1, 1).bit_length(), max(operations - 1, 0).bit_length())

    @property
    def narrow(self) -> bool:
        return 2 * self.bits + self.op_bits <= 64

    def pack(self, rows: Rows) -> Keys:
        numbers = (rows.items.astype(np.uint64) << np.uint64(self.bits)) | rows.neighbours
        if not self.narrow:
            return Keys(numbers, rows.ops)
        return Keys((numbers << np.uint64(self.op_bits)) | rows.ops, None)

    def unpack(self, keys: Keys) -> Rows:
        numbers, ops = keys.numbers, keys.ops
        if ops is None:
            ops = (numbers & np.uint64((1 << self.op_bits) - 1)).astype(np.uint32)
            numbers = numbers >> np.uint64(self.op_bits)
        below = np.uint64((1 << self.bits) - 1)
        return Rows((numbers >> np.uint64(self.bits)).astype(np.uint32), (numbers & below).astype(np.uint32), ops)


class Distinct(NamedTuple):
    """Keys in their order, each once, and those that were there before."""

    keys: Keys
    repeated: Keys


def distinct(keys: Keys) -> Distinct:
    """Sorts keys, and tells those that come once more from the first of their kind."""
    numbers, ops = keys
    if ops is None:
        numbers = np.sort(numbers)
        new = np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)]
        if new.all():
            return Distinct(Keys(numbers, None), Keys(numbers[:0], None))
        return Distinct(Keys(numbers[new], None), Keys(numbers[~new], None))
    order = np.lexsort((ops, numbers))
    numbers, ops = numbers[order], ops[order]
    new = np.append(True, (numbers[1:] != numbers[:-1]) | (ops[1:] != ops[:-1]))[: len(numbers)]
    return Distinct(Keys(numbers[new], ops[new]), Keys(numbers[~new], ops[~new]))


class SortedTriples:
    """Triples in sorted runs of a spill file."""

    def __init__(self, spill: Spill, packing: Packing) -> None:
        self.spill = spill
        self.packing = packing
        self._runs: list[NumberRun] = []
        self._ops: list[Extent | None] = []

    def add(self, rows: Rows) -> Rows:
        """Adds a run; returns those of its triples that it has more than once."""
        keys, repeated = distinct(self.packing.pack(rows))
        self._runs.append(NumberRun(self.spill, self.spill.write(keys.numbers)))
        self._ops.append(None if keys.ops is None else self.spill.write(keys.ops))
        return self.packing.unpack(repeated)

    def merged(self, budget: int) -> Iterator[tuple[Rows, Rows]]:
        """All triples in order, each once, and those that several runs had; about ``budget`` bytes of keys at a time."""
        for parts in ranges(self._runs, budget):
            some = [(number, start, stop) for number, (start, stop) in enumerate(parts) if stop > start]
            numbers = np.concatenate([self._runs[number].read(start, stop) for number, start, stop in some])
            keys, repeated = distinct(Keys(numbers, self._ops_of(some)))
            yield self.packing.unpack(keys), self.packing.unpack(repeated)

    def _ops_of(self, some: list[tuple[int, int, int]]) -> Codes | None:
        extents = [(self._ops[number], start, stop) for number, start, stop in some]
        apart = [self.spill.read(extent, start, stop) for extent, start, stop in extents if extent is not None]
        return np.concatenate(apart) if apart else None


class SparseRows:
    """Writes triples, which come in order, as the arrays of an ``Adjacency``."""

    def __init__(self, folder: Folder, name: str, items: int, most: int, operations: int) -> None:
        self.folder = folder
        self.name = name
        self.items = items
        self.edges = 0
        self._next = 0
        self._offsets: np.dtype[Any] = np.dtype(np.uint32 if most < 1 << 32 else np.int64)
        self._ops = np.min_scalar_type(operations)
        folder.append(f"{name}.offsets", np.zeros(1, self._offsets))
        folder.append(f"{name}.neighbours", np.zeros(0, np.uint32))
        folder.append(f"{name}.ops", np.zeros(0, self._ops))

    def add(self, rows: Rows) -> None:
        """Further triples. All of the last item must be there: ranges end between items, but one item may go on in the next."""
        if len(rows.items):
            self._end(int(rows.items[-1]), rows.items)
        self.folder.append(f"{self.name}.neighbours", rows.neighbours)
        self.folder.append(f"{self.name}.ops", rows.ops.astype(self._ops))
        self.edges += len(rows.items)

    def close(self) -> None:
        """Ends the rows of all items."""
        self._end(self.items, np.zeros(0, np.uint32))

    def _end(self, stop: int, items: Codes) -> None:
        """Writes where the rows of items below ``stop`` end."""
        for start in range(self._next, stop, _ITEMS):
            some = np.arange(start, min(start + _ITEMS, stop), dtype=np.uint32)
            ends = self.edges + np.searchsorted(items, some, side="right")
            self.folder.append(f"{self.name}.offsets", ends.astype(self._offsets))
        self._next = max(self._next, stop)
