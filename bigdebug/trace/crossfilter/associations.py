"""Which rows of the input each mark of a view took, both ways, where a row has a part in one mark at most (Smoke 3.1).

Rows are numbered from 0. Forward it is a code for each row; backward the rows of each mark stand together, ascending.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import AbstractBitMap, BitMap, FrozenBitMap

from bigdebug.errors import ViewError
from bigdebug.trace.positions import members

Rows = npt.NDArray[np.uint32]
Some = slice | npt.NDArray[np.intp]
"""Rows, or links, to look at: a range of them, or their numbers."""

Holds = Callable[[npt.NDArray[np.intp]], npt.NDArray[np.bool_]]

NO_MARKS = FrozenBitMap()
MOST_ROWS = 1 << 32
CHUNK = 1 << 17
"""So many rows at once: their codes stay in the processor's cache from the gather to the count."""
SCAN = 4
"""Where more than one row in so many is asked for, a scan of all codes is faster than putting lists together in order."""


class Association(Protocol):
    """The rows that ``marks`` marks took of ``rows`` rows, by ``links``: each link says that a mark took a row (or several rows together, if ``joint``)."""

    rows: int
    marks: int
    links: int
    disjoint: bool
    """Whether a row has a part in one mark at most: then what other rows make adds up to what all make."""
    joint: bool
    """Whether some link takes several rows together: then sets of rows make more together than each by itself."""

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """How many rows each mark took; in the last place, how many no mark took."""
        ...

    @property
    def nbytes(self) -> int: ...

    def rows_of(self, marks: AbstractBitMap, but: AbstractBitMap = NO_MARKS) -> Rows:
        """The rows that one of ``marks`` took, and none of ``but``; ascending, each once. Backward."""
        ...

    def holding(self, marks: AbstractBitMap) -> Holds:
        """What tells of rows whether one of these marks took them."""
        ...

    def linked(self, rows: Some) -> tuple[Some, npt.NDArray[np.intp]]:
        """The links that these rows make, and the mark of each; ``marks`` stands for none. Forward."""
        ...

    def index(self) -> None:
        """Make what is made when first asked for otherwise, so that no question waits for it."""
        ...


class Coded:
    """Row i has a part in mark ``codes[i]``, in none if that is -1. Links are the rows.

    As an array the codes are the forward index. As ``Hashed`` they are looked up for the rows that are asked about (Smoke's BT) until all are needed.
    The backward index takes 4 bytes a row, and one sort; without it, the rows of a mark are found by a scan, at half a nanosecond or so a row.
    """

    disjoint = True
    joint = False

    def __init__(self, codes: npt.NDArray[Any] | Hashed, marks: int) -> None:
        """Raises ViewError for a code that is no mark, and for more rows than 2**32."""
        self.rows = self.links = len(codes)
        self.marks = marks
        if self.rows > MOST_ROWS:
            raise ViewError("A view of more than 2**32 rows", value=self.rows, remedy="Take a sample of the input, or a part of it.")
        self._codes: npt.NDArray[Any] | Hashed = codes if isinstance(codes, Hashed) else _checked(codes, marks)
        self._rows: Rows | None = None

    @property
    def codes(self) -> npt.NDArray[Any]:
        """The mark of each row, ``marks`` for none."""
        if isinstance(self._codes, Hashed):
            self._codes = self._codes[:].astype(np.min_scalar_type(self.marks))
        return self._codes

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        sizes = np.zeros(self.marks + 1, dtype=np.int64)
        for chunk in chunks(self.rows):
            np.add.at(sizes, self.codes[chunk].astype(np.intp), 1)
        return sizes

    @cached_property
    def _starts(self) -> npt.NDArray[np.int64]:
        return np.concatenate(([0], np.cumsum(self.sizes)))

    @property
    def nbytes(self) -> int:
        backward = 0 if self._rows is None else self._rows.nbytes
        return self._codes.nbytes + self.sizes.nbytes + backward

    def index(self) -> None:
        if self._rows is None:
            # A sort of codes and rows in one number: twice as fast as a stable argsort.
            packed = self.codes.astype(np.uint64) << np.uint64(32)
            packed |= np.arange(self.rows, dtype=np.uint64)
            packed.sort()
            self._rows = packed.astype(np.uint32)

    def rows_of(self, marks: AbstractBitMap, but: AbstractBitMap = NO_MARKS) -> Rows:
        marks = marks - but
        wanted = numbers(marks)
        if self._rows is None or (len(wanted) > 1 and int(self.sizes[wanted].sum()) * SCAN > self.rows):
            return self._scanned(wanted)
        found = listed(self._rows, self._starts, wanted)
        # Where rows stand by mark, as by date, neighbours' lists are one that rises: a look costs a tenth of a sort.
        return np.sort(found) if len(wanted) > 1 and np.any(found[1:] < found[:-1]) else found

    def _scanned(self, wanted: npt.NDArray[np.intp]) -> Rows:
        found, end, codes = np.empty(int(self.sizes[wanted].sum()), dtype=np.uint32), 0, self.codes
        for chunk in chunks(self.rows) if len(found) else ():
            here = np.flatnonzero(among(codes[chunk], wanted, self.marks + 1))
            np.add(here, chunk.start, out=found[end: end + len(here)], casting="unsafe")
            end += len(here)
        return found

    def holding(self, marks: AbstractBitMap) -> Holds:
        codes, wanted = self._codes, numbers(marks)
        return lambda rows: among(codes[rows], wanted, self.marks + 1)

    def linked(self, rows: Some) -> tuple[Some, npt.NDArray[np.intp]]:
        return rows, self._codes[rows].astype(np.intp)


