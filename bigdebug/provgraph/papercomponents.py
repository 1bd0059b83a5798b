"""The components of the graph that CSProv was measured on, made from a seed: the large ones set by set (its Table IX), the middling and the small ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bigdebug.provgraph.papertables import LEVELS, SPLITS
from bigdebug.provgraph.strips import Numbers, Pairs, Strips, before, leveled, linked, ranges, sizes_of

_MIDDLING = np.array([1500, 250, 130, 80, 60, 70, 86, 5277])
"""Items by level of the component of 7,453 items and 8,122 triples; the other 131 are like it."""


class _Large(NamedTuple):
    """A large component: items, triples, and the number of its sets in each split with the sizes of the largest ones."""

    name: str
    items: int
    edges: int
    sets: dict[str, tuple[int, tuple[int, ...]]]
    dependencies: int = 0


_SP3 = (3_291, 2_400, 2_100, 1_900, 1_700, 1_500, 1_400, 1_300, 1_200, 1_100, 1_001)
# The set dependencies come to the 645,303 of the paper.
_LARGE = (
    _Large("LC1", 1_200_000, 2_680_000, {"sp1": (20, (490,)), "sp2": (29_696, (21_734, 9_800, 4_100, 1_500)), "sp3": (219_879, _SP3)}, 285_000),
    _Large("LC2", 900_000, 1_380_000, {"sp1": (1, (4,)), "sp2": (1, (211,)), "sp4": (64_737, (30,)), "sp5": (132_599, (24_733, 1_700))}),
    _Large("LC3", 700_000, 1_180_000, {"sp1": (10, (313,)), "sp2": (15_491, (2_578,)), "sp3": (128_264, (643,))}, 162_767),
)  # fmt: skip
_FED = 200
"""Sets of sp4 that LC2's set of sp2 feeds."""
_MIDDLES = 132
_SMALL = (680_000, 1_390_000)
"""Components of at most a hundred items, and their items."""
_HUBS = {"LC1": (32, 3_000), "LC3": (0, 963)}
"""Items with more than 100 parents, and with more than 10, by component."""
_MEAN = {"sp1": 260.0, "sp2": 5.2, "sp3": 4.5, "sp4": 4.6, "sp5": 4.4}
"""Items of a set that is none of the largest, where the paper tells nothing."""
_RATIO = {"sp1": 2.5, "sp2": 3.0, "sp3": 2.0, "sp4": 1.5, "sp5": 2.0}


def components(rng: np.random.Generator, scale: float) -> Components:
    """All of them, one behind the other: the large ones, the middling and the small."""
    made = Components(rng, scale)
    for large in _LARGE:
        made.large(large)
    made.middling()
    made.small()
    return made


