"""What is reached from items along triples, level by level: breadth-first over arrays, in memory or memory-mapped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bigdebug.errors import TooLargeError
from bigdebug.provgraph.adjacency import Edges, as_built
from bigdebug.provgraph.codes import Codes, distinct, within
from bigdebug.provgraph.index import Adjacency
from bigdebug.provgraph.nearest import SEARCH, nearest, pays
from bigdebug.store.arrays import InMemory

MOST_TRIPLES = 20_000_000
"""Triples beyond which an answer is refused: it would take a gigabyte."""
_FEW = 16_384
"""Items up to which those reached are kept sorted; a flag for each item of the graph costs more than to look these up."""
_LATE = 256
"""Items that were reached last, sorted by themselves: of a long chain each level would sort all of them."""


class Triples(NamedTuple):
    """Triples by codes, column by column."""

    src: Codes
    dst: Codes
    op: Codes

    @classmethod
    def none(cls) -> Triples:
        empty = np.zeros(0, np.int64)
        return cls(empty, empty, empty)


@dataclass(frozen=True, eq=False)
class Walked:
    """What a walk reached: items, nearest first and then by code, how many triples away each is, and the triples on the way.

    ``stopped`` says why the walk did not go on, and is empty if it reached all there is.
    """

    items: Codes
    depths: Codes
    triples: Triples
    stopped: str = ""


class Walk:
    """A walk from ``start`` (codes, each once) along an adjacency, one level at a time.

    An item is reached when a triple leads to it; one that the walk started from is only if it is the ancestor (or descendant) of another, or of
    itself in a graph with cycles. Each item's triples are read once.
    """

    def __init__(self, along: Adjacency, start: Codes, *, backward: bool) -> None:
        self._along = along
        self._backward = backward
        self._reached = _Reached(len(along.offsets) - 1)
        self._start = np.sort(start)
        self._levels: list[Codes] = []
        self._edges: list[Triples] = []
        self.frontier = self._start
        self.count = 0
        self.edges = 0

    @property
    def done(self) -> bool:
        return not len(self.frontier)

    def step(self, room: int | None = None) -> None:
        """Go one triple further from all items that were reached last; where there is ``room`` for so many more items, it need not reach more than one beyond
        these. Raises TooLargeError, before it reads them, for too many triples.
        """
        # The sum of the degrees comes first: a few items may have been made of all others.
        ends = self._along.ends(self.frontier)
        width = int((ends[1] - ends[0]).sum())
        found = None if room is None else self._nearest(*ends, width, room)
        if found is not None:
            width = len(found.items)
        if self.edges + width > MOST_TRIPLES:
            fewer = "limit=N for the nearest items" if room is None else f"with a smaller limit than {self.count + room}"
            raise TooLargeError(
                "An answer has too many triples to be held", value=self.edges + width,
                remedy=f"Up to {MOST_TRIPLES} are: ask with depth=N for the nearest levels, or {fewer}.",
            )
        near, far, ops = found or self._along.between(self.frontier, *ends)
        with as_built():
            new = self._reached.add(distinct(far))
        self._levels.append(new)
        self._edges.append(Triples(far, near, ops) if self._backward else Triples(near, far, ops))
        self.count += len(new)
        self.edges += len(far)
        self.frontier = new[~within(new, self._start)]

    def _nearest(self, starts: Codes, stops: Codes, width: int, room: int) -> Edges | None:
        """The triples that lead to the nearest items, where they are found in less time than all are read; at any price where all are too many."""
        most = width // SEARCH if self.edges + width <= MOST_TRIPLES else MOST_TRIPLES
        # What was reached is sorted only then: of a long chain each level would sort all of it.
        if not pays(len(self.frontier), self.count, room, most):
            return None
        known = np.sort(np.concatenate([self._start[:0], *self._levels]))
        return nearest(self._along, self.frontier, starts, stops, known, room, most)

    def cut(self, limit: int) -> None:
        """Keep the nearest ``limit`` items, of the last level those with the smallest codes, and the triples that lead to them."""
        more = self.count - limit
        if more <= 0:
            return
        kept = self._levels[-1][: len(self._levels[-1]) - more]
        last = self._edges[-1]
        far = last.src if self._backward else last.dst
        lost = within(far, self._levels[-1][len(kept) :])
        self._levels[-1] = kept
        self._edges[-1] = Triples(*(column[~lost] for column in last))
        self.frontier = kept[~within(kept, self._start)]
        self.count = limit

    def walked(self, stopped: str = "") -> Walked:
        depths = np.repeat(np.arange(1, len(self._levels) + 1), [len(level) for level in self._levels])
        items = np.concatenate([np.zeros(0, np.int64), *self._levels])
        return Walked(items, depths, Triples(*map(np.concatenate, zip(Triples.none(), *self._edges))), stopped)

    def unread(self) -> bool:
        """Whether there are triples behind the items that were reached last."""
        return bool(self._along.degrees(self.frontier).any())


def walk(along: Adjacency, start: Codes, *, backward: bool, depth: int | None = None, limit: int | None = None) -> Walked:
    """All that is reached from ``start``: up to ``depth`` triples away, up to the nearest ``limit`` items.

    Takes time by the triples that it reads, however large the graph. Raises TooLargeError for more than ``MOST_TRIPLES``.
    """
    going = Walk(along, start, backward=backward)
    levels = 0
    while not going.done:
        if depth is not None and levels == depth:
            return going.walked(f"depth {depth}: there are triples beyond it" if going.unread() else "")
        if limit is not None and going.count == limit:
            return going.walked(f"limit {limit}: there are triples beyond it" if going.unread() else "")
        going.step(None if limit is None else limit - going.count)
        levels += 1
        if limit is not None and going.count > limit:
            going.cut(limit)
            return going.walked(cut_off(limit))
    return going.walked()


def cut_off(limit: int) -> str:
    """Why an answer ends among items that are as near as its last one."""
    return f"limit {limit}: there are more items as near as the last one"


class _Reached:
    """Items that were reached: sorted while they are few, then a flag for each item of the graph."""

    def __init__(self, items: int) -> None:
        self._items = items
        self._few = self._late = np.zeros(0, np.int64)
        self._flags: NDArray[np.bool_] | None = None

    def add(self, items: Codes) -> Codes:
        """Those of the items (sorted) that were not reached before; now they are. Raises IndexError for one that there is not."""
        if len(items) and items[-1] >= self._items:
            raise IndexError("a triple leads to an item that there is not")
        if self._flags is not None:
            new = items[~self._flags[items]]
            self._flags[new] = True
            return new
        new = items[~(within(items, self._few) | within(items, self._late))]
        self._late = np.sort(np.concatenate([self._late, new]))
        if len(self._late) > _LATE:
            self._few, self._late = np.sort(np.concatenate([self._few, self._late])), self._late[:0]
        if len(self._few) > _FEW:
            self._flags = np.zeros(self._items, bool)
            self._flags[self._few] = True
        return new


def adjacency(at: Codes, neighbours: Codes, items: int) -> Adjacency:
    """In memory, of pairs in any order; without operations."""
    order = np.argsort(at, kind="stable")
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(at, minlength=items))])
    return Adjacency(InMemory(offsets), InMemory(neighbours[order].astype(np.uint32)), InMemory(np.zeros(len(at), np.uint8)))
