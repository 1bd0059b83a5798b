"""What a trace passes: the records at every operator on all ways back, or whether a way ahead ends at some records."""

from __future__ import annotations

from collections.abc import Collection

from bigdebug.trace.lineage import Lineage
from bigdebug.trace.places import Places, union
from bigdebug.trace.walk import walk


def passed(lineage: Lineage, start: int, places: Places) -> dict[int, Places]:
    """The records that those at ``start`` were made of, themselves included, by operator, wherever the run's tables begin or end.

    Operators inside of a fused segment are passed unseen.
    """
    waiting: dict[int, Places] = {start: places}
    found: dict[int, Places] = {}
    while waiting:
        operator = max(waiting)
        here = found[operator] = waiting.pop(operator)
        for hop in lineage.hops_back(operator, ()) if lineage.graph[operator].parents else ():
            waiting[hop.operator] = union(waiting.get(hop.operator, {}), lineage.back(operator, hop, here))
    return found


def arriving_at(lineage: Lineage, goal: int, operator: int, places: Places, within: Collection[int]) -> Places:
    """The records of ``goal`` that some of an operator had a part in."""
    if operator == goal:
        return places
    return walk(lineage, operator, places, {goal}, within, ahead=True).get(goal, {})
