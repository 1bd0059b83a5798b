"""Joins: what each kind does with rows for which there is no match."""

from __future__ import annotations

from typing import NamedTuple

from bigdebug.errors import UntraceableError
from bigdebug.spark.sql.plans.reading import PlanOperator


class JoinKind(NamedTuple):
    """``lonely`` are the inputs of which a row is left out, or stands alone, for want of a match; ``missing`` those of which a row
    of the join may have nothing, and be there for that reason. ``outer`` are those whose columns are NULL then.
    """

    name: str
    lonely: tuple[int, ...] = ()
    missing: tuple[int, ...] = ()
    outer: tuple[int, ...] = ()


_KINDS = {
    kind.name: kind for kind in (
        JoinKind("Inner"),
        JoinKind("Cross"),
        JoinKind("LeftSemi"),
        JoinKind("LeftOuter", (0,), (1,), (1,)),
        JoinKind("LeftSingle", (0,), (1,), (1,)),  # of a correlated scalar subquery: more than one match is an error
        JoinKind("RightOuter", (1,), (0,), (0,)),
        JoinKind("FullOuter", (0, 1), (0, 1), (0, 1)),
        JoinKind("LeftAnti", (0,), (1,)),
        JoinKind("ExistenceJoin", (0,), (1,)),
    )
}

_NONE = JoinKind("")


def kind_of_join(operator: PlanOperator) -> JoinKind:
    """The kind of a join; of another operator, one of no name. Raises UntraceableError for a join of which nothing is known here."""
    if operator.name == "AsOfJoin":  # other rows may be nearer, also where one was the nearest
        return JoinKind("AsOfJoin", (0,), (1,), (1,) if operator.node.joinType().toString() == "LeftOuter" else ())
    if operator.name != "Join":
        return _NONE
    name = str(operator.node.joinType().toString()).split("(")[0]
    if name not in _KINDS:
        raise UntraceableError(
            f"{operator} is a {name} join, of which bigdebug does not know what it leaves out",
            remedy="Trace the DataFrames before and after it on their own.",
        )
    return _KINDS[name]
