"""Comparing: values of a query in a form in which those that Spark takes for equal have equal bits.

Names are compared here too, in Arrow, where 0.0 is not -0.0, and 'Ann' is not 'ann' under any collation.
"""

from __future__ import annotations

import re

from bigdebug.errors import UntraceableError
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr
from bigdebug.spark.sql.plans.kinds import has_floating
from bigdebug.spark.sql.plans.reading import PlanOperator

_BOUNDED = re.compile(r"(VAR)?CHAR\(\d+\)")

_NEGATIVE = re.compile(r"DECIMAL\((\d+),-(\d+)\)")

_DIGITS = 38
"""Of Spark's longest decimals."""

_SESSION = "spark.sessionWindow"
"""What Spark notes about the column of a session_window()."""


def comparable(catalyst: Catalyst, expression: Expr) -> Expr:
    """The expression in such a form; itself if its values have it."""
    kind = expression.dataType().sql()
    if "CHAR(" in kind:  # Arrow does not know them; their values are text
        return catalyst.cast(expression, _BOUNDED.sub("STRING", kind))
    if "MAP<" in kind:
        raise UntraceableError(
            f"{expression.sql()} is a {kind.lower()}, and nothing is found again by a map",
            remedy="Group or partition by array_sort(map_entries(...)).",
        )
    if ",-" in kind:  # SQL has no name for their type; they are whole numbers
        known = _NEGATIVE.fullmatch(kind)
        digits = sum(map(int, known.groups())) if known else _DIGITS + 1
        if digits > _DIGITS:
            raise UntraceableError(
                f"{expression.sql()} is a {kind.lower()}, and such decimals of a negative scale are not found again",
                remedy="Cast it, or group, order or partition by its parts.",
            )
        return catalyst.cast(expression, f"DECIMAL({digits},0)")
    if kind.startswith(("INTERVAL YEAR", "INTERVAL MONTH")):  # Arrow does not know them; months are whole numbers
        return catalyst.cast(expression, "INTERVAL MONTH", "INT")
    if "INTERVAL YEAR" in kind or "INTERVAL MONTH" in kind:
        raise UntraceableError(
            f"{expression.sql()} is a {kind.lower()}, and intervals of months inside of others are not found again",
            remedy="Group, order or partition by its parts.",
        )
    if "COLLATE" in kind:
        if not kind.startswith("STRING"):
            raise UntraceableError(
                f"{expression.sql()} is a {kind.lower()}, and what is collated in it is not compared by its bits",
                remedy="Group, order or partition by its parts.",
            )
        return catalyst.collation_key(expression)
    return catalyst.rule("NormalizeFloatingNumbers").normalize(expression) if has_floating(kind) else expression


def group_of(catalyst: Catalyst, operator: PlanOperator) -> list[Expr]:
    """What says of a row in which group of an aggregate it is; where there is but one, True."""
    keys = catalyst.items(operator.node.groupingExpressions())
    for key in keys:
        if key.nodeName() == "AttributeReference" and key.metadata().contains(_SESSION):
            raise UntraceableError(
                f"{operator} groups by session_window(), and how far a session goes is known only once all its rows are there",
                remedy="Number the sessions with lag() and a running sum(), and group by the number.",
            )
    return [comparable(catalyst, key) for key in keys] or [catalyst.literal(True, "boolean")]
