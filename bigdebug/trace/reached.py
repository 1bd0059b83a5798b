"""Reached: how many outputs of a run hang on records of its sources. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from bigdebug.trace.places import Places, count, places_of, union
from bigdebug.trace.run import Run
from bigdebug.trace.walk import walk


def outputs_reached(run: Run, records: Iterable[tuple[int, int]]) -> int:
    """How many records of the result are made of these, by operators and rids. A walk over the tables of the run; raises what that raises."""
    rids: dict[int, list[int]] = defaultdict(list)
    for operator, rid in records:
        rids[operator].append(rid)
    graph = run.graph
    found: list[Places] = []
    for operator, some in rids.items():
        within = graph.downstream(operator) & graph.upstream(run.subject)
        places = places_of(some)
        ahead = {run.subject: places} if operator == run.subject else walk(run.lineage, operator, places, {run.subject}, within, ahead=True)
        found.append(ahead.get(run.subject, {}))
    return count(union(*found))
