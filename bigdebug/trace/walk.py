"""Walks: all that a trace reaches, hop by hop along every path."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from bigdebug.trace.counts import records
from bigdebug.trace.lineage import Lineage
from bigdebug.trace.places import Places, union
from bigdebug.trace.positions import Positions


def all_of(lineage: Lineage, operator: int) -> dict[int, Positions]:
    """Every record of ``operator`` that the run saw."""
    return {p: np.arange(n, dtype=np.int64) for p, n in records(lineage, operator).items()}


def walk(
    lineage: Lineage, start: int, places: Places, stops: Collection[int], within: Collection[int], ahead: bool
) -> dict[int, dict[int, Positions]]:
    """Follow all paths from ``start`` through ``within`` and give what is reached at ``stops``.

    A path ends at the first of ``stops`` it meets. Each operator is visited once, with the union of what reaches
    it: ids grow along the program, so the order of ids is an order of the graph.
    """
    waiting: dict[int, dict[int, Positions]] = {start: dict(places)}
    reached: dict[int, dict[int, Positions]] = {}
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
