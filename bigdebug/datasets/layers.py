"""Layers: where the nodes of a graph stand, so that what feeds others stands before them and few lines cross (Sugiyama). Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

_Nodes = defaultdict[int, list[int]]

_SWEEPS = 6
"""How often layers are ordered by their neighbours; more changes little."""


Place = tuple[int, int]
"""A layer and a place in it, both from 0."""


class Layers(NamedTuple):
    """The places of nodes, and those that links over several layers pass on their ``ways``, so that no line goes behind a node."""

    places: list[Place]
    ways: dict[tuple[int, int], list[Place]]


def layered(count: int, links: Sequence[tuple[int, int]]) -> Layers:
    """Where ``count`` nodes stand. Links go to later layers, but those that close a circle. Takes some milliseconds for a thousand links."""
    forward = _without_circles(count, links)
    layer = _longest(count, forward)
    before, after = _neighbours(forward)
    for node in range(count):
        if after[node] and not before[node]:
            layer[node] = min(layer[far] for far in after[node]) - 1  # a source stands beside what it feeds
    steps, ways = _one_by_one(forward, layer)
    place = _ordered(layer, *_neighbours(steps))
    return Layers(
        [(layer[node], place[node]) for node in range(count)], {link: [(layer[node], place[node]) for node in nodes] for link, nodes in ways.items()},
    )


def _one_by_one(links: Iterable[tuple[int, int]], layer: list[int]) -> tuple[list[tuple[int, int]], dict[tuple[int, int], list[int]]]:
    """Links from each layer to the next: those over several pass nodes of their own, which are added to ``layer``."""
    steps: list[tuple[int, int]] = []
    ways: dict[tuple[int, int], list[int]] = {}
    for near, far in links:
        passed = []
        for between in range(layer[near] + 1, layer[far]):
            passed.append(len(layer))
            layer.append(between)
        steps += pairwise([near, *passed, far])
        ways[near, far] = passed
    return steps, ways


def _ordered(layer: Sequence[int], before: _Nodes, after: _Nodes) -> list[int]:
    """The place of each node in its layer, near the middle of its neighbours."""
    members: dict[int, list[int]] = defaultdict(list)
    place = [0] * len(layer)
    for node, number in enumerate(layer):
        place[node] = len(members[number])
        members[number].append(node)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        neighbours = before if down else after
        for number in sorted(members, reverse=not down):
            members[number].sort(key=lambda node: (_middle([place[each] for each in neighbours[node]], place[node]), place[node]))
            for i, node in enumerate(members[number]):
                place[node] = i
    return place


def _neighbours(links: Iterable[tuple[int, int]]) -> tuple[_Nodes, _Nodes]:
    before: _Nodes = defaultdict(list)
    after: _Nodes = defaultdict(list)
    for near, far in links:
        before[far].append(near)
        after[near].append(far)
    return before, after


def _without_circles(count: int, links: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The links but those that lead back to where a walk came from."""
    after: dict[int, list[int]] = defaultdict(list)
    for near, far in dict.fromkeys(links):
        if near != far:
            after[near].append(far)
    state = [0] * count  # 1: on the way, 2: done
    kept: list[tuple[int, int]] = []
    fed = {far for nodes in after.values() for far in nodes}
    for start in sorted(range(count), key=lambda node: node in fed):
        rest = [(start, iter(after[start]))] if state[start] == 0 else []
        state[start] = state[start] or 1
        while rest:
            node, following = rest[-1]
            step = next(following, -1)
            if step < 0:
                state[node] = 2
                rest.pop()
            elif state[step] != 1:
                kept.append((node, step))
                if state[step] == 0:
                    state[step] = 1
                    rest.append((step, iter(after[step])))
    return kept


def _longest(count: int, links: Sequence[tuple[int, int]]) -> list[int]:
    """The layer of each node: as many links behind it as the longest way has."""
    after: dict[int, list[int]] = defaultdict(list)
    waiting = [0] * count
    for near, far in links:
        after[near].append(far)
        waiting[far] += 1
    layer = [0] * count
    ready = [node for node in range(count) if waiting[node] == 0]
    while ready:
        node = ready.pop()
        for far in after[node]:
            layer[far] = max(layer[far], layer[node] + 1)
            waiting[far] -= 1
            if waiting[far] == 0:
                ready.append(far)
    return layer


def _middle(places: Sequence[int], otherwise: int) -> float:
    return sum(places) / len(places) if places else float(otherwise)
