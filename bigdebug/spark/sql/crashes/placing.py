"""Placing: whether a row may come behind all others of an input, instead of in the place of the one that crashed there. Where a query goes by the places of rows, it may not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bigdebug.errors import ReplayError
from bigdebug.spark.sql.crashes.blamed import Input
from bigdebug.spark.sql.crashes.stopping import LIMITS
from bigdebug.spark.sql.crashes.walk import Step
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node

_TAKING = ("head", "first", "take", "tail", "show")
"""Actions that give the first rows, or the last ones."""

_ORDERING = ("Sort", "Aggregate", "Window")
"""Nodes behind which rows stand otherwise than before."""

_BY_PLACE = (
    "MonotonicallyIncreasingID", "SparkPartitionID", "InputFileName", "InputFileBlockStart", "InputFileBlockLength", "Rand", "Randn", "RandStr", "Uniform", "Uuid", "Shuffle",
)
"""Expressions that hang on where a row stands."""


def check_places(catalyst: Catalyst, action: str, steps: Sequence[Step], placed: Iterable[Input]) -> None:
    """Raises ReplayError where the query, or its action, would give something else of the same rows in another order."""
    for why in (why for where in placed for why in _reasons(catalyst, action, steps, where)):
        raise ReplayError(
            f"A row in the place of another comes behind the other rows, and {why}", remedy="Repair it in the input and run the query again, sort behind what crashed, or leave the row out with skip=.",
        )


def _reasons(catalyst: Catalyst, action: str, steps: Sequence[Step], where: Input) -> Iterator[str]:
    """What goes by the places of rows, from an input of a node on to the end."""
    below = steps[steps[where.step].inputs[where.number]].node
    ordered, is_sorted = False, not below.outputOrdering().isEmpty()
    for step in _above(steps, where.step):
        name = step.node.nodeName()
        if (found := _by_place(catalyst, step.node)) is not None:
            yield f"{found.sql()} hangs on where rows stand"
        if name in (*LIMITS, "Sample") and not ordered:
            yield f"{name} takes rows by their order"
        ordered = ordered or name in _ORDERING
    if ordered or action == "count":
        return
    if action in _TAKING:
        yield f"{action}() takes rows by their order"
    elif is_sorted:
        yield "the rows are sorted before"


def _above(steps: Sequence[Step], number: int) -> Iterator[Step]:
    """A node, and all that are computed of it."""
    reached = {number}
    for at, step in enumerate(steps[number:], number):
        if at in reached or not reached.isdisjoint((*step.inputs, *step.asked)):
            reached.add(at)
            yield step


def _by_place(catalyst: Catalyst, node: Node) -> Expr | None:
    """The first expression of a node that hangs on where a row stands."""
    if node.deterministic():
        return None
    todo = list(catalyst.expressions(node))
    while todo:
        expression = todo.pop()
        if expression.getClass().getSimpleName() in _BY_PLACE:  # names of nodes are those of SQL for some
            return expression
        todo += catalyst.children(expression)
    return None
