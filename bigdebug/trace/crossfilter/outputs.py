"""Outputs: results whose records share an input, by the rids of that; and how they become marks of linked views. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bigdebug.errors import TooLargeError
from bigdebug.model import POSITION_BITS, POSITION_MASK, Rids
from bigdebug.trace.crossfilter.aggregates import Aggregate, Shown
from bigdebug.trace.crossfilter.associations import MOST_ROWS, Association, Coded
from bigdebug.trace.crossfilter.computed import Computed
from bigdebug.trace.crossfilter.links import Linked
from bigdebug.trace.crossfilter.marks import Marks
from bigdebug.trace.crossfilter.values import Values
from bigdebug.trace.crossfilter.views import View
from bigdebug.trace.positions import distinct

MOST_MARKS = 1_000_000

NO_RECORD = -1
"""Stands for a rid where a link takes none."""

_SPARSE = 4
"""Where fewer than one in so many of the positions are taken, rows are counted, not placed."""


@dataclass(frozen=True)
class Followed:
    """How a column of a result follows what is brushed: the aggregate of ``values``, one for each link."""

    aggregate: Callable[[Values], Aggregate]
    values: pa.Array


@dataclass(frozen=True)
class Together:
    """How a column follows that is computed of what others show: ``compute`` makes it of what ``parts`` show of the marks."""

    parts: Sequence[Followed | Aggregate]
    compute: Callable[[Sequence[Shown]], Shown]


@dataclass(frozen=True)
class Outputs:
    """The outputs of one result: link i says that output ``codes[i]`` took the records ``takes[0][i]``, ``takes[1][i]``, ... together.

    ``columns`` are the fields of the outputs, ``followed`` says which of them are recomputed from links, ``notes`` why others are not;
    of these ``kept`` are aggregates.
    """

    columns: Mapping[str, pa.Array]
    marks: int
    codes: npt.NDArray[Any]
    takes: Sequence[Rids]
    followed: Mapping[str, Followed | Together | Aggregate] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    kept: frozenset[str] = frozenset()


def linked(results: Sequence[Outputs], names: Sequence[str]) -> tuple[Marks, ...]:
    """The outputs as marks over the same rows: the records that some output took, in the order of their rids, and maybe some between that none took.

    Takes a few passes over the links. Raises TooLargeError for more than 2**32 rows.
    """
    each_once = {id(take): take for outputs in results for take in outputs.takes}  # results of the same rows have one array
    numbers = Numbers.of(each_once.values())
    rows = {number: numbers.rows(take) for number, take in each_once.items()}
    return tuple(_marks(outputs, name, [rows[id(take)] for take in outputs.takes], numbers) for outputs, name in zip(results, names, strict=True))


def _marks(outputs: Outputs, name: str, takes: Sequence[npt.NDArray[np.int64]], numbers: Numbers) -> Marks:
    links = _links_by_row(takes, numbers.count)
    association: Association
    if links is None:
        association = Linked(numbers.count, outputs.marks, outputs.codes, takes)
    else:
        association = Coded(outputs.codes if isinstance(links, slice) else _by_row(outputs.codes, links), outputs.marks)
    aggregates = {column: _aggregate(each, links) for column, each in outputs.followed.items()}
    return Marks(name, outputs.columns, View(name, association, aggregates), outputs.notes, outputs.kept, numbers.rids)


def _aggregate(each: Followed | Together | Aggregate, links: npt.NDArray[np.int64] | slice | None) -> Aggregate:
    if isinstance(each, Followed):
        return each.aggregate(Values(_arranged(each.values, links)))
    return Computed([_aggregate(part, links) for part in each.parts], each.compute) if isinstance(each, Together) else each


def _links_by_row(takes: Sequence[npt.NDArray[np.int64]], rows: int) -> npt.NDArray[np.int64] | slice | None:
    """The only link of each row, -1 for none; a slice if link i is that of row i. None if some row has several, or some link not one row."""
    if len(takes) != 1 or len(takes[0]) > rows or (len(takes[0]) and int(takes[0].min()) < 0):
        return None
    [take] = takes
    if len(take) == rows and np.array_equal(take, np.arange(rows)):
        return slice(None)
    links = np.full(rows, -1, dtype=np.int64)
    links[take] = np.arange(len(take))
    return links if np.array_equal(links[take], np.arange(len(take))) else None


def _by_row(codes: npt.NDArray[Any], links: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    found = np.append(codes, -1)[links]  # the last one is that of no link
    return np.asarray(found)


def _arranged(values: pa.Array, links: npt.NDArray[np.int64] | slice | None) -> pa.Array:
    """Values by row, where links are: a row of no mark may have any."""
    if not isinstance(links, np.ndarray):
        return values
    return values.take(pa.array(links.clip(min=0))) if len(values) else pa.nulls(len(links), values.type)


class Numbers:
    """Row numbers from 0 for the rids of one source: by file or partition and position, or, where few positions are taken, one after the other."""

    def __init__(self, count: int, bases: npt.NDArray[np.int64] | None, known: Rids | None = None) -> None:
        if count > MOST_ROWS:
            raise TooLargeError(f"Linked views over {count:,} rows, and they take 2**32", remedy="Brush results of a sample of the input, or of a part of it.")
        self.count = count
        self._bases, self._known = bases, known

    @classmethod
    def of(cls, takes: Iterable[Rids]) -> Numbers:
        takes = [take for take in takes if len(take)]
        last: dict[int, int] = {}
        for take in takes:
            partitions = take >> POSITION_BITS  # of no record: -1
            starts = np.concatenate(([0], np.flatnonzero(partitions[1:] != partitions[:-1]) + 1))
            for partition, rid in zip(partitions[starts].tolist(), np.maximum.reduceat(take, starts).tolist()):
                if partition >= 0:
                    last[partition] = max(last.get(partition, 0), rid & POSITION_MASK)
        span = sum(last.values()) + len(last)
        if span > _SPARSE * sum(map(len, takes)) + 1024:
            known = distinct(np.concatenate(takes))
            known = known[known >= 0]
            return cls(len(known), None, known)
        sizes = np.zeros(max(last, default=-1) + 1, dtype=np.int64)
        for partition, position in last.items():
            sizes[partition] = position + 1
        return cls(span, np.cumsum(sizes) - sizes)

    def rows(self, rids: Rids) -> npt.NDArray[np.int64]:
        """The numbers of records; -1 for none."""
        if self._known is not None:
            found = np.searchsorted(self._known, rids)
        else:
            assert self._bases is not None
            bases = np.append(self._bases, 0)  # the last one is that of no record
            found = (rids & POSITION_MASK) + bases[rids >> POSITION_BITS]
        missing = rids < 0
        return np.where(missing, -1, found) if missing.any() else found

    def rids(self, rows: npt.NDArray[Any]) -> Rids:
        """The records with these numbers, some of which maybe none took: the inverse of ``rows``."""
        if self._known is not None:
            return np.asarray(self._known[rows])
        assert self._bases is not None
        # Of partitions without rows, the last one with the same base is one that has some.
        partitions = np.searchsorted(self._bases, rows, "right").astype(np.int64) - 1
        return (partitions << POSITION_BITS) | (rows - self._bases[partitions])
