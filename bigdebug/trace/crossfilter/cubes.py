"""Cubes: what the rows of each large mark make in every other view, kept (group-by push-down, Smoke 4.2).

A large mark answers for many rows in a few thousand numbers; a small one is faster from its rows than a cube that has a place for each pair of marks.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyroaring import BitMap

from bigdebug.trace.crossfilter.associations import Association
from bigdebug.trace.crossfilter.columns import Array, Column

Totals = tuple[Array, ...]
"""Of each column of a view."""

FEWEST = 1 << 16
"""Of a mark with fewer rows no totals are kept: they are counted within a millisecond or two."""
WORTH = 4
"""A number of a cube must stand for as many rows. So the cubes of two views never take more than 2 bytes a row and direction."""


class Cubes:
    """Totals by brushed view, view that shows them, and mark. None is needed for an answer.

    They are worth keeping of marks with ``fewest`` rows and ``worth`` rows for each number.
    """

    def __init__(self, fewest: int = FEWEST, worth: int = WORTH) -> None:
        self._fewest, self._worth = fewest, worth
        self._totals: dict[tuple[str, str], dict[int, Totals]] = {}
        self._marks: dict[tuple[str, str], BitMap] = {}

    @property
    def nbytes(self) -> int:
        return sum(total.nbytes for marks in list(self._totals.values()) for totals in list(marks.values()) for total in totals)

    def known(self, brushed: str, view: str) -> BitMap:
        """The marks whose totals are here."""
        return self._marks.get((brushed, view), _NONE)

    def totals(self, brushed: str, view: str, mark: int) -> Totals:
        return self._totals[brushed, view][mark]

    def keep(self, brushed: str, view: str, mark: int, totals: Totals) -> None:
        self._totals.setdefault((brushed, view), {})[mark] = totals
        self._marks[brushed, view] = self.known(brushed, view) | BitMap([mark])

    def worthwhile(self, association: Association, columns: Sequence[Column]) -> BitMap:
        """The marks of a view that took so many rows that their totals in these columns are worth keeping."""
        rows = association.sizes[:association.marks]
        return BitMap((rows >= max(self._fewest, self._worth * cells(columns))).nonzero()[0].tolist())


_NONE = BitMap()


def cells(columns: Sequence[Column]) -> int:
    return sum(column.cells for column in columns)
