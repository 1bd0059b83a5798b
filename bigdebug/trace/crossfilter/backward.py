"""The rows behind marks that the clauses of other views let through, each set of them found once for an answer of several views."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from pyroaring import AbstractBitMap, FrozenBitMap

from bigdebug.trace.crossfilter.associations import Association, Rows, pieces
from bigdebug.trace.crossfilter.selection import Clauses


class Backward:
    """What was found is kept as long as this is: for one answer, since it may be 4 bytes a row."""

    def __init__(self, associations: Mapping[str, Association]) -> None:
        self._associations = associations
        self._found: dict[tuple[object, ...], Rows] = {}

    def rows(self, view: str, marks: AbstractBitMap, but: AbstractBitMap, rest: Clauses) -> Rows:
        """The rows that one of ``marks`` of a view took, none of ``but``, and one of each clause of ``rest``; ascending."""
        asked = (view, FrozenBitMap(marks), FrozenBitMap(but), frozenset(rest.items()))
        if asked not in self._found:
            if rest:
                rows = self.rows(view, marks, but, {})
                self._found[asked] = np.concatenate([rows[:0], *self._held(rows, rest)])
            else:
                self._found[asked] = self._associations[view].rows_of(marks, but)
        return self._found[asked]

    def _held(self, rows: Rows, rest: Clauses) -> Iterator[Rows]:
        """A chunk after the other: its codes are in the processor's cache when the next clause asks for some."""
        tests = [self._associations[name].holding(marks) for name, marks in rest.items()]
        for chunk in pieces(rows):
            for held in tests:
                # By their numbers, for a selection by flags takes several times as long.
                chunk = chunk[np.flatnonzero(held(chunk))]
            yield chunk.astype(np.uint32)
