"""Stand-ins: the query that an action runs in the place of the user's, where another execution would give something else.

Clocks are written into its plan, all at one time, as Spark does itself. What is drawn is kept (``kept.py``), by default only
where that is little beside the query: an action that brings all rows to the driver, over sources that are small.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from bigdebug.spark.sql.catalyst import Catalyst
from bigdebug.spark.sql.executions import at_one_time, reads_cache, samples, size
from bigdebug.spark.sql.kept import keeping
from bigdebug.spark.sql.reading import PlanOperator, read

WHOLE = {"collect", "toPandas", "toArrow"}
"""Actions that compute all rows, so that keeping them computes no more."""

_LITTLE = 256 << 20
"""Bytes of the sources of a query, up to which what it draws is kept by default."""


class StandIn(NamedTuple):
    """A query as its operators, and as a DataFrame of the user's session."""

    root: PlanOperator
    frame: Any


def stand_in(users: Catalyst, asking: Callable[[], Catalyst], action: str, frame: Any, inject: bool) -> StandIn | None:
    """What ``action`` runs on in the place of ``frame``; None if that is the frame itself.

    ``asking`` gives the session of questions. Raises an error of ours for what cannot be kept, before anything is computed.
    """
    plan = Catalyst.plan(frame)
    fixed = at_one_time(users, plan)
    draws = not fixed.deterministic() or samples(fixed)
    keeps = inject or (draws and action in WHOLE and size(users, fixed) <= _LITTLE)
    if fixed is plan and not keeps:
        return None
    catalyst = asking()
    root = read(catalyst, fixed)
    executed = keeping(catalyst, users, frame, root, inject) if keeps else root
    if executed is not root:
        return StandIn(executed, users.frame(executed.plan(users)))
    made = users.frame(fixed)
    return None if fixed is plan or reads_cache(users, made) != reads_cache(users, frame) else StandIn(root, made)
