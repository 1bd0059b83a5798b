"""Parts: groups, windows and limits of which a lineage holds a part, where an aggregate above takes up what comes out of them.

A part of a group has another sum than the whole. If a condition asks for that sum, the part may pass where the whole did not,
and a count above is one more. A lineage holds parts where a relation is read elsewhere too, where a row has a part in several
groups, and of what windows read besides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from bigdebug.spark.sql.catalyst import Catalyst, Expr
from bigdebug.spark.sql.far import Far
from bigdebug.spark.sql.joins import kind_of_join
from bigdebug.spark.sql.leaves import Leaf
from bigdebug.spark.sql.levels import BOUNDARIES
from bigdebug.spark.sql.misses import sides_missing
from bigdebug.spark.sql.presence import Presence
from bigdebug.spark.sql.reading import PlanOperator
from bigdebug.spark.sql.steps import Found, Steps
from bigdebug.trace.names import NOTHING, Names, merged, without

_SPREADING = {"Join", "AsOfJoin", "Generate", "Expand"}


class Parts:
    """The groups, windows and limits of a query that have to be whole in a lineage, if it has a part of them."""

    def __init__(self, catalyst: Catalyst, root: PlanOperator, leaves: Mapping[int, Leaf], steps: Steps) -> None:
        self._catalyst = catalyst
        self._leaves = leaves
        self._steps = steps
        self._parents = {child.id: operator for operator in root for child in operator.parents}
        often = Counter(leaf.dataset for leaf in leaves.values())
        self._deciding: list[tuple[PlanOperator, PlanOperator]] = []
        for operator in root:
            if operator.name in BOUNDARIES and not operator.draws and self._splits(operator, often):
                above = self._decided_by(operator)
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
            if isinstance(names, Far):
                yield {operator.id: names}
            elif len(more := without(names, known)):
                yield {operator.id: more}

    def close(self) -> None:
        """Find out of which indexes a part of another record cannot be made of what they hold: a job for each that is asked for it."""
        held: dict[str, Names] = {}
        for index in self._steps.indexes.values():
            for at, names in index.everything(self._leaves).items():
                held[self._leaves[at].dataset] = merged(held.get(self._leaves[at].dataset, NOTHING), names)
        presence = Presence(self._steps, self._leaves, lambda leaf: held.get(self._leaves[leaf].dataset, NOTHING), indexed=False)
        for operator, _ in self._deciding:
            known = self._steps.indexes.get(operator.id)
            if known is not None and not known.closed and not isinstance(names := presence.of(operator.id), Far):
                known.closed = not len(without(names, known.records))

    def _touched(self, operator: PlanOperator, above: PlanOperator, presence: Presence) -> Names:
        """The names of records that the lineage has a part of. What is one for all rows, it has in any case."""
        one = _is_one(operator)
        if not any(len(presence.of(o.id)) for o in _inside(above if one else operator) if o.id in self._leaves):
            return NOTHING
        return self._steps.names(*self._steps.rows(operator.id, None)) if one or operator.name == "Limit" else presence.of(operator.id)

    # ---- which count ------------------------------------------------------------------------------------------

    def _splits(self, operator: PlanOperator, often: Mapping[str, int]) -> bool:
        """Whether a lineage may have some rows of a record of this operator without the others."""
        if _is_one(operator):
            return True
        below = Counter(self._leaves[o.id].dataset for o in operator if o.id in self._leaves)
        return any(often[dataset] > times for dataset, times in below.items()) or spreads(self._steps, operator)

    def _decided_by(self, operator: PlanOperator) -> PlanOperator | None:
        """The level above, if what is computed here decides which rows it takes up; a row of its own needs no others."""
        computed, decides = self._computed(operator), operator.name not in ("Aggregate", "Window")
        below, above = operator, self._parents.get(operator.id)
        while above is not None:
            if below in above.subqueries:
                return below if decides and below is not operator else None
            if any(below is side for side in sides_missing(above)):
                # A row may be there for want of a match. Where nothing, or a limit, matched none `misses.py` takes all.
                if _is_one(operator) or (operator.name == "Limit" and kind_of_join(above).name == "LeftAnti"):
                    return None
                level = above.id if above.id in self._steps.levels else self._steps.segment(above.id)
                return None if level is None else self._steps.operator(level)
            if above.name in BOUNDARIES:
                return above if decides or self._asks(self._keys(above), computed) else None
            if above.name == "Project":
                computed |= {c.exprId().id() for c in self._catalyst.items(above.node.projectList()) if self._asks([c], computed)}
            elif above.name == "Union":
                pairs = zip(self._catalyst.items(below.node.output()), self._catalyst.items(above.node.output()))
                computed |= {after.exprId().id() for before, after in pairs if before.exprId().id() in computed}
            else:
                decides = decides or self._asks(self._catalyst.items(above.node.expressions()), computed)
            below, above = above, self._parents.get(above.id)
        return None

    def _computed(self, operator: PlanOperator) -> set[int]:
        """The ids of the columns whose values hang on all rows of a record."""
        if operator.name == "Window":
            columns = self._catalyst.items(operator.node.windowExpressions())
        elif operator.name == "Aggregate":
            columns = [  # in the normal form, keys are attributes
                c for c in self._catalyst.items(operator.node.aggregateExpressions())
                if (c.child() if c.nodeName() == "Alias" else c).nodeName() != "AttributeReference"
            ]
        else:
            columns = self._catalyst.items(operator.node.output())
        return {column.exprId().id() for column in columns}

    def _keys(self, operator: PlanOperator) -> list[Expr]:
        """The expressions by which a boundary tells what belongs together, or comes first."""
        node = operator.node
        if operator.name == "Aggregate":
            return self._catalyst.items(node.groupingExpressions())
        if operator.name == "Window":
            return [*self._catalyst.items(node.partitionSpec()), *self._catalyst.items(node.orderSpec())]
        return self._catalyst.items(node.expressions())

    def _asks(self, expressions: list[Expr], computed: set[int]) -> bool:
        return any(a.exprId().id() in computed for e in expressions for a in self._catalyst.items(e.references().toSeq()))


def _inside(operator: PlanOperator) -> Iterator[PlanOperator]:
    """An operator and what its rows are made of: no subqueries."""
    for child in operator.inputs:
        yield from _inside(child)
    yield operator


def spreads(steps: Steps, operator: PlanOperator) -> bool:
    """Whether a source row may have a part in several rows of an operator: then some of theirs come together as others."""
    return any(
        o.name in _SPREADING or (o.name in BOUNDARIES and steps.peers(o.id) is not None) for o in _inside(operator)
    )


def _is_one(operator: PlanOperator) -> bool:
    """Whether there is one record, also of no rows."""
    return operator.name == "Aggregate" and bool(operator.node.groupingExpressions().isEmpty())
