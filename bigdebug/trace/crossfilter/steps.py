"""Steps: from totals that are known to those that are asked for, by rows that are added and rows that are taken away.

A brush that grows by a few marks costs the rows of these; one over most of the input costs the rows of the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyroaring import AbstractBitMap, BitMap, FrozenBitMap

from bigdebug.trace.crossfilter.associations import NO_MARKS, Association, everything, numbers
from bigdebug.trace.crossfilter.cubes import Totals
from bigdebug.trace.crossfilter.selection import Clauses


@dataclass(frozen=True)
class Known:
    """What a view shows under some clauses."""

    clauses: Clauses
    totals: Totals


@dataclass(frozen=True)
class Step:
    """The totals of ``start``, with the rows that one of the marks ``now`` of the view ``brushed`` took, and without those that only ``before`` took; of
    both only those rows count that the clauses ``rest`` let through.
    """

    start: Totals | None
    brushed: str
    before: AbstractBitMap
    now: AbstractBitMap
    rest: Clauses

    @property
    def added(self) -> AbstractBitMap:
        return self.now - self.before

    @property
    def removed(self) -> AbstractBitMap:
        return self.before - self.now

    def cost(self, association: Association, cubed: BitMap, cells: int) -> int:
        """The rows that it looks at, and the numbers that it adds up, where totals of marks are known."""
        changed = self.now ^ self.before
        if self.rest or not (association.disjoint or self.alone):
            cubed = BitMap()
        looked = int(association.sizes[numbers(changed - cubed)].sum())
        return looked * (1 + len(self.rest)) + changed.intersection_cardinality(cubed) * cells

    @property
    def alone(self) -> bool:
        """Whether it is about all rows of one mark."""
        return not self.before and len(self.now) == 1 and not self.rest


Choose = Callable[[Sequence[tuple[int, Step]]], Step]
"""Picks one of several steps to the same totals, given with their costs."""


def cheapest(priced: Sequence[tuple[int, Step]]) -> Step:
    return min(priced, key=lambda each: each[0])[1]


def steps(clauses: Clauses, known: list[Known], views: Mapping[str, Association], mergeable: bool, reversible: bool) -> Iterator[Step]:
    """All ways to the totals under ``clauses``, of which there is one at least."""
    for brushed, marks in clauses.items():
        yield Step(None, brushed, NO_MARKS, marks, _without(clauses, brushed))
    for each in known if mergeable else ():
        different = [view for view in {**clauses, **each.clauses} if clauses.get(view) != each.clauses.get(view)]
        if len(different) != 1:
            continue
        [brushed] = different
        if not views[brushed].disjoint and (brushed not in clauses or brushed not in each.clauses):
            continue  # its marks do not tell the rows that none of them took
        step = Step(each.totals, brushed, _let_through(each.clauses, brushed, views), _let_through(clauses, brushed, views), _without(clauses, brushed))
        if reversible or not step.removed:
            yield step


def _let_through(clauses: Clauses, view: str, views: Mapping[str, Association]) -> AbstractBitMap:
    return clauses[view] if view in clauses else everything(views[view])


def _without(clauses: Clauses, view: str) -> dict[str, FrozenBitMap]:
    return {name: marks for name, marks in clauses.items() if name != view}
