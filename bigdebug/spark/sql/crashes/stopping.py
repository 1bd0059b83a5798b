"""Stopping: whether an action may not have come to all rows, and what is not certain of culprits because of that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bigdebug.spark.sql.crashes.blamed import Input
from bigdebug.spark.sql.crashes.trials import lazy_in, shared_in
from bigdebug.spark.sql.crashes.walk import Step
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.trace.culprit import CrashCulprit

_STOPPING = ("head", "first", "take", "show", "isEmpty", "tail", "toLocalIterator")
"""Actions that may not compute all rows."""

_LIMITS = ("GlobalLimit", "LocalLimit", "Offset", "Tail")


def may_stop(action: str, steps: Iterable[Step]) -> bool:
    """Whether an action may not come to all rows of a query."""
    return action in _STOPPING or any(step.node.nodeName() in _LIMITS for step in steps)


def doubts(catalyst: Catalyst, steps: Sequence[Step], stops: bool, known: Iterable[CrashCulprit]) -> Iterator[str]:
    """What is not certain of the rows that are known to crash, of an action that may stop or not."""
    if stops:
        yield "A limit stops when it has enough: some of these rows the action may not have come to."
    blamed = {culprit.place.step for culprit in known if isinstance(culprit.place, Input)}
    for name in sorted({name for number in blamed for name in lazy_in(catalyst, steps[number].node)}):
        yield f"{name}() computes what it is given only as long as it has to: some of these rows it may not have come to."


def sharing(catalyst: Catalyst, steps: Sequence[Step]) -> Iterator[str]:
    """What is not certain where aggregates share what may throw."""
    if any(shared_in(catalyst, step.node) for step in steps):
        yield "Several aggregates with FILTER share what may throw, and Spark may compute that before it asks FILTER: more rows than these may crash."
