"""Scattered: which rows, or groups of rows, a function is tried on: the odd ones, and some of all places. The same ones each time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bigdebug.actors.odd import Odd
from bigdebug.trace.places import evenly
from bigdebug.trace.positions import Positions

_ALL, _ALONE = 24, 6
"""Each owner is tried alone, of so few; else so many."""

_MANY, _ALONE_OF_MANY = 100_000, 2
"""Of so many rows, so many owners are tried alone: a function of a few rows takes pandas as long as one of a hundred thousand."""

_TOGETHER, _LAST = (64, 256), 4
"""Rows, or groups, from all places that are always tried together: the more, the more there are; and rows at the end."""

_MORE = (256, 4_096)
"""So many, if nothing came of these."""

_FEW_ROWS = 100_000
"""Rows that two groups have at most which are tried although they are much of the frame: pandas takes some milliseconds for so many."""

_ROWS = 4_096
"""Rows that groups which are tried together have at most."""


def rows_alone(odd: Odd, count: int) -> Positions:
    """A null, the most, and others from the last to the first, of so many rows; all of few."""
    if count < 2:
        return np.zeros(0, np.int64)
    if count <= _ALL:
        return np.arange(count)
    few = (_ALONE_OF_MANY if count >= _MANY else _ALONE) - len(odd.first)
    return np.union1d(odd.first, np.linspace(count - 1, 0, few).astype(np.int64))


def rows_together(odd: Odd, count: int) -> Iterator[Positions]:
    """The odd ones, among which nothing is as it is among all; and some of all places with nulls, but not with the most and the least. Never all: what numbers rows anew does otherwise then."""
    if count < 2:
        return
    if len(odd.all):
        yield _but_all(odd.all, count)
    at_end = np.arange(max(1, count - _LAST), count)
    yield _but_all(np.unique(np.concatenate((_drawn(count, _most_of(count)), odd.nulls, at_end))), count)


def more_rows(count: int) -> Iterator[Positions]:
    """More each time."""
    for few in _MORE if count > 1 else ():
        yield _but_all(np.unique(_drawn(count, few)), count)


class SomeGroups:
    """Of groups that have so many rows each, those that a function is tried on: small ones. ``odd`` are groups with odd rows, the oddest first."""

    def __init__(self, sizes: Positions, odd: Positions, oddest: Positions) -> None:
        self._sizes = sizes
        self._count = int(sizes.sum())
        self._there = np.flatnonzero(sizes)
        self._small = self._there[sizes[self._there] <= _ROWS // 8]
        self._odd, self._oddest = odd, oddest

    def alone(self) -> Positions:
        """Two at least, for one may be as it is among others by chance; none if they are too large."""
        most = max(_ROWS, self._count // 32)
        if len(self._small) <= _ALL:
            smallest = self._smallest(most)
            if len(smallest) < 2:
                two = self._smallest(_FEW_ROWS)[:2]
                smallest = two if len(two) > 1 else self._smallest(self._count // 8)[:2]
            few = min(self._alone, len(smallest)) if len(smallest) > _ALL or self._count >= _MANY else len(smallest)
            return np.sort(smallest[evenly(len(smallest), few)])
        odd = self._oddest[self._sizes[self._oddest] <= most]
        return np.union1d(odd, self._small[_drawn(len(self._small), self._alone)][: self._alone - len(odd)])

    def together(self) -> Iterator[Positions]:
        """The odd ones; and small ones from all places. Never all of them, and no more than a few thousand rows."""
        if len(self._there) < 2:
            return
        odd = self._odd[self._sizes[self._odd] <= _ROWS // 8]
        found = (self._within(odd), self._some(_most_of(len(self._there))))
        yield from (_but_all(each, len(self._there)) for each in found if len(each))

    def more(self) -> Iterator[Positions]:
        """More each time, as far as that many rows go."""
        for few in _MORE:
            found = self._some(few)
            if len(found) and len(self._there) > 1:
                yield _but_all(found, len(self._there))

    @property
    def _alone(self) -> int:
        return _ALONE_OF_MANY if self._count >= _MANY else _ALONE

    def _some(self, few: int) -> Positions:
        if len(self._small) <= _ALL:
            return np.sort(self._smallest(_ROWS)[:few])
        return self._within(self._small[_drawn(len(self._small), few)])

    def _within(self, groups: Positions) -> Positions:
        """The first of these that have few enough rows together, ascending."""
        groups = groups[np.sort(np.unique(groups, return_index=True)[1])]
        return np.sort(groups[np.cumsum(self._sizes[groups]) <= _ROWS])

    def _smallest(self, most: int) -> Positions:
        """The groups, smallest first, which have so many rows together at most; none, if there is one alone."""
        smallest = self._there[np.argsort(self._sizes[self._there], kind="stable")]
        return smallest[np.cumsum(self._sizes[smallest]) <= most] if len(smallest) > 1 else smallest[:0]


def _drawn(count: int, few: int) -> Positions:
    """Numbers below ``count`` without the first, each once or several times; of few not all, for then their neighbours are there."""
    return np.random.default_rng(few).integers(1, count, min(few, max(1, count // 2)))


def _most_of(count: int) -> int:
    return min(max(_TOGETHER[0], count // 256), _TOGETHER[1])


def _but_all(chosen: Positions, count: int) -> Positions:
    return chosen[1:] if len(chosen) == count else chosen
