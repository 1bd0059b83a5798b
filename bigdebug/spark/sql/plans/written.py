"""Written: where in the user's program a part of a query stands."""

from __future__ import annotations

from bigdebug.spark.sql.plans.expressions import Node

_PIECE = 60
"""Characters of SQL that tell it."""

_LOOKED_AT = 5
"""Expressions of a node that are asked."""


def place_of(node: Node) -> str:
    """The piece of SQL, or the line of Python, that a node was made of."""
    origin = node.origin()
    if origin.line().isDefined() and origin.sqlText().isDefined():
        begin, end = origin.startIndex(), origin.stopIndex()
        piece = origin.sqlText().get()[begin.get() if begin.isDefined() else 0: end.get() + 1 if end.isDefined() else None]
        return f" (line {origin.line().get()}: {' '.join(piece.split())[:_PIECE]})"
    expressions = node.expressions()
    for i in range(min(expressions.length(), _LOOKED_AT)):
        context = expressions.apply(i).origin().context()
        if context is not None and context.contextType().toString() == "DataFrame" and ".py:" in context.callSite():
            return f" (at {context.callSite()})"
    return ""
