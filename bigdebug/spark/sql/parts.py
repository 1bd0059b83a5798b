"""Parts: groups, windows and limits of which a lineage holds a part, where an aggregate above takes up what comes out of them.

A part of a group has another sum than the whole. If a condition asks for that sum, the part may pass where the whole did not,
and a count above is one more. A lineage holds parts where a relation is read elsewhere too, where a row has a part in several
groups, and of what windows read besides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from bigdebug.spark.sql.deciding import Deciding
from bigdebug.spark.sql.far import Far
from bigdebug.spark.sql.joins import kind_of_join
from bigdebug.spark.sql.leaf import Leaf
from bigdebug.spark.sql.levels import BOUNDARIES, OPAQUE
from bigdebug.spark.sql.limits import cut_of
from bigdebug.spark.sql.misses import is_one
from bigdebug.spark.sql.plans.reading import PlanOperator
from bigdebug.spark.sql.presence import Presence, stands
from bigdebug.spark.sql.records import Found
from bigdebug.spark.sql.steps import Steps
from bigdebug.trace.names import NOTHING, Names, without

_ONE_EACH = {"LeftSemi", "LeftAnti", "ExistenceJoin", "LeftSingle"}
"""Joins that give a row on their left once at most."""


class _Part(NamedTuple):
    """What has to be whole: the records of ``operator``, where they come to the level ``above`` by way of ``holder``."""

    operator: PlanOperator
    holder: PlanOperator
    above: PlanOperator

    @property
    def is_subquery(self) -> bool:
        return self.holder is not self.operator


class Parts:
    """The groups, windows and limits of a query that have to be whole in a lineage, if it has a part of them; and its subqueries, if
    what they are asked for may come out.
    """

    def __init__(self, root: PlanOperator, leaves: Mapping[int, Leaf], steps: Steps, deciding: Deciding) -> None:
        self._leaves = leaves
        self._steps = steps
        self._deciding = deciding
        self._parts: list[_Part] = []
        for operator in root:
            if operator.name in BOUNDARIES and self._splits(operator) and (not operator.draws or steps.peers(operator.id) is not None):
                above = deciding.by_boundary(operator)
                self._parts += [] if above is None else [_Part(operator, operator, above)]
            asked = [subquery for subquery in operator.subqueries if subquery.repeats is None]
            if asked and (above := deciding.by_subquery(operator)) is not None:
                self._parts += [_Part(subquery, operator, above) for subquery in asked]

    def __bool__(self) -> bool:
        return bool(self._parts)

    def open(self, visited: Mapping[int, Names]) -> list[_Part]:
        """Those that a trace may have to go on with, which visited these names."""
        return [part for part in self._parts if not _is_whole(part, visited) and self._steps.is_reached(part.above.id, visited)]

    def needed(self, visited: Mapping[int, Names], presence: Presence) -> Iterator[Found]:
        """Records to be traced whole; ``visited`` are the names that were, ``presence`` tells which others come out."""
        for part in self.open(visited):
            operator, known = part.operator, visited.get(part.operator.id, NOTHING)
            if part.is_subquery:
                if self._comes(part, presence):
                    yield {operator.id: self._steps.every(operator.id) if operator.id in self._leaves else None}
                continue
            names = self._touched(part, presence)
            if names is not None and len(names) <= self._room(operator, part.above):
                continue
            if isinstance(names, Far) or isinstance(known, Far):
                yield {operator.id: names}
            elif len(more := without(names, known)):
                yield {operator.id: more}

    def _room(self, operator: PlanOperator, above: PlanOperator) -> int:
        """How many records may come out before one of them displaces another: as many as fit into a limit that nobody counts the rows of."""
        if above.name != "Limit" or self._steps.is_counted(above.id):
            return 0
        below = above.inputs[0]
        while below.id != operator.id:
            if below.name not in ("Project", "Filter", "Sort"):
                return 0
            below = below.inputs[0]
        cut = cut_of(above)
        return 0 if cut.skip or cut.end is None else cut.end

    def close(self) -> None:
        """Find out of which indexes a part of another record cannot be made of what they hold: a job for each that is asked for it."""
        found: dict[int, Names] = {}
        for index in self._steps.indexes.values():
            found.update(index.everything(self._leaves))  # a source is below one level
        presence = Presence(self._steps, self._leaves, found, indexed=False)
        for operator in (part.operator for part in self._parts if not part.is_subquery and not _asked_whole(part.operator)):
            known = self._steps.indexes.get(operator.id)
            if known is not None and not known.closed and not isinstance(names := presence.of(operator.id), Far):
                known.closed = not len(without(names, known.records))

    def _touched(self, part: _Part, presence: Presence) -> Names:
        """The names of records that the lineage has a part of, and that come up to where they count."""
        if not self._comes(part, presence):
            return NOTHING
        operator = part.operator
        return self._steps.every(operator.id) if _asked_whole(operator) else presence.of(operator.id)

    def _comes(self, part: _Part, presence: Presence) -> bool:
        """Whether any row comes up from the holder of a part to the level that hangs on it, as far as sources tell."""
        if not presence.gives(part.holder):
            return False
        for below, above in self._deciding.path(part.holder, part.above):
            kind = kind_of_join(above)
            others = [child for child in above.inputs if child is not below]
            alone = not kind.name or any(above.inputs[at] is below for at in kind.lonely)
            if not alone and not all(map(presence.gives, others)):
                return False
        return True

    def _splits(self, operator: PlanOperator) -> bool:
        """Whether a lineage may have some rows of a record of this operator without the others; or some are there of themselves."""
        return read_twice(self._leaves, operator) or spreads(self._steps, operator) or stands(self._steps, self._leaves, operator)


def _is_whole(part: _Part, visited: Mapping[int, Names]) -> bool:
    """Whether a trace that visited these names has all of it: if it has any, of a subquery, or of what is one record."""
    known = visited.get(part.operator.id, NOTHING)
    return known is None or ((part.is_subquery or is_one(part.operator)) and bool(len(known)))


def _asked_whole(operator: PlanOperator) -> bool:
    return is_one(operator) or operator.name == "Limit"


def read_twice(leaves: Mapping[int, Leaf], operator: PlanOperator) -> bool:
    """Whether the query reads something twice that rows of an operator are made of."""
    often = Counter(leaf.dataset for leaf in leaves.values())
    return any(often[leaves[o.id].dataset] > 1 for o in operator if o.id in leaves)


def spreads(steps: Steps, operator: PlanOperator) -> bool:
    """Whether a source row may have a part in several rows of an operator: then some of theirs come together as others."""
    kind = kind_of_join(operator).name
    if operator.name in ("Generate", "Expand", *OPAQUE) or (kind and kind not in _ONE_EACH):
        return True
    if operator.name in BOUNDARIES and steps.peers(operator.id) is not None:
        return True
    return any(spreads(steps, child) for child in operator.inputs[: 1 if kind else None])
