"""Whether a graph has cycles, and which: items without sources are taken away, then those that have none any more, until all are gone."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigdebug.provgraph.adjacency import Adjacency

_BLOCK = 1 << 20
"""Items that are looked at at once, and about as many triples."""


@dataclass(frozen=True)
class Cycles:
    """How many items are on cycles or between two, and the codes along one cycle: from an item through what it was made of to itself."""

    items: int = 0
    example: tuple[int, ...] = ()


def cycles(backward: Adjacency, forward: Adjacency, scratch: Path | None = None) -> Cycles:
    """The cycles of a graph (Kahn 1962). Takes time by triples, and some 50 microseconds for each level of the longest path.

    Needs five bytes for each item; in an unnamed file of ``scratch``, if that is given, which the kernel keeps in memory as it sees fit.
    """
    items = len(backward.offsets) - 1
    left = _scratch(items, np.uint32, scratch)
    gone = _scratch(items, np.bool_, scratch)
    _peel(backward, forward, left, gone)
    if not gone.all():
        _peel(forward, backward, left, gone)
    stay = sum(len(block) - int(block.sum()) for block in (gone[start : start + _BLOCK] for start in range(0, items, _BLOCK)))
    return Cycles(stay, _example(backward, gone) if stay else ())


def _peel(towards: Adjacency, away: Adjacency, left: NDArray[np.uint32], gone: NDArray[np.bool_]) -> None:
    """Marks as gone the items that no cycle leads to: those that have no neighbours ``towards`` which are not gone, one after the other."""
    level: list[NDArray[np.int64]] = []
    for start in range(0, len(gone), _BLOCK):
        some = np.arange(start, min(start + _BLOCK, len(gone)))
        left[some] = towards.degrees(some)
        level.append(some[(left[some] == 0) & ~gone[some]])
    # What has gone from the other side counts no more.
    for start in range(0, len(gone), _BLOCK):
        some = np.flatnonzero(gone[start : start + _BLOCK]) + start
        if len(some):
            level += _less(away, some, left, gone)
    while level:
        following: list[NDArray[np.int64]] = []
        for some in level:
            gone[some] = True
            following += _less(away, some, left, gone)
        level = following


def _less(
    away: Adjacency, items: NDArray[np.int64], left: NDArray[np.uint32], gone: NDArray[np.bool_]
) -> Iterator[NDArray[np.int64]]:
    """Takes the triples at these items away, and gives the items that have none left by that."""
    for some in _neighbours(away, items):
        reached = np.sort(some)
        first = np.flatnonzero(np.append(True, reached[1:] != reached[:-1]))
        last = reached[first]
        left[last] -= np.diff(np.append(first, len(reached))).astype(np.uint32)
        yield last[(left[last] == 0) & ~gone[last]].astype(np.int64)


def _neighbours(away: Adjacency, items: NDArray[np.int64]) -> Iterator[NDArray[np.uint32]]:
    """All neighbours of these items, in pieces: one item may have more than memory holds."""
    counts = away.degrees(items)
    for item in items[counts > _BLOCK].tolist():
        start, stop = int(away.offsets[item]), int(away.offsets[item + 1])
        for place in range(start, stop, _BLOCK):
            yield away.neighbours[place : min(place + _BLOCK, stop)]
    some = items[(counts > 0) & (counts <= _BLOCK)]
    ends = np.cumsum(away.degrees(some))
    cuts = np.searchsorted(ends, np.arange(_BLOCK, int(ends[-1]) if len(ends) else 0, _BLOCK))
    yield from (away.of(part).neighbours.astype(np.uint32) for part in np.split(some, cuts) if len(part))


def _example(backward: Adjacency, gone: NDArray[np.bool_]) -> tuple[int, ...]:
    """A cycle among what has not gone: each of these has a source that has not gone either."""
    item, path = int(np.argmin(gone)), dict[int, int]()
    while item not in path:
        path[item] = len(path)
        sources = backward.of(np.array([item])).neighbours
        item = int(sources[~gone[sources]][0])
    return (*list(path)[path[item] :], item)


def _scratch(items: int, kind: Any, folder: Path | None) -> NDArray[Any]:
    if folder is None or not items:
        return np.zeros(items, kind)
    with tempfile.TemporaryFile(dir=folder) as file:
        file.truncate(items * np.dtype(kind).itemsize)
        return np.asarray(np.memmap(file, kind, "r+", shape=(items,)))