class Components:
    """The components as far as they have been made; their items are places, which are not numbered table by table yet."""

    def __init__(self, rng: np.random.Generator, scale: float) -> None:
        self.rng = rng
        self.scale = scale
        self.strips: list[Strips] = []
        self.edges: list[Pairs] = []
        self.spans: dict[str, range] = {}
        self.items = 0

    def scaled(self, count: int, least: int = 1) -> int:
        return max(round(count * self.scale), min(count, least))

    def add(self, counts: Numbers, levels: int | Numbers) -> Strips:
        strips = Strips(self.items, counts, np.broadcast_to(levels, len(counts)))
        self.items += strips.items
        self.strips.append(strips)
        self.edges.append(strips.edges())
        return strips

    def large(self, large: _Large) -> None:
        """One component: the sets of each split, then the edges between them, until it has its triples."""
        begin, mark = self.items, len(self.edges)
        left = self.scaled(large.items)
        sets = {}
        for split, (count, largest) in large.sets.items():
            last = split == next(reversed(large.sets))
            sets[split] = self.add(leveled(self._sizes(split, count, largest, left, last), len(SPLITS[split]), _RATIO[split]), SPLITS[split].start)
            left -= sets[split].items
        wanted = self.scaled(large.edges) - sum(len(pairs.parents) for pairs in self.edges[mark:])
        self.edges += self._between(large, sets, wanted)
        self.spans[large.name] = range(begin, self.items)

    def _sizes(self, split: str, count: int, largest: tuple[int, ...], left: int, last: bool) -> Numbers:
        """The largest sizes as they are, the others around a mean; the last split takes what is left of the component."""
        count = self.scaled(count, 2)
        large = np.array([self.scaled(size, 4) for size in largest])[:count]
        others = count - len(large)
        total = left - int(large.sum()) if last else round(others * _MEAN[split])
        rest = sizes_of(self.rng, others, max(total, others), max(min(int(large.min()), 900), -(-total // max(others, 1)) + 1))
        return np.concatenate([large, rest])

    def _between(self, large: _Large, sets: dict[str, Strips], edges: int) -> Iterator[Pairs]:
        if "sp4" in sets:
            yield linked(self.rng, sets["sp1"], sets["sp2"], Pairs(np.zeros(1, int), np.zeros(1, int)), 1, np.zeros(0, int))
            fed = np.arange(min(self.scaled(_FED), len(sets["sp4"].counts)))
            yield linked(self.rng, sets["sp2"], sets["sp4"], Pairs(np.zeros(len(fed), int), fed), len(fed), np.zeros(0, int))
            chain = _chained(self.rng, len(sets["sp4"].counts), len(sets["sp5"].counts))
            yield linked(self.rng, sets["sp4"], sets["sp5"], chain, edges - len(fed) - 1, np.zeros(0, int))
            return
        most = len(large.sets["sp2"][1])
        links = _primary(self.rng, sets["sp1"], sets["sp2"], most)
        share = int(edges * sets["sp2"].counts[:, 0].sum() / (sets["sp2"].counts[:, 0].sum() + sets["sp3"].counts[:, 0].sum()))
        yield linked(self.rng, sets["sp1"], sets["sp2"], links, share, np.zeros(0, int))
        deps = self.scaled(large.dependencies) - len(links.parents)
        below = _several(self.rng, sets["sp2"], sets["sp3"], deps, len(large.sets["sp3"][1]) if most > 1 else 0, most)
        yield linked(self.rng, sets["sp2"], sets["sp3"], below, edges - share, self._hubs(large, sets["sp2"]))

    def _hubs(self, large: _Large, parents: Strips) -> Numbers:
        wide, narrow = (self.scaled(count) if count else 0 for count in _HUBS[large.name])
        found = np.concatenate([
            np.linspace(450, 101, wide).astype(np.int64) if wide else np.zeros(0, int), self.rng.integers(11, 60, narrow)
        ])  # fmt: skip
        most = max(int(parents.sizes.max()) - 1, 1)
        return found.clip(max=most).astype(np.int64)

    def middling(self) -> None:
        """Components of 910 to 7,453 items, as deep as seven triples."""
        sizes = np.round(np.geomspace(910, 7_453, self.scaled(_MIDDLES))).astype(np.int64)
        if len(sizes) == 1:
            sizes[0] = 7_453
        counts = np.maximum(np.floor(_MIDDLING * (sizes / sizes.max())[:, None]).astype(np.int64), 1)
        counts[:, -1] += sizes - counts.sum(axis=1)
        strips = self.add(counts, 0)
        self.spans["middling"] = range(strips.first, self.items)
        self.spans["SC"] = range(self.items - int(sizes[-1]), self.items)

    def small(self) -> None:
        """Mostly pairs of an item and what it was made from."""
        count, total = map(self.scaled, _SMALL)
        sizes = np.full(count, 2)
        larger = max(count // 20, 1)
        sizes[:larger] = sizes_of(self.rng, larger, total - 2 * (count - larger), 100, 2)
        counts = leveled(sizes, 4, 2.0)
        depth = (counts > 0).sum(axis=1)
        strips = self.add(counts, (self.rng.random(count) * (len(LEVELS) + 1 - depth)).astype(np.int64))
        self.spans["small"] = range(strips.first, self.items)


def _primary(rng: np.random.Generator, parents: Strips, children: Strips, most: int) -> Pairs:
    """Each child has one parent, children of one lie together; the first ``most`` children, the largest, have them all."""
    alone = len(children.counts) - most
    single = Pairs(np.sort(rng.integers(0, len(parents.counts), alone)), np.arange(most, len(children.counts)))
    every = len(parents.counts)
    return Pairs(
        np.concatenate([np.tile(np.arange(every), most), single.parents]), np.concatenate([np.repeat(np.arange(most), every), single.children])
    )


def _several(rng: np.random.Generator, parents: Strips, children: Strips, links: int, large: int, most: int) -> Pairs:
    """So many links: each child has a parent, found by size, and some have up to twelve beside it; the largest have the largest ones."""
    count = len(children.counts)
    primary = parents.strip_of_items()[rng.integers(0, parents.items, count)]
    few = np.minimum(np.minimum(children.counts[:, 0] - 1, 12), len(parents.counts) - 1)
    primary[:large] = 0
    few[:large] = min(most, len(parents.counts)) - 1
    order = np.concatenate([np.arange(large), large + rng.permutation(count - large)])
    ahead = before(few[order])
    more = np.zeros(count, np.int64)
    more[order] = np.clip(links - count - ahead, 0, few[order])
    width = more + 1
    number = ranges(width)
    return Pairs((np.repeat(primary, width) + number) % len(parents.counts), np.repeat(np.arange(count), width))


def _chained(rng: np.random.Generator, parents: int, children: int) -> Pairs:
    """As few links as connect all of them; which strips are linked has nothing to do with their sizes."""
    child = np.arange(children)
    low = child * parents // children
    high = np.minimum((child + 1) * parents // children, parents - 1)
    width = high - low + 1
    number = ranges(width)
    return Pairs(np.repeat(low, width) + number, rng.permutation(children)[np.repeat(child, width)])
