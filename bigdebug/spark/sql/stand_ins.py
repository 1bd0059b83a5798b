"""Stand-ins: the query that an action runs in the place of the user's, where another execution would give something else.

Clocks are written into its plan, all at one time, as Spark does itself: the time at which the frame itself is executed, where
the action does that (``clocks.py``). What is drawn is kept (``kept.py``), by default only where that is little beside the query:
an action that brings all rows to the driver, over sources that are small.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from bigdebug.spark.sql.kept import keeping
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.clocks import asks_time, at_its_time, at_one_time
from bigdebug.spark.sql.plans.executions import KEPT, reads_cache, samples, size
from bigdebug.spark.sql.plans.expressions import Node
from bigdebug.spark.sql.plans.reading import PlanOperator, read

WHOLE = {"collect", "toPandas", "toArrow"}
"""Actions that compute all rows, so that keeping them computes no more."""

_LITTLE = 256 << 20
"""Bytes of the sources of a query, up to which what it draws is kept by default."""


class StandIn(NamedTuple):
    """A query as its operators, and as a DataFrame of the user's session."""

    root: PlanOperator
    frame: Any


def stand_in(users: Catalyst, asking: Callable[[], Catalyst], action: str, frame: Any, inject: bool) -> StandIn | None:
    """What ``action`` runs on in the place of ``frame``, and what it is asked as; None if that is the frame itself.

    ``asking`` gives the session of questions. Raises an error of ours for what cannot be kept, before anything is computed.
    """
    plan = Catalyst.plan(frame)
    fixed, own = _at_one_time(users, action, frame, plan, inject)
    draws = not fixed.deterministic() or samples(fixed)
    keeps = inject or (draws and action in WHOLE and size(users, fixed) <= _LITTLE)
    if fixed is plan and not keeps:
        return None
    catalyst = asking()
    root = read(catalyst, fixed)
    executed = keeping(catalyst, users, frame, root, inject) if keeps else root
    if executed is not root:
        return StandIn(executed, users.frame(executed.plan(users)))
    if fixed is plan:
        return None
    if own:
        return StandIn(root, frame)
    made = users.frame(fixed)
    return None if reads_cache(users, made) != reads_cache(users, frame) else StandIn(root, made)


def _at_one_time(users: Catalyst, action: str, frame: Any, plan: Node, inject: bool) -> tuple[Node, bool]:
    """The plan with the time of the action in the place of its clocks, itself if there are none or it cannot be told.

    Also whether that is the time at which the frame itself is executed.
    """
    if not asks_time(users, plan):
        return plan, False
    if action in KEPT:
        fixed = at_its_time(users, frame)
        if fixed is not None:
            return fixed, True
        if not inject:
            return plan, False  # the action says what it says without capture; questions are refused
    return at_one_time(users, plan), False
