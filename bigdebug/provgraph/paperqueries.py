"""The three classes of queries of CSProv's measurements (section V), found in a graph that ``paperlike`` made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bigdebug.provgraph.paperlike import PaperLike
from bigdebug.provgraph.papertables import LEVELS, table_of
from bigdebug.provgraph.strips import Numbers
from bigdebug.provgraph.walking import adjacency, walk


@dataclass(frozen=True)
class QueryClass:
    """What the items of a class have: a component, as many ancestors (and triples of lineage), and a longest path of so many triples."""

    name: str
    components: tuple[str, ...]
    lineage: range
    longest: int


CLASSES = (
    QueryClass("SC-SL", ("SC",), range(100, 201), 7),
    QueryClass("LC-SL", ("LC1", "LC2", "LC3"), range(100, 201), 7),
    QueryClass("LC-LL", ("LC1", "LC2", "LC3"), range(5_000, 10_001), 10),
)
_TRIED = 3_000
"""Items of a component that are walked from before the search gives up."""


def queries(graph: PaperLike, count: int = 10, seed: int = 7) -> dict[str, Numbers]:
    """``count`` items of each class, or as many as the graph has: of its components in turn. The same for the same graph and seed."""
    rng = np.random.default_rng(seed)
    longest, most = _bounds(graph)
    backward = adjacency(graph.dst, graph.src, graph.items)

    def fitting(one: QueryClass, component: str) -> Iterator[int]:
        span = graph.spans[component]
        within = graph.ids[span.start : span.stop]
        # An item has no more ancestors than paths lead to it: those that cannot have enough are not walked from.
        some = within[(longest[within] == one.longest) & (most[within] >= one.lineage.start)]
        for item in rng.permutation(some)[:_TRIED].tolist():
            found = walk(backward, np.array([item]), backward=True, limit=one.lineage.stop)
            if len(found.items) in one.lineage and len(found.triples.src) in one.lineage:
                yield item

    return {one.name: _in_turn([fitting(one, component) for component in one.components], count) for one in CLASSES}


def _in_turn(searches: list[Iterator[int]], count: int) -> Numbers:
    """One of each in turn, as long as they find something."""
    found: list[int] = []
    while searches and len(found) < count:
        for search in list(searches):
            item = next(search, None)
            if item is None:
                searches.remove(search)
            elif len(found) < count:
                found.append(item)
    return np.array(found, np.int64)


def _bounds(graph: PaperLike) -> tuple[Numbers, NDArray[np.float64]]:
    """By item, the triples of the longest path to it, and how many paths lead to it."""
    level = np.repeat(np.arange(len(LEVELS)), [len(names) for names in LEVELS])[table_of(graph.starts, graph.dst)]
    order = np.argsort(level, kind="stable")
    ends = np.cumsum(np.bincount(level, minlength=len(LEVELS)))
    longest, most = np.zeros(graph.items, np.int64), np.zeros(graph.items)
    for low, high in pairwise(ends.tolist()):
        src, dst = graph.src[order[low:high]], graph.dst[order[low:high]]
        np.maximum.at(longest, dst, longest[src] + 1)
        np.add.at(most, dst, 1 + most[src])
    return longest, most
