"""Weakly connected components over arrays, on one machine: items that triples join, however many steps apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bigdebug.provgraph.codes import distinct
from bigdebug.provgraph.index import Adjacency, Index
from bigdebug.shown import counted

Labels = NDArray[np.uint32]
"""By item, the code of the first item of the component (or set) that it is in."""

_CHUNK = 4_000_000
"""Triples that are read at a time."""


class Joining:
    """Items that are joined by triples as these come, in any order; holds eight bytes for each item and some for each triple at hand."""

    def __init__(self, items: int) -> None:
        self._first: Labels = np.arange(items, dtype=np.uint32)
        self._place = np.empty(items, np.uint32)

    def join(self, one: NDArray[np.uint32], other: NDArray[np.uint32]) -> None:
        """Each of ``one`` is in the component of the one beside it in ``other``. Takes time by their number times its logarithm."""
        left, right = self._find(one), self._find(other)
        apart = left != right
        left, right = left[apart], right[apart]
        if not len(left):
            return
        met = distinct(np.concatenate([left, right]))
        self._place[met] = np.arange(len(met), dtype=np.uint32)
        groups = _grouped(self._place[left], self._place[right], len(met))
        first = np.full(int(groups.max()) + 1, len(met))
        np.minimum.at(first, groups, np.arange(len(met)))
        self._first[met] = met[first[groups]]

    def labels(self) -> Labels:
        """By item, the first item of its component."""
        while True:
            further = self._first[self._first]
            if (further == self._first).all():
                return further
            self._first = further

    def _find(self, items: NDArray[np.uint32]) -> NDArray[np.uint32]:
        found = self._first[items]
        while True:
            further = self._first[found]
            if (further == found).all():
                break
            found = further
        self._first[items] = found
        return found


def _grouped(one: NDArray[np.uint32], other: NDArray[np.uint32], count: int) -> NDArray[np.uint32]:
    """The component of each of ``count`` nodes, as numbers from 0.

    In each round nodes have random ranks, and each that has a neighbour of lower rank joins one: half of them in the mean, whatever the
    graph. What is left is a smaller graph of those that did not.
    """
    rng = np.random.default_rng(count)
    rounds = []
    while len(one):
        rank = rng.permutation(np.arange(count, dtype=np.uint32))
        higher = rank[one] > rank[other]
        into = np.arange(count, dtype=np.uint32)
        into[np.where(higher, one, other)] = np.where(higher, other, one)
        while True:
            further = into[into]
            if (further == into).all():
                break
            into = further
        roots = into == np.arange(count, dtype=np.uint32)
        count = int(roots.sum())
        into = (np.cumsum(roots, dtype=np.uint32) - 1)[into]
        rounds.append(into)
        one, other = into[one], into[other]
        apart = one != other
        one, other = one[apart], other[apart]
    found = rounds.pop()
    while rounds:
        found = found[rounds.pop()]
    return found


def read(along: Adjacency, chunk: int = _CHUNK) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.uint32]]]:
    """All triples as pairs of an item and its neighbour, item by item, about ``chunk`` at a time."""
    ends = along.offsets.whole()
    items = len(ends) - 1
    begin = 0
    while begin < items:
        end = int(np.searchsorted(ends, ends[begin] + chunk, side="right")) - 1
        end = min(max(end, begin + 1), items)
        offsets = ends[begin : end + 1].astype(np.int64)
        counts = offsets[1:] - offsets[:-1]
        at = np.repeat(np.arange(begin, end, dtype=np.uint32), counts)
        if len(at):
            yield at, along.neighbours.part(int(offsets[0]), int(offsets[-1]))
        begin = end


def components(index: Index) -> Components:
    """The weakly connected components of a graph. Reads all triples once; holds some twenty bytes for each item."""
    joining = Joining(index.items)
    for one, other in read(index.backward):
        joining.join(one, other)
    return Components(index, joining.labels())


@dataclass(frozen=True, eq=False, repr=False)
class Components:
    """The component of each item, told by its first item. An item that no triple has is one by itself."""

    index: Index
    labels: Labels

    @cached_property
    def firsts(self) -> NDArray[np.int64]:
        """The first item of each component, largest components first."""
        sizes = self.sizes
        firsts = np.flatnonzero(sizes)
        return firsts[np.argsort(-sizes[firsts], kind="stable")]

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many items there are with this label, for each item."""
        return np.bincount(self.labels, minlength=self.index.items)

    def __len__(self) -> int:
        return len(self.firsts)

    def __repr__(self) -> str:
        size = f"; the largest has {counted(int(self.sizes[self.firsts[0]]), 'item')}" if len(self) else ""
        return f"{counted(len(self), 'component')} of {counted(self.index.items, 'item')}{size}"

    def largest(self, count: int = 10) -> pd.DataFrame:
        """Columns component (the id of its first item), items and triples of the largest ones."""
        firsts = self.firsts[:count]
        counts = np.zeros(self.index.items, np.int64)
        degrees = np.diff(self.index.backward.offsets.whole().astype(np.int64))
        np.add.at(counts, self.labels, degrees)
        return pd.DataFrame({"component": self.index.named(firsts), "items": self.sizes[firsts], "triples": counts[firsts]})
