"""Parts: groups, windows and limits of which a lineage holds a part, where an aggregate above takes up what comes out of them.

A part of a group has another sum than the whole. If a condition asks for that sum, the part may pass where the whole did not,
and a count above is one more. A lineage holds parts where a relation is read elsewhere too, where a row has a part in several
groups, and of what windows read besides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from bigdebug.spark.sql.deciding import Deciding
from bigdebug.spark.sql.far import Far
from bigdebug.spark.sql.joins import kind_of_join
from bigdebug.spark.sql.leaves import Leaf
from bigdebug.spark.sql.levels import BOUNDARIES, OPAQUE
from bigdebug.spark.sql.limits import cut_of
from bigdebug.spark.sql.misses import is_one
from bigdebug.spark.sql.presence import Presence
from bigdebug.spark.sql.reading import PlanOperator
from bigdebug.spark.sql.steps import Found, Steps
from bigdebug.trace.names import NOTHING, Names, without

_ONE_EACH = {"LeftSemi", "LeftAnti", "ExistenceJoin", "LeftSingle"}
"""Joins that give a row on their left once at most."""


class Parts:
    """The groups, windows and limits of a query that have to be whole in a lineage, if it has a part of them."""

    def __init__(self, root: PlanOperator, leaves: Mapping[int, Leaf], steps: Steps, deciding: Deciding) -> None:
        self._leaves = leaves
        self._steps = steps
        self._deciding: list[tuple[PlanOperator, PlanOperator]] = []
        for operator in root:
            if operator.name in BOUNDARIES and not operator.draws and self._splits(operator):
                above = deciding.by_boundary(operator)
                self._deciding += [] if above is None else [(operator, above)]

    def __bool__(self) -> bool:
        return bool(self._deciding)

    def needed(self, visited: Mapping[int, Names], presence: Presence) -> Iterator[Found]:
        """Records to be traced whole; ``visited`` are the names that were, ``presence`` tells which others come out."""
        for operator, above in self._deciding:
            known = visited.get(operator.id, NOTHING)
            if known is None or not self._steps.is_reached(above.id, visited):
                continue
            names = self._touched(operator, above, presence)
            if names is not None and len(names) <= self._room(operator, above):
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
        for operator in (each for each, _ in self._deciding if not _asked_whole(each)):
            known = self._steps.indexes.get(operator.id)
            if known is not None and not known.closed and not isinstance(names := presence.of(operator.id), Far):
                known.closed = not len(without(names, known.records))

    def _touched(self, operator: PlanOperator, above: PlanOperator, presence: Presence) -> Names:
        """The names of records that the lineage has a part of. What is one for all rows, it has in any case."""
        one = is_one(operator)
        if not any(len(presence.of(o.id)) for o in (above if one else operator).inside() if o.id in self._leaves):
            return NOTHING
        return self._steps.names(*self._steps.rows(operator.id, None)) if _asked_whole(operator) else presence.of(operator.id)

    def _splits(self, operator: PlanOperator) -> bool:
        """Whether a lineage may have some rows of a record of this operator without the others."""
        return is_one(operator) or read_twice(self._leaves, operator) or spreads(self._steps, operator)


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
