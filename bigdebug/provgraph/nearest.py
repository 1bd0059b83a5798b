"""The few nearest neighbours of items that have many: found at the beginning of their rows, for neighbours ascend there."""

from __future__ import annotations

import numpy as np

from bigdebug.provgraph.adjacency import Adjacency, Edges, as_built
from bigdebug.provgraph.codes import Codes, distinct, within
from bigdebug.store.arrays import Array

SEARCH = 64
"""Triples that are read in the time in which one is looked for by bisection."""
_AT_ONCE = 1 << 20
"""Triples that are looked for at once: each takes some hundred bytes."""


def pays(items: int, known: int, room: int, most: int) -> bool:
    """Whether ``nearest`` may find what it looks for, of so many items and known ones."""
    return (room + 2 + known) * items <= most


def nearest(along: Adjacency, items: Codes, starts: Codes, stops: Codes, known: Codes, room: int, most: int) -> Edges | None:
    """The triples at ``items``, which stand where ``ends`` says, as far as the ``room`` smallest neighbours that are not ``known``, and the next one, take them;
    with all that lead to known ones. None where ``most`` are not enough, of triples that are read or looked for.

    Items and known ones are sorted. Takes time by ``room``, by the items and the known ones, however many triples the items have.
    """
    read = room + 2  # one beyond, and one at which it is cut
    while (read + len(known)) * len(items) <= most:
        ends = np.minimum(starts + read, stops)
        found = along.between(items, starts, ends)
        cut = ends[ends < stops]
        if not len(cut):
            return found
        with as_built():
            # Strictly below, for what is cut there may go on by other operations.
            whole = distinct(found.neighbours[found.neighbours < along.neighbours.take(cut - 1).min()])
        new = whole[~within(whole, known)]
        if len(new) > room:
            last = new[room]
            return _together(_upto(found, last), _leading(along, items, starts, stops, known[known > last]))
        read *= 2  # several operations lead to one neighbour
    return None


def _upto(edges: Edges, last: int) -> Edges:
    kept = edges.neighbours <= last
    return Edges(*(column[kept] for column in edges))


def _leading(along: Adjacency, items: Codes, starts: Codes, stops: Codes, to: Codes) -> Edges:
    """The triples at items that lead to some neighbours, each looked for."""
    some = max(_AT_ONCE // max(len(to), 1), 1)
    parts = [_looked_for(along, items[at : at + some], starts[at : at + some], stops[at : at + some], to) for at in range(0, len(items), some)]
    return Edges(*map(np.concatenate, zip(*parts)))


def _looked_for(along: Adjacency, items: Codes, starts: Codes, stops: Codes, to: Codes) -> Edges:
    rows, wanted = np.repeat(np.arange(len(items)), len(to)), np.tile(to, len(items))
    with as_built():
        first, last = (_places(along.neighbours, wanted + more, starts[rows], stops[rows]) for more in (0, 1))
    return along.between(items[rows], first, last)


def _places(values: Array, wanted: Codes, starts: Codes, stops: Codes) -> Codes:
    """Where each value that is wanted would stand, from a start to a stop between which they ascend: all searches go on together."""
    low, high = starts.copy(), stops.copy()
    while len(left := np.flatnonzero(low < high)):
        middle = (low[left] + high[left]) // 2
        below = values.take(middle) < wanted[left]
        low[left[below]] = middle[below] + 1
        high[left[~below]] = middle[~below]
    return low


def _together(one: Edges, other: Edges) -> Edges:
    """Both, in the order of items and neighbours, as all of them would stand."""
    items, neighbours, ops = (np.concatenate(pair) for pair in zip(one, other))
    order = np.lexsort((ops, neighbours, items))
    return Edges(items[order], neighbours[order], ops[order])