class Hashed:
    """Codes that are looked up by the keys of the rows: grouping anew, as BT does (Smoke, Appendix D). NULL and NaN are keys like others.

    Taking some costs 20 to 50 ns a row. A row whose key is none of those known has a part in no mark.
    """

    def __init__(self, keys: pa.Array, known: pa.Array) -> None:
        """``known`` are the keys of the marks, in their order; the same type as ``keys``, and unique."""
        self._keys, self._known = _even(keys), _even(known)

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def nbytes(self) -> int:
        return int(self._keys.nbytes + self._known.nbytes)

    def __getitem__(self, rows: Some) -> npt.NDArray[np.int64]:
        keys = self._keys[rows] if isinstance(rows, slice) else self._keys.take(pa.array(rows))
        codes = pc.index_in(keys, value_set=self._known).cast(pa.int64())
        found: npt.NDArray[np.int64] = codes.fill_null(len(self._known)).to_numpy(zero_copy_only=False)
        return found


def _even(keys: pa.Array) -> pa.Array:
    """-0.0 groups with 0.0, as in Spark."""
    return pc.add(keys, 0.0) if pa.types.is_floating(keys.type) else keys


def _checked(codes: npt.NDArray[Any], marks: int) -> npt.NDArray[Any]:
    """The codes in as few bytes as they fit into, ``marks`` in the place of -1."""
    low, high = (int(codes.min()), int(codes.max())) if len(codes) else (0, -1)
    if low < -1 or high >= marks:
        raise ViewError(f"A row of a mark that is none of {marks}", value=low if low < -1 else high, remedy="Marks are numbered from 0, and -1 stands for none.")
    return (np.where(codes < 0, marks, codes) if low < 0 else codes).astype(np.min_scalar_type(marks), copy=False)


def numbers(marks: AbstractBitMap) -> npt.NDArray[np.intp]:
    return np.asarray(marks.to_array()).astype(np.intp)


def among(codes: npt.NDArray[Any], wanted: npt.NDArray[np.intp], size: int) -> npt.NDArray[np.bool_]:
    """Which of the codes, all below ``size``, are ``wanted``. A brush is often a range: that takes one comparison, a tenth of what a lookup does."""
    if len(wanted) and codes.dtype.kind == "u" and wanted[-1] - wanted[0] == len(wanted) - 1:
        # Codes below the first wrap around to above the last.
        return np.asarray(codes - codes.dtype.type(wanted[0]) <= codes.dtype.type(len(wanted) - 1))
    return members(codes, wanted.astype(codes.dtype), size)


def flagged(members: npt.NDArray[Any], size: int) -> npt.NDArray[np.bool_]:
    flags = np.zeros(size, dtype=bool)
    flags[members] = True
    return flags


def listed(values: npt.NDArray[Any], starts: npt.NDArray[np.int64], wanted: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    """The lists of what is ``wanted``, one after the other; of one, without a copy."""
    lists = [values[starts[each]: starts[each + 1]] for each in wanted.tolist()]
    return lists[0] if len(lists) == 1 else np.concatenate([*lists, values[:0]])


def chunks(count: int) -> Iterator[slice]:
    return (slice(start, min(start + CHUNK, count)) for start in range(0, count, CHUNK))


def pieces(rows: Rows) -> Iterator[npt.NDArray[np.intp]]:
    return (rows[start: start + CHUNK].astype(np.intp) for start in range(0, len(rows), CHUNK))


def everything(association: Association) -> BitMap:
    """All marks, and the number that stands for none: together they took all rows."""
    return BitMap(range(association.marks + 1))
