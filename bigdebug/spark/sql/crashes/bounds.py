"""Bounds: where the frames of windows over ranges begin and end. That is computed of the value of a row, and may overflow."""

from __future__ import annotations

from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.frames import by_range

_SPECIAL = "org.apache.spark.sql.catalyst.expressions.SpecialFrameBoundary"
"""Where a frame begins or ends by itself, which is written as an expression, and computed by none."""


def is_special(catalyst: Catalyst, expression: Expr) -> bool:
    """Whether an expression stands for the current row, or for an end of the partition."""
    return catalyst.is_a(expression, _SPECIAL)


def bounds(catalyst: Catalyst, spec: Expr) -> list[Expr]:
    """What Spark computes of the order of a row, to see which other rows are in its frame; of what is no window over ranges, nothing."""
    c = catalyst
    if c.name(spec) != "WindowSpecDefinition" or not by_range(frame := spec.frameSpecification()):
        return []
    order = c.items(spec.orderSpec())
    ends = [each for each in (frame.lower(), frame.upper()) if len(order) == 1 and not is_special(c, each)]
    if not ends:
        return []
    with c.active():  # whether an addition throws, these expressions ask the session when they are made
        zone = str(c.jsession.sessionState().conf().sessionLocalTimeZone())
        made = [c.moved(order[0], each, zone) for each in ends]
    return [each for each in made if each is not None]


def moving(catalyst: Catalyst, node: Node) -> bool:
    """Whether the frames of a window begin or end at what is computed of a row."""
    if node.nodeName() != "Window":
        return False
    columns = catalyst.items(node.windowExpressions())
    return any(bounds(catalyst, column.child().windowSpec()) for column in columns)
