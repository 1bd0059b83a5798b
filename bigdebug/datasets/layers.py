"""Layers: where the nodes of a graph stand, so that what feeds others stands before them and few lines cross (Sugiyama). Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

_SWEEPS = 6
"""How often layers are ordered by their neighbours; more changes little."""


def layered(count: int, links: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """For each of ``count`` nodes its layer and its place in it, both from 0. Links go to later layers, but those that close a circle.

    Takes some milliseconds for a thousand links.
    """
    forward = _without_circles(count, links)
    layer = _longest(count, forward)
    before: dict[int, list[int]] = defaultdict(list)
    after: dict[int, list[int]] = defaultdict(list)
    for near, far in forward:
        before[far].append(near)
        after[near].append(far)
    members: dict[int, list[int]] = defaultdict(list)
    for node in range(count):
        members[layer[node]].append(node)
    place = {node: i for nodes in members.values() for i, node in enumerate(nodes)}
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for number in sorted(members, reverse=not down):
            neighbours = before if down else after
            members[number].sort(key=lambda node: (_middle([place[each] for each in neighbours[node]], place[node]), place[node]))
            place.update((node, i) for i, node in enumerate(members[number]))
    return [(layer[node], place[node]) for node in range(count)]


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
