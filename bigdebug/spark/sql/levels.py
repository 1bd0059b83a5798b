"""Levels: the operators of a query at which records are named."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from bigdebug.spark.sql.domains import DOMAIN
from bigdebug.spark.sql.groups import COGROUPED, GROUPED
from bigdebug.spark.sql.partitions import PARTITIONED
from bigdebug.spark.sql.reading import PlanOperator

OPAQUE = GROUPED | COGROUPED | PARTITIONED
"""Functions of the user over many rows at once. A name of theirs says which rows these were, and which of the results it is."""

BOUNDARIES = {"Aggregate", "Limit", "Window", DOMAIN, *OPAQUE}
"""Operators whose records are named by themselves: what they do depends on how many rows they get, or hides which."""


def levels_of(root: PlanOperator, sources: Iterable[int], others: Iterable[int] = ()) -> frozenset[int]:
    """Sources, boundaries, the result, the results of subqueries, and others."""
    found = {root.id, *sources, *others}
    for operator in root:
        found.update(s.id for s in operator.subqueries)
        if operator.name in BOUNDARIES or operator.kept is not None:
            found.add(operator.id)
    return frozenset(found)


def level_above(root: PlanOperator, operator: int, levels: Collection[int]) -> int | None:
    """The level whose records are made of those of an operator; None above the result."""
    below = operator
    for other in root:  # from the sources on: parents come later
        if below in {parent.id for parent in other.parents}:
            below = other.id
            if other.id in levels:
                return other.id
    return None


def is_crowded(operator: PlanOperator, levels: Collection[int]) -> bool:
    """Whether several records of a level that is no source are made of the same: their names say besides what is in them."""
    if operator.name in OPAQUE:
        return True
    if operator.name in BOUNDARIES:
        return False
    named, constant = _ends(operator, levels)
    return not named or constant > 1 or _multiplies(operator, levels)


def _ends(operator: PlanOperator, levels: Collection[int]) -> tuple[int, int]:
    """How many ends the segment of a level has below that name its rows, and how many that do not: SELECT 1."""
    below = [(1, 0) if child.id in levels else _ends(child, levels) for child in operator.inputs]
    return (sum(named for named, _ in below), sum(constant for _, constant in below)) if operator.inputs else (0, 1)


def _multiplies(operator: PlanOperator, levels: Collection[int]) -> bool:
    """Whether an operator, or one below it up to the next levels, makes several rows of one."""
    return operator.name in ("Generate", "Expand") or any(
        _multiplies(child, levels) for child in operator.inputs if child.id not in levels
    )
