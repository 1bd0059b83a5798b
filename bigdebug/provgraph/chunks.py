"""Triples on disk as codes: each chunk into its own distinct ids and operations, which become codes of the whole when those are merged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bigdebug.errors import TooLargeError
from bigdebug.provgraph.columns import Values, texts_of
from bigdebug.provgraph.edges import Rows
from bigdebug.provgraph.integers import MARK, DenseIds, RangeIds, SortedIds, is_dense
from bigdebug.provgraph.membership import NO_TABLE
from bigdebug.provgraph.numbering import Merged, Run, merged, numbered, run_of, together
from bigdebug.provgraph.spilling import Extent, Spill
from bigdebug.provgraph.stored import Folder
from bigdebug.provgraph.texts import TextIds, text_arrays
from bigdebug.provgraph.triples import Chunk

MOST_ITEMS = 1 << 32
"""Items that an index does not hold: a code has 32 bits."""

_UNNAMED = 0xFFFFFFFF
"""The code, within a chunk, of no operation."""

Place = Callable[[Any], int]
"""The place of a table by its name."""


@dataclass
class Column:
    """The distinct values of a column, in a run for each chunk, with the tables that were told of them; later their codes."""

    spill: Spill
    runs: list[Run] = field(default_factory=list)
    tables: list[Extent | None] = field(default_factory=list)
    codes: list[list[Extent]] = field(default_factory=list)
    count: int = 0

    def add(self, values: Values, tables: NDArray[np.uint16] | None = None) -> None:
        """A further run."""
        self.runs.append(run_of(values, self.spill))
        self.tables.append(None if tables is None else self.spill.write(tables))
        self.codes.append([])

    def codes_of(self, number: int) -> NDArray[np.uint32]:
        """The codes, in the whole column, of the values of a run."""
        return np.concatenate([np.zeros(0, np.uint32), *(self.spill.read(extent) for extent in self.codes[number])])

    def tables_of(self, number: int, start: int, stop: int) -> NDArray[np.uint16] | None:
        """The tables that were told of some values of a run, NO_TABLE where none was."""
        extent = self.tables[number]
        return None if extent is None else self.spill.read(extent, start, stop)

    def write(self, name: str, folder: Folder, budget: int, each: Callable[[Merged], None] = lambda merged: None) -> str:
        """Merges all runs into the dictionary ``name``, tells ``each`` of its ranges, and returns of what kind it is."""
        first = last = 0
        texts = False
        for part in merged(self.runs, budget):
            for number, _, codes in part.parts:
                self.codes[number].append(self.spill.write(codes + np.uint32(self.count)))
            texts = not isinstance(part.values, np.ndarray)
            if texts:
                _append_texts(folder, name, part.values)
            else:
                folder.append(f"{name}.values", part.values)
                first, last = int(part.values[0]) if not self.count else first, int(part.values[-1])
            self.count += len(part.values)
            if self.count >= MOST_ITEMS:
                raise TooLargeError(
                    "An index holds fewer than 2**32 items, and here are more", value=self.count,
                    remedy="Ask them on Spark: dbg.provenance(df, workflow, plan='csprov').",
                )
            each(part)
        if texts:
            return TextIds.kind
        if not self.count:
            folder.append(f"{name}.values", np.zeros(0, np.int64))
            return SortedIds.kind
        return _densified(folder, name, first, last, self.count, budget) if is_dense(first, last, self.count) else SortedIds.kind


@dataclass
class Coded:
    """Chunks of triples as codes into their own values."""

    ids: Column
    operations: Column
    _chunks: list[tuple[Extent, Extent, Extent]] = field(default_factory=list)

    def add(self, chunk: Chunk, place: Place) -> None:
        """Writes a chunk; ``place`` is asked for the tables of its ids, if it names any."""
        spill, count = self.ids.spill, len(chunk.src)
        values, codes = numbered(together([chunk.src, chunk.dst]))
        self._add_ids(values, codes, None if chunk.tables is None else np.concatenate([places_of(one, place) for one in chunk.tables]))
        src, dst = spill.write(codes[:count]), spill.write(codes[count:])
        names, named = numbered(chunk.op)
        self.operations.add(names)
        ops = np.full(count, _UNNAMED, np.uint32)
        ops[chunk.named] = named
        self._chunks.append((src, dst, spill.write(ops)))

    def add_items(self, ids: Values, names: pa.Array, place: Place) -> None:
        """Writes items that a list has, and the names of their tables."""
        self._add_ids(*numbered(ids), places_of(names, place))

    def _add_ids(self, values: Values, codes: NDArray[np.uint32], tables: NDArray[np.uint16] | None) -> None:
        """A run of distinct ids; the first table that is told of each counts here, and a second one makes a run of its own."""
        if tables is None:
            self.ids.add(values)
            return
        first = _first(len(values), codes, tables)
        self.ids.add(values, first)
        other = (tables != NO_TABLE) & (tables != first[codes])
        if other.any():
            second = _first(len(values), codes[other], tables[other])
            some = np.flatnonzero(second != NO_TABLE)
            self.ids.add(values[some] if isinstance(values, np.ndarray) else values.take(pa.array(some)), second[some])

    def __len__(self) -> int:
        return len(self._chunks)

    def triples(self, number: int) -> Rows:
        """The triples of a chunk as codes of the whole: dst, src, operation; that of none is behind the last one."""
        spill, (src, dst, ops) = self.ids.spill, self._chunks[number]
        codes, names = self.ids.codes_of(number), self.operations.codes_of(number)
        named = spill.read(ops)
        at = np.append(names, np.uint32(self.operations.count))[np.minimum(named, np.uint32(len(names)))]
        return Rows(codes[spill.read(dst)], codes[spill.read(src)], at)


def places_of(names: pa.Array, place: Place) -> NDArray[np.uint16]:
    """The places of tables by their names, NO_TABLE for null."""
    encoded = names.cast(pa.large_string()).dictionary_encode()
    known = np.array([*(place(name) for name in texts_of(encoded.dictionary)), NO_TABLE], np.uint16)
    places: NDArray[np.uint16] = known[encoded.indices.fill_null(len(known) - 1).to_numpy()]
    return places


def _first(count: int, codes: NDArray[np.uint32], tables: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """The first table that is told of each of ``count`` ids."""
    found = np.full(count, NO_TABLE, np.uint16)
    some = tables != NO_TABLE
    # Of several values that are assigned to one place the last stays.
    found[codes[some][::-1]] = tables[some][::-1]
    return found


def _append_texts(folder: Folder, name: str, texts: pa.LargeStringArray) -> None:
    offsets, data = text_arrays(texts)
    begun = folder.has(f"{name}.data")
    start = folder.length(f"{name}.data") if begun else 0
    folder.append(f"{name}.offsets", (offsets[1:] if begun else offsets) + start)
    folder.append(f"{name}.data", data)


def _densified(folder: Folder, name: str, first: int, last: int, count: int, budget: int) -> str:
    """Puts bits in the place of sorted integers, or their bounds alone where none is missing."""
    values, done = f"{name}.values", 0
    folder.append(f"{name}.bounds", np.array([first, count], np.int64))
    if last - first + 1 == count:
        folder.remove(values)
        return RangeIds.kind
    slots = 8 * MARK * max(budget // (16 * MARK), 1)
    for start in range(first, last + 1, slots):
        stop = min(start + slots, last + 1)
        some = folder.read(values, done, min(done + (stop - start), count))
        # Not where ``stop`` would stand: no int64 is behind the last one, and numpy would compare floats.
        some = some[: np.searchsorted(some, stop - 1, side="right")]
        there = np.zeros(-(-(stop - start) // 8) * 8, bool)
        there[some - start] = True
        part = DenseIds.of_bits(start, np.packbits(there, bitorder="little"))
        folder.append(f"{name}.present", part.present.whole())
        folder.append(f"{name}.before", part.before.whole() + np.uint32(done))
        folder.append(f"{name}.marks", part.marks.whole() + np.uint32(done))
        done += len(part)
    folder.remove(values)
    return DenseIds.kind
