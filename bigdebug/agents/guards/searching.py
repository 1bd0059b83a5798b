"""Searching: the rows that a function of many of them crashes on, and what is told of each. Workers that call functions of one row need no numpy."""

from __future__ import annotations

from collections.abc import Iterator

from bigdebug.agents.guards.code import told
from bigdebug.agents.guards.fewness import Crashing
from bigdebug.agents.guards.halving import Alike, culprits


def found(crash: Crashing, count: int, problem: BaseException, alike: Alike | None = None) -> Iterator[tuple[int, bytes]]:
    """The places, of the first ``count``, of the rows that a function crashed on with ``problem``, and what is told of them.

    If it does not crash again, that is the last one, together with all.
    """
    alone = told if alike is None else alike.told
    for place, own, together in culprits(crash, range(count), problem, alike):
        yield place, alone(own) if together == 1 else told(own, together or count)
