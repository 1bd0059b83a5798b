"""Levels: the operators of a query at which records are named."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from bigdebug.spark.sql.groups import COGROUPED, GROUPED
from bigdebug.spark.sql.partitions import PARTITIONED
from bigdebug.spark.sql.plans.domains import DOMAIN
from bigdebug.spark.sql.plans.reading import PlanOperator

OPAQUE = GROUPED | COGROUPED | PARTITIONED
"""Functions of the user over many rows at once. A name of theirs says which rows these were, and which of the results it is."""

BOUNDARIES = {"Aggregate", "Limit", "Window", DOMAIN, *OPAQUE}
"""Operators whose records are named by themselves: what they do depends on how many rows they get, or hides which."""


_COUNTING = {"Limit", "Window"}
"""Boundaries that give rows as they take them, each for itself, and name them by those that they take."""

_MULTIPLYING = {"Generate", "Expand", *OPAQUE}
"""Operators that make several rows of the same records."""


class Levels(NamedTuple):
    """The operators at which records are named; at the ``numbered`` ones equal records that were made of the same have a number besides."""

    every: frozenset[int]
    numbered: frozenset[int]


def levels_of(root: PlanOperator, sources: Iterable[int], others: Iterable[int] = ()) -> Levels:
    """Sources, boundaries, the result, the results of subqueries, what makes many rows of one below a boundary that counts, and others."""
    found = {root.id, *sources}
    for operator in root:
        found.update(s.id for s in operator.subqueries)
        if operator.name in BOUNDARIES or operator.kept is not None:
            found.add(operator.id)
    numbered = frozenset(n for o in root if o.name in _COUNTING for n in _many_of_one(o.inputs, found))
    return Levels(numbered.union(found, others), numbered)


def _many_of_one(operators: Iterable[PlanOperator], levels: Collection[int]) -> Iterator[int]:
    """The topmost operators of a segment that give several rows made of the same."""
    for operator in operators:
        if _makes_many(operator) or (operator.name == "Union" and _ends(operator, levels)[1] > 1):
            yield operator.id
        elif operator.id not in levels:
            yield from _many_of_one(operator.inputs, levels)


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
    if operator.name in BOUNDARIES:
        return operator.name in OPAQUE
    named, constant = _ends(operator, levels)
    return not named or constant > 1 or _multiplies(operator, levels)


def _ends(operator: PlanOperator, levels: Collection[int]) -> tuple[int, int]:
    """How many ends the segment of a level has below that name its rows, and how many that do not: SELECT 1."""
    below = [(1, 0) if child.id in levels else _ends(child, levels) for child in operator.inputs]
    return (sum(named for named, _ in below), sum(constant for _, constant in below)) if operator.inputs else (0, 1)


def _multiplies(operator: PlanOperator, levels: Collection[int]) -> bool:
    """Whether an operator, or one below it up to and with the next levels, makes several rows of the same."""
    if _makes_many(operator):
        return True
    return any(_multiplies(child, levels) for child in operator.inputs if child.id not in levels or _makes_many(child))


def _makes_many(operator: PlanOperator) -> bool:
    """Whether an operator makes several rows of the same: so does a sample that puts back what it drew."""
    return operator.name in _MULTIPLYING or (operator.name == "Sample" and bool(operator.node.withReplacement()))
