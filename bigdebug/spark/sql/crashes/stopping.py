"""Stopping: whether an action may not have come to all rows, and what is not certain of culprits because of that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bigdebug.spark.sql.crashes.blamed import Input
from bigdebug.spark.sql.crashes.bounds import moving
from bigdebug.spark.sql.crashes.trials import rowwise
from bigdebug.spark.sql.crashes.walk import Step
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.trace.culprit import CrashCulprit

_STOPPING = ("head", "first", "take", "show", "isEmpty", "tail", "toLocalIterator")
"""Actions that may not compute all rows."""

LIMITS = ("GlobalLimit", "LocalLimit", "Offset", "Tail")
"""Nodes that take some of the rows, by their order."""

_LAZY = ("First", "MaxBy", "MinBy")
"""Aggregates that compute what they are given as long as they have to, which hangs on the order of rows."""

_WHOLE = ("Count", "Percentile")
"""Aggregates of several values of which it is known which they compute: the first does to the first NULL, which is tried so, the other one all."""


def may_stop(action: str, steps: Iterable[Step]) -> bool:
    """Whether an action may not come to all rows of a query."""
    return action in _STOPPING or any(step.node.nodeName() in LIMITS for step in steps)


def doubts(catalyst: Catalyst, steps: Sequence[Step], stops: bool, known: Iterable[CrashCulprit]) -> Iterator[str]:
    """What is not certain of the rows that are known to crash, of an action that may stop or not."""
    if stops:
        yield "A limit stops when it has enough: some of these rows the action may not have come to."
    blamed = sorted({culprit.place.step for culprit in known if isinstance(culprit.place, Input)})
    for name in sorted({name for number in blamed for name in _lazy_in(catalyst, steps[number].node)}):
        yield f"{name}() computes what it is given only as long as it has to: some of these rows it may not have come to."
    if any(moving(catalyst, steps[number].node) for number in blamed):
        yield "Where the frame of a row begins and ends is computed only while there are rows that may be in it: to some of these rows the action may not have come."


def sharing(catalyst: Catalyst, steps: Sequence[Step]) -> Iterator[str]:
    """What is not certain where aggregates share what may throw."""
    if any(_shared_in(catalyst, step.node) for step in steps):
        yield "Several aggregates with FILTER share what may throw, and Spark may compute that before it asks FILTER: more rows than these may crash."


def _lazy_in(catalyst: Catalyst, node: Node) -> Iterator[str]:
    """Aggregates of a node that may leave something uncomputed that throws: what they give is not known to have come to each row."""
    for each in _aggregates(catalyst, node) if node.nodeName() in ("Aggregate", "Window") else ():
        if (name := each.aggregateFunction().nodeName()) not in _WHOLE:
            throws = [any(True for _ in rowwise(catalyst, given)) for given in catalyst.children(each.aggregateFunction())]
            if any(throws) and (name in _LAZY or any(throws[1:])):
                yield str(each.aggregateFunction().prettyName())


def _shared_in(catalyst: Catalyst, node: Node) -> bool:
    """Whether aggregates of a node share something that may throw, and one of them has a filter."""
    aggregates = list(_aggregates(catalyst, node)) if node.nodeName() == "Aggregate" else []
    if not any(each.filter().isDefined() for each in aggregates):
        return False
    throwing = [{str(part.canonicalized()) for given in catalyst.children(each.aggregateFunction()) for part in rowwise(catalyst, given)} for each in aggregates]
    return sum(map(len, throwing)) > len(set().union(*throwing))


def _aggregates(catalyst: Catalyst, node: Node) -> Iterator[Expr]:
    """The aggregates in the expressions of a node."""
    todo = [*catalyst.expressions(node)]
    while todo:
        each = todo.pop()
        todo += catalyst.children(each)
        if each.nodeName() == "AggregateExpression":
            yield each
