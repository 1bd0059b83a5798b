"""All paths from one item to another, as the triples that lie on one; there may be more paths than could be listed, and they are counted."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bigdebug.errors import ProvenanceError, TooLargeError
from bigdebug.provgraph.answer import frame_of, named_few
from bigdebug.provgraph.codes import Codes, distinct
from bigdebug.provgraph.index import Index
from bigdebug.provgraph.questions import codes_of
from bigdebug.provgraph.walking import Triples, Walk, adjacency, walk
from bigdebug.shown import counted

_WRITTEN = 2_000
"""Bits of a number of paths up to which it is written out."""


def paths(index: Index, source: Any, target: Any) -> Paths:
    """The paths along triples from one item to one that was derived from it; two operations between the same items make two paths.

    Searches from both ends, so the fewer of what was made of ``source`` and what made ``target`` decide on the time. Raises
    ProvenanceError for paths that go in circles, UnknownItemError for an id that is not there.
    """
    start, end = _one(index, source), _one(index, target)
    if start == end:
        raise ProvenanceError("Paths lead from one item to another", value=source, remedy="Give two items.")
    between = _between(_either(index, start, end), start, end)
    if not index.acyclic:
        _refuse_circles(index, between)
    return Paths(index, start, end, between)


@dataclass(frozen=True, eq=False)
class Paths:
    """All paths from ``start`` to ``end`` (codes), as the triples that lie on them; none if the one was not derived from the other."""

    index: Index
    start: int
    end: int
    between: Triples

    @property
    def triples(self) -> pd.DataFrame:
        """Columns src, dst and op: each triple on a path, those of the same dst together."""
        return frame_of(self.index, self.between)

    @property
    def count(self) -> int:
        """How many paths there are, exactly."""
        return int(self._ways[0][self._place(self.end)]) if len(self.between.src) else 0

    @property
    def lengths(self) -> tuple[int, int] | None:
        """How many triples the shortest path and the longest have; None where there is no path."""
        if not len(self.between.src):
            return None
        at = self._place(self.end)
        return int(self._ways[2][at]), int(self._ways[3][at])

    def toPandas(self) -> pd.DataFrame:  # noqa: N802 (as PySpark's is)
        """Columns item, table (if the graph has a workflow), depth (triples from the first item, at the fewest) and paths (how many go
        through it: Python's integers), those near the first item first.
        """
        ahead, behind, shortest, _ = self._ways
        columns: dict[str, Any] = {"item": self.index.named(self._codes)}
        if self.index.workflow:
            columns["table"] = self.index.tables_of(self._codes)
        frame = pd.DataFrame({**columns, "depth": shortest, "paths": ahead * behind})
        return frame.sort_values("depth", kind="stable", ignore_index=True)

    def shortest(self, k: int = 1) -> pd.DataFrame:
        """The ``k`` shortest paths, or as many as there are: columns path (0, 1, ...), step, src, dst and op; a row for each triple.

        The same ones in the same order whenever it is asked.
        """
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
            raise ProvenanceError("k is a number of paths", value=k, remedy="Give 1 or more.")
        found = self._nearest(int(k)) if len(self.between.src) else []
        rows = [edge for path in found for edge in path]
        frame = frame_of(self.index, Triples(*(column[rows] for column in self.between)) if rows else Triples.none())
        frame.insert(0, "step", [step for path in found for step in range(len(path))])
        frame.insert(0, "path", [number for number, path in enumerate(found) for _ in path])
        return frame

    def __len__(self) -> int:
        """How many items lie on a path, both ends included."""
        return len(self._codes)

    def __repr__(self) -> str:
        ends = [named_few(self.index.named(np.array([code])), 1) for code in (self.start, self.end)]
        if self.lengths is None:
            return f"no path from {ends[0]} to {ends[1]}: it was not derived from it"
        short, long = self.lengths
        steps = counted(long, "triple") if short == long else f"{short:,} to {counted(long, 'triple')}"
        return f"{_many(self.count)} from {ends[0]} to {ends[1]}, {steps} long, through {counted(len(self) - 2, 'item')}"

    @cached_property
    def _codes(self) -> Codes:
        return distinct(np.concatenate([self.between.src, self.between.dst]))

    def _place(self, code: int) -> int:
        return int(np.searchsorted(self._codes, code))

    @cached_property
    def _ends(self) -> tuple[Codes, Codes]:
        """The places of src and dst of each triple."""
        return np.searchsorted(self._codes, self.between.src), np.searchsorted(self._codes, self.between.dst)

    @cached_property
    def _ways(self) -> tuple[NDArray[Any], NDArray[Any], Codes, Codes]:
        """By item: how many paths lead to it from the first, from it to the last, and the fewest and most triples from the first."""
        src, dst = self._ends
        layers = _layers(src, dst, len(self._codes))
        # Python's integers: a grid of a few hundred items has more paths than 64 bits can count.
        ahead, behind = (np.zeros(len(self._codes), object) for _ in range(2))
        shortest, longest = np.full(len(self._codes), np.iinfo(np.int64).max), np.zeros(len(self._codes), np.int64)
        if not len(self._codes):
            return ahead, behind, shortest, longest
        start, end = self._place(self.start), self._place(self.end)
        ahead[start], behind[end], shortest[start] = 1, 1, 0
        for edges in layers:
            np.add.at(ahead, dst[edges], ahead[src[edges]])
            np.minimum.at(shortest, dst[edges], shortest[src[edges]] + 1)
            np.maximum.at(longest, dst[edges], longest[src[edges]] + 1)
        for edges in reversed(layers):
            np.add.at(behind, src[edges], behind[dst[edges]])
        return ahead, behind, shortest, longest

    def _nearest(self, k: int) -> list[list[int]]:
        """The rows of the triples of the k shortest paths. Best first: as the way that is left is known, no path is begun in vain."""
        src, dst = self._ends
        start, end = self._place(self.start), self._place(self.end)
        backward = adjacency(dst, src, len(self._codes))
        back = walk(backward, np.array([end]), backward=True)
        left = np.zeros(len(self._codes), np.int64)
        left[back.items] = back.depths
        order = np.lexsort((self.between.op, dst, src))
        offsets = np.searchsorted(src[order], np.arange(len(self._codes) + 1))
        # Of ways that can be as short, the one that is nearly there goes first: few are open at a time. A way is its last triple and the way before it.
        heap: list[tuple[int, int, int, int, Any]] = [(int(left[start]), 0, 0, start, None)]
        opened = count(1)
        found: list[list[int]] = []
        while heap and len(found) < k:
            _, behind, _, at, way = heapq.heappop(heap)
            if at == end:
                found.append(_unrolled(way))
                continue
            for edge in order[offsets[at] : offsets[at + 1]].tolist():
                near = int(dst[edge])
                heapq.heappush(heap, (1 - behind + int(left[near]), behind - 1, next(opened), near, (edge, way)))
        return found


def _many(count: int) -> str:
    """So many paths. Python writes no integers of more than 4,300 digits."""
    return counted(count, "path") if count.bit_length() < _WRITTEN else f"about 10**{int(math.log10(count)):,} paths"


def _unrolled(way: Any) -> list[int]:
    rows = []
    while way is not None:
        edge, way = way
        rows.append(edge)
    return rows[::-1]


def _one(index: Index, item: Any) -> int:
    codes = codes_of(index, item)
    if len(codes) > 1:
        raise ProvenanceError("Paths lead from one item to one", value=len(codes), remedy="Ask for each pair: paths(a, b).")
    return int(codes[0])


def _either(index: Index, start: int, end: int) -> Triples:
    """All triples behind the end, or all ahead of the start: those of the walk that ends first."""
    back = Walk(index.backward, np.array([end]), backward=True)
    ahead = Walk(index.forward, np.array([start]), backward=False)
    while not (back.done or ahead.done):
        near, far = (back, ahead) if back.edges <= ahead.edges else (ahead, back)
        try:
            near.step()
        except TooLargeError:  # of one end, which took no step; the other may have few
            far.step()
    return (back if back.done else ahead).walked().triples


def _between(triples: Triples, start: int, end: int) -> Triples:
    """Those of the triples on a path, by dst."""
    codes = distinct(np.concatenate([triples.src, triples.dst, np.array([start, end])]))
    src, dst = (np.searchsorted(codes, column) for column in (triples.src, triples.dst))
    first, last = np.searchsorted(codes, [start, end])
    ahead, behind = np.zeros(len(codes), bool), np.zeros(len(codes), bool)
    ahead[walk(adjacency(src, dst, len(codes)), np.array([first]), backward=False).items] = True
    behind[walk(adjacency(dst, src, len(codes)), np.array([last]), backward=True).items] = True
    ahead[first] = behind[last] = True
    kept = np.flatnonzero(ahead[src] & behind[dst] & ahead[last])
    kept = kept[np.lexsort((triples.op[kept], triples.src[kept], triples.dst[kept]))]
    return Triples(*(column[kept] for column in triples))


def _layers(src: Codes, dst: Codes, items: int) -> list[Codes]:
    """Rows of triples, in an order in which each item's come behind those that lead to it. Triples in circles are in none."""
    waiting = np.bincount(dst, minlength=items)
    rows = adjacency(src, np.arange(len(src)), items)
    ready = np.flatnonzero(waiting == 0)
    layers = []
    while len(ready):
        edges = rows.of(ready).neighbours
        layers.append(edges)
        np.subtract.at(waiting, dst[edges], 1)
        near = distinct(dst[edges])
        ready = near[waiting[near] == 0]
    return layers


def _refuse_circles(index: Index, between: Triples) -> None:
    codes = distinct(np.concatenate([between.src, between.dst]))
    src, dst = np.searchsorted(codes, between.src), np.searchsorted(codes, between.dst)
    passed = np.zeros(len(src), bool)
    for edges in _layers(src, dst, len(codes)):
        passed[edges] = True
    if not passed.all():
        some = named_few(index.named(distinct(between.dst[~passed])), len(distinct(between.dst[~passed])))
        raise ProvenanceError(
            f"Paths between these items go in circles, through {some}: there are endlessly many",
            remedy="Ask for ancestors(..., depth=N), or mend the triples: the report of the import names those in circles.",
        )
