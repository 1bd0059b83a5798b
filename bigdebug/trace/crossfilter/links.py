"""Which rows of the input each mark took, where a row has a part in several marks, or in one several times, or rows have a part together.

So it is behind a flatMap, a union of branches of one input, a join of an input with itself. General, and slower than codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from pyroaring import AbstractBitMap

from bigdebug.errors import ViewError
from bigdebug.store.ranges import spread
from bigdebug.trace.crossfilter.associations import MOST_ROWS, NO_MARKS, Holds, Rows, Some, flagged, listed, numbers

FEW = 16
"""Fewer than one row in so many are sorted; more are flagged among all."""


class Linked:
    """Link i says that mark ``codes[i]`` (-1: none) took the rows ``takes[0][i]``, ``takes[1][i]``, ... together; -1 there stands for no row.

    A link is there if all its rows are, so one that takes none always is. It does not say what would appear because rows are not there (an outer join's
    rows without a partner): who makes links of a query with such operators refuses. Backward takes 4 bytes for each row of each mark, forward 8 a link.
    """

    disjoint = False

    def __init__(self, rows: int, marks: int, codes: npt.NDArray[Any], takes: Sequence[npt.NDArray[Any]]) -> None:
        """Raises ViewError for a number that is no mark, or no row."""
        self.rows, self.marks, self.links = rows, marks, len(codes)
        if rows > MOST_ROWS:
            raise ViewError("A view of more than 2**32 rows", value=rows, remedy="Take a sample of the input, or a part of it.")
        for what, given, most in (("mark", codes, marks), *(("row", take, rows) for take in takes)):
            if len(given) != len(codes) or (len(given) and not -1 <= int(given.min()) <= int(given.max()) < most):
                raise ViewError(f"Links to a {what} that is none of {most}", remedy="Both are numbered from 0, and -1 stands for none.")
        self._codes = np.where(codes < 0, marks, codes).astype(np.intp)
        first, *others = [take.astype(np.int64) for take in takes]
        # What is looked up by row is looked up in the first place.
        for other in others:
            swap = (first < 0) & (other >= 0)
            first[swap], other[swap] = other[swap], -1
        self._first, self._others = first, [other for other in others if np.any(other >= 0)]
        self._always = np.flatnonzero(first < 0)
        self.joint = bool(self._others) or len(self._always) > 0

    @property
    def nbytes(self) -> int:
        arrays: list[npt.NDArray[Any]] = [self._codes, self._first, *self._others, *self._backward, *self._forward]
        return sum(array.nbytes for array in arrays)

    @cached_property
    def _backward(self) -> tuple[Rows, npt.NDArray[np.int64]]:
        """The rows of each mark, each once, and where those of a mark start."""
        pairs = [(self._codes[taken := take >= 0].astype(np.uint64) << np.uint64(32)) | take[taken].astype(np.uint64) for take in (self._first, *self._others)]
        packed = np.sort(np.concatenate(pairs))
        packed = packed[np.concatenate(([True], packed[1:] != packed[:-1]))] if len(packed) else packed
        sizes = np.bincount((packed >> np.uint64(32)).astype(np.intp), minlength=self.marks + 1)
        return packed.astype(np.uint32), np.concatenate(([0], np.cumsum(sizes)))

    @cached_property
    def _forward(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The links by their first row, and where those of a row start."""
        order = np.argsort(self._first, kind="stable")[len(self._always):]
        sizes = np.bincount(self._first[order], minlength=self.rows)
        return order, np.concatenate(([0], np.cumsum(sizes)))

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        return np.diff(self._backward[1])

    def index(self) -> None:
        assert self._backward
        assert self._forward

    def rows_of(self, marks: AbstractBitMap, but: AbstractBitMap = NO_MARKS) -> Rows:
        found = listed(*self._backward, numbers(marks))
        if len(marks) == 1 and not but:
            return found
        if but or len(found) * FEW > self.rows:
            flags = flagged(found, self.rows)
            flags[listed(*self._backward, numbers(but))] = False
            return np.flatnonzero(flags).astype(np.uint32)
        found = np.sort(found)
        return found[np.concatenate(([True], found[1:] != found[:-1]))] if len(found) else found

    def holding(self, marks: AbstractBitMap) -> Holds:
        return flagged(self.rows_of(marks), self.rows).take

    def linked(self, rows: Some) -> tuple[Some, npt.NDArray[np.intp]]:
        order, starts = self._forward
        if isinstance(rows, slice):
            rows = np.arange(rows.start, rows.stop)
        links = order[spread(starts[rows], starts[rows + 1] - starts[rows])]
        if self.joint:
            there = flagged(rows, self.rows + 1)
            there[-1] = True
            for other in self._others:
                links = links[there[other[links]]]
            links = np.concatenate([links, self._always])
        return links, self._codes[links]
