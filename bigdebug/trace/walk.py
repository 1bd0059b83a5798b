"""Walks: all that a trace reaches, hop by hop along every path."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from bigdebug.graph import OperatorGraph
from bigdebug.trace.counts import records
from bigdebug.trace.held import Held
from bigdebug.trace.lineage import Lineage
from bigdebug.trace.places import Places, union


def all_of(lineage: Lineage, operator: int) -> Places:
    """Every record of ``operator`` that the run saw."""
    found: Held[int] = Held()
    for partition, count in records(lineage, operator).items():
        found.put_first(partition, count)
    return found


def walk(
    lineage: Lineage, start: int, places: Places, stops: Collection[int], within: Collection[int], ahead: bool
) -> dict[int, Places]:
    """Follow all paths from ``start`` through ``within`` and give what is reached at ``stops``.

    A path ends at the first of ``stops`` it meets. Each operator is visited once, with the union of what reaches
    it: ids grow along the program, so the order of ids is an order of the graph.
    """
    waiting: dict[int, Places] = {start: places}
    reached: dict[int, Places] = {}
    while waiting:
        operator = min(waiting) if ahead else max(waiting)
        here = waiting.pop(operator)
        if operator in stops and operator != start:
            reached[operator] = here
            continue
        hops = lineage.hops_ahead(operator, stops, within) if ahead else lineage.hops_back(operator, stops)
        for hop in hops:
            if hop.operator not in within:
                continue
            step = lineage.ahead if ahead else lineage.back
            waiting[hop.operator] = union(waiting.get(hop.operator, {}), step(operator, hop, here))
    return reached


def first_met(graph: OperatorGraph, starts: Iterable[int], goals: set[int], within: set[int], ahead: bool, stay: set[int]) -> list[int]:
    """The goals that a walk from ``starts`` meets first on some path."""
    met, seen = set(stay), set()
    todo = [s for s in starts if s not in stay]
    while todo:
        operator = todo.pop()
        nexts = [c.id for c in graph.children(operator)] if ahead else graph[operator].parents
        for following in nexts:
            if following not in within or following in seen:
                continue
            seen.add(following)
            if following in goals:
                met.add(following)
            else:
                todo.append(following)
    return sorted(met)
