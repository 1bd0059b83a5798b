"""Ways: the steps by which records of a run's levels are made of others, from the result back to the sources."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from bigdebug.trace.lineage import Hop
from bigdebug.trace.run import Run


class Way(NamedTuple):
    """One step between two levels: records of operator ``made`` are made of those that ``hop`` reaches."""

    made: int
    hop: Hop


def ways_of(run: Run, stops: Collection[int] = ()) -> tuple[Way, ...]:
    """The ways of an RDD program's run: between its sources, the operators at which a trace steps (goBack()), its result, and ``stops`` besides."""
    found: list[Way] = []
    todo, seen = [run.subject], {run.subject}
    while todo:
        operator = todo.pop()
        for hop in run.lineage.hops_back(operator, stops):
            found.append(Way(operator, hop))
            if hop.operator not in seen:
                seen.add(hop.operator)
                todo.append(hop.operator)
    return tuple(found)
