"""Marked records: which records of sources each output was made of, for all outputs at once: one pass over the tables of a run."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np

from bigdebug.model import NO_RIDS, Rids, pack
from bigdebug.store.ranges import spread
from bigdebug.trace.lineage import Hop, Lineage
from bigdebug.trace.places import Places
from bigdebug.trace.positions import Positions

Marked = Mapping[int, tuple[Positions, Positions]]
"""By partition positions, ascending and maybe several times, and the mark that each has there."""


def links(lineage: Lineage, operator: int, places: Places, sources: Collection[int]) -> tuple[Positions, Rids]:
    """Pairs of a record of ``operator``, by its number among ``places``, and a record of ``sources`` that it was made of; each once.

    Takes a sort of the pairs at each operator on the way, and 16 bytes for each. Numbers go through the partitions in their order.
    """
    graph = lineage.graph
    within = graph.upstream(operator) & {below for source in sources for below in graph.downstream(source)}
    waiting: dict[int, dict[int, tuple[Positions, Positions]]] = {operator: _numbered(places)}
    found: list[tuple[Positions, Rids]] = []
    while waiting:
        here = max(waiting)  # ids grow along the program: all ways to it are known
        marked = waiting.pop(here)
        if here in sources:
            found += [(marks, pack(partition, positions)) for partition, (positions, marks) in marked.items()]
            continue
        for hop in lineage.hops_back(here, sources):
            if hop.operator in within:
                before = waiting.get(hop.operator, {})
                waiting[hop.operator] = _together([before, *_back(lineage, here, hop, marked)])
    if not found:
        return NO_RIDS, NO_RIDS
    return np.concatenate([marks for marks, _ in found]), np.concatenate([rids for _, rids in found])


def _numbered(places: Places) -> dict[int, tuple[Positions, Positions]]:
    found, before = {}, 0
    for partition in sorted(places):
        count = len(places[partition])
        found[partition] = places[partition], np.arange(before, before + count, dtype=np.int64)
        before += count
    return found


def _back(lineage: Lineage, operator: int, hop: Hop, marked: Marked) -> Iterator[Marked]:
    """The records of ``hop.operator`` that marked ones were made of, with the marks of these."""
    starts = {partition: np.flatnonzero(_changes(positions)) for partition, (positions, _) in marked.items()}
    places = {partition: marked[partition][0][at] for partition, at in starts.items() if len(at)}
    for partition, there, which, reached in lineage.pairs(operator, hop, places):
        positions, marks = marked[partition]
        first, counts = starts[partition][which], np.diff(np.append(starts[partition], len(positions)))[which]
        yield {there: (np.repeat(reached, counts), marks[spread(first, counts)])}


def _together(several: list[Marked]) -> dict[int, tuple[Positions, Positions]]:
    """All of them, each pair once, in the order of positions."""
    parts: dict[int, list[tuple[Positions, Positions]]] = {}
    for marked in several:
        for partition, pair in marked.items():
            parts.setdefault(partition, []).append(pair)
    return {partition: _each_once(*map(np.concatenate, zip(*pairs))) for partition, pairs in parts.items()}


def _each_once(positions: Positions, marks: Positions) -> tuple[Positions, Positions]:
    if np.any(_falls(positions, marks)):
        order = np.lexsort((marks, positions))
        positions, marks = positions[order], marks[order]
    new = _changes(positions)
    new[1:] |= marks[1:] != marks[:-1]
    return (positions, marks) if new.all() else (positions[new], marks[new])


def _changes(values: Positions) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Where a value is another than the one before."""
    changes = np.ones(len(values), dtype=bool)
    changes[1:] = values[1:] != values[:-1]
    return changes


def _falls(positions: Positions, marks: Positions) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Where a pair comes before the one that it stands behind."""
    same = positions[1:] == positions[:-1]
    return np.asarray((positions[1:] < positions[:-1]) | (same & (marks[1:] < marks[:-1])))
