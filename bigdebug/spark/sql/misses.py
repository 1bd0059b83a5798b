"""Misses: sides of joins of which a row depends on all, since it is there because none of theirs matched.

Mostly a miss needs nothing of the other side: fewer rows match no more. It does where fewer rows make others, of rows that the
lineage need not have a part of: a count over nothing is 0, and a limit over a part of its rows lets others in, where it has a part:
if the relation is read elsewhere too, for sources are replaced by name. Groups and windows of which there is a part,
`parts.py` makes whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from bigdebug.spark.sql.joins import kind_of_join
from bigdebug.spark.sql.leaves import leaves_of
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.reading import PlanOperator, read_again


def with_misses(catalyst: Catalyst, root: PlanOperator) -> PlanOperator:
    """The query with such a side as a subquery of its join: read once more, as a whole."""
    found = _Misses(catalyst, root)
    return _numbered(found.added(root)) if found.sides else root


class _Misses:
    def __init__(self, catalyst: Catalyst, root: PlanOperator) -> None:
        self._ids = count(1_000_000)
        self.sides: dict[int, list[PlanOperator]] = {}
        suspects = [(operator, side) for operator in root for side in sides_missing(operator) if any(map(_may_remake, side))]
        if suspects:
            self._datasets = {operator: leaf.dataset for operator, leaf in leaves_of(catalyst, root).items()}
            self._often = Counter(self._datasets.values())
        for operator, side in suspects:
            if self._makes_others(side):
                self.sides.setdefault(operator.id, []).append(side)

    def added(self, operator: PlanOperator) -> PlanOperator:
        inputs = tuple(self.added(child) for child in operator.inputs)
        subqueries = [self.added(child) for child in operator.subqueries]
        for side in self.sides.get(operator.id, ()):
            again = read_again(side, self._ids)
            subqueries.append(self.added(again))
        return replace(operator, inputs=inputs, subqueries=tuple(subqueries))

    def _makes_others(self, side: PlanOperator) -> bool:
        """Whether some of the rows below make other rows than all of them do."""
        inside = list(side.inside())
        below = Counter(self._datasets[o.id] for o in inside if o.id in self._datasets)
        elsewhere = any(self._often[dataset] > times for dataset, times in below.items())
        constant = any(not o.inputs and o.id not in self._datasets for o in inside)
        # What a subquery asks there counts only for rows that there are.
        return any(is_one(o) for o in inside) or ((elsewhere or constant) and any(map(_may_remake, side)))


def is_one(operator: PlanOperator) -> bool:
    """Whether an operator gives one record, also of no rows."""
    return operator.name == "Aggregate" and bool(operator.node.groupingExpressions().isEmpty())


def _may_remake(operator: PlanOperator) -> bool:
    return operator.name == "Limit" or is_one(operator)


def sides_missing(operator: PlanOperator) -> Iterator[PlanOperator]:
    """The inputs of an operator of which a row may have nothing, and be there for that reason."""
    for at in (1,) if _subtracts(operator) else kind_of_join(operator).missing:
        yield operator.inputs[at]


def _subtracts(operator: PlanOperator) -> bool:
    """Whether it is the union that Spark makes of an EXCEPT ALL, with a count beside the rows of both sides."""
    return operator.name == "Union" and len(operator.inputs) == 2 and all(
        child.name == "Project" and _counts_as(child.node.projectList()) == times for child, times in zip(operator.inputs, (1, -1))
    )


def _counts_as(columns: Any) -> Any:
    """How often such a count has a row there, which it says in its first column."""
    first = None if columns.isEmpty() else columns.head()
    if first is None or first.nodeName() != "Alias" or first.name() != "vcol" or first.child().nodeName() != "Literal":
        return None
    return first.child().value()


def _numbered(root: PlanOperator) -> PlanOperator:
    """The same with ids that grow from the sources on."""
    ids = count(1)
    known: dict[int, int] = {}

    def numbered(operator: PlanOperator) -> PlanOperator:
        inputs = tuple(numbered(child) for child in operator.inputs)
        subqueries = tuple(numbered(child) for child in operator.subqueries)
        number = known[operator.id] = next(ids)
        repeats = None if operator.repeats is None else known[operator.repeats]
        return replace(operator, id=number, inputs=inputs, subqueries=subqueries, repeats=repeats)

    return numbered(root)
