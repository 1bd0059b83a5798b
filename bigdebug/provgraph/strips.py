"""Weakly connected groups of items with known sizes, as arrays: what ``papercomponents`` are built of.

A strip has items in consecutive levels; an item is derived from neighbouring items of the level above, and shares the last of
them with the item beside it. So a strip is connected, its fan-ins are small, and how many ancestors an item has follows from
how many items each level has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]

WIDEST = 9
"""An item has no more parents than this, unless it was made to have many."""


class Pairs(NamedTuple):
    """Edges: row by row the parent and its child, as numbers of items."""

    parents: Numbers
    children: Numbers


@dataclass(frozen=True)
class Strips:
    """Strips of one part of a graph. Items are numbered from ``first`` on: strip by strip, level by level.

    ``counts`` has a row for each strip: how many items each of its levels has, none behind the last. ``levels`` is the level of the
    workflow at which a strip begins.
    """

    first: int
    counts: Numbers
    levels: Numbers

    @property
    def sizes(self) -> Numbers:
        found: Numbers = self.counts.sum(axis=1)
        return found

    @property
    def starts(self) -> Numbers:
        """The number of each strip's first item."""
        return self.first + before(self.sizes)

    @property
    def items(self) -> int:
        return int(self.counts.sum())

    def strip_of_items(self) -> Numbers:
        return np.repeat(np.arange(len(self.counts)), self.sizes)

    def level_of_items(self) -> Numbers:
        deepest = self.counts.shape[1]
        return np.repeat((self.levels[:, None] + np.arange(deepest)).ravel(), self.counts.ravel())

    def edges(self) -> Pairs:
        """Those within strips: of two levels next to each other, one fewer than their items."""
        starts = self.starts[:, None] + before_in_rows(self.counts)
        above, here = self.counts[:, :-1].ravel(), self.counts[:, 1:].ravel()
        filled = here > 0
        above, here, parents, children = above[filled], here[filled], starts[:, :-1].ravel()[filled], starts[:, 1:].ravel()[filled]
        place = ranges(here)
        above_, here_ = np.repeat(above, here), np.repeat(here, here)
        low = place * above_ // here_
        high = np.minimum((place + 1) * above_ // here_, above_ - 1)
        width = high - low + 1
        return Pairs(
            np.repeat(np.repeat(parents, here) + low, width) + ranges(width), np.repeat(np.repeat(children, here) + place, width)
        )


def leveled(sizes: Numbers, most: int, ratio: float) -> Numbers:
    """How many items each level of a strip has: up to ``most`` levels, each with ``ratio`` times as many items as the next."""
    depth = np.minimum(most, np.frexp(sizes)[1])
    level = np.arange(most)
    present = level < depth[:, None]
    weights = np.where(present, ratio ** -level.astype(float), 0.0)
    weights /= weights.sum(axis=1, keepdims=True)
    counts: Numbers = present.astype(np.int64)
    counts += np.floor((sizes - depth)[:, None] * weights).astype(np.int64)
    counts[:, 0] += sizes - counts.sum(axis=1)
    return counts


def sizes_of(rng: np.random.Generator, count: int, total: int, largest: int, smallest: int = 1) -> Numbers:
    """``count`` sizes from smallest to largest with this sum: many small ones and few large ones."""
    weights = rng.lognormal(0.0, 0.9, count)
    if not count:
        return np.zeros(0, np.int64)
    room = max(total - count * smallest, 0)
    sizes: Numbers = np.minimum(smallest + np.floor(weights * (room / weights.sum())).astype(np.int64), largest)
    while (short := total - int(sizes.sum())) > 0:
        open_ = np.flatnonzero(sizes < largest)
        sizes[rng.permutation(open_)[:short]] += 1
    return sizes


def linked(
    rng: np.random.Generator, parents: Strips, children: Strips, links: Pairs, edges: int, hubs: Numbers, sparse: int = 1_000
) -> Pairs:
    """Edges from items of strips to the first items of other strips, at least one for each of ``links`` (numbers of strips).

    ``edges`` of them in all, where the strips have room for so many; the largest strips have no more than they need. ``hubs`` are how
    many parents some of the first items get.
    """
    order = np.argsort(links.children, kind="stable")
    of, at = links.parents[order], links.children[order]
    per = np.bincount(at, minlength=len(children.counts))
    entries = children.counts[:, 0]
    # A first item has parents in one strip or several; a strip in which few are linked stays as thin as it was.
    pairs = np.where(per > 0, np.maximum(per, np.where(children.sizes >= sparse, entries // 8, entries)), 0)
    child = np.repeat(np.arange(len(pairs)), pairs)
    number = ranges(pairs)
    parent = of[before(per)[child] + number % per[child]]
    shared = -(-pairs // np.maximum(entries, 1))
    most = np.minimum(parents.sizes[parent], WIDEST // shared[child])
    width = _widths(rng, most, np.where(children.sizes[child] >= sparse, 1, most), edges - int(hubs.sum()))
    _widen(rng, width, hubs, (shared[child] == 1) & (number < entries[child]), parents.sizes[parent], children.sizes[child])
    return _windows(rng, parents, children, parent, child, number % np.maximum(entries[child], 1), width)


def _widths(rng: np.random.Generator, most: Numbers, room: Numbers, total: int) -> Numbers:
    """One for each, and more for some until they are ``total``; none has more than its room."""
    width: Numbers = np.minimum(np.ones(len(most), np.int64), most)
    while (short := total - int(width.sum())) > 0:
        open_ = np.flatnonzero(width < np.minimum(most, room))
        if not len(open_):
            break
        width[rng.permutation(open_)[:short]] += 1
    return width


def _widen(
    rng: np.random.Generator, width: Numbers, hubs: Numbers, alone: NDArray[np.bool_], parents: Numbers, children: Numbers
) -> None:
    """Give ``hubs``, largest first, to links whose parents are many enough: those of more than a hundred within large strips."""
    free = alone.copy()
    for wide in (True, False):
        asked = np.sort(hubs[(hubs > 100) == wide])[::-1]
        fit = free & (parents >= (asked.max(initial=0) + 1))
        large = fit & (children >= np.quantile(children[fit], 0.9)) if wide and fit.any() else fit
        chosen = rng.permutation(np.flatnonzero(large if large.sum() >= len(asked) else fit))[: len(asked)]
        width[chosen] = asked[: len(chosen)]
        free[chosen] = False


def _windows(
    rng: np.random.Generator, parents: Strips, children: Strips, parent: Numbers, child: Numbers, entry: Numbers, width: Numbers
) -> Pairs:
    """Each first item's parents stand side by side among the last items of a strip, where the last level is wide enough."""
    sizes = parents.sizes[parent]
    depth = (parents.counts > 0).sum(axis=1)
    last = parents.counts[np.arange(len(depth)), depth - 1][parent]
    shift = (rng.random(len(width)) * np.maximum(last - width + 1, 1)).astype(np.int64)
    low = parents.starts[parent] + np.maximum(sizes - width - shift, 0)
    return Pairs(np.repeat(low, width) + ranges(width), np.repeat(children.starts[child] + entry, width))


def ranges(counts: Numbers) -> Numbers:
    """0, 1, ... up to each count, one after another."""
    return np.arange(int(counts.sum())) - np.repeat(before(counts), counts)


def before(counts: Numbers) -> Numbers:
    """The sum of all counts before each."""
    return np.cumsum(counts) - counts


def before_in_rows(counts: Numbers) -> Numbers:
    found: Numbers = np.cumsum(counts, axis=1) - counts
    return found
