"""Deciding: whether what an operator computes decides which rows a level above takes up, and how it puts them together."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from bigdebug.spark.sql.joins import kind_of_join
from bigdebug.spark.sql.levels import BOUNDARIES
from bigdebug.spark.sql.misses import sides_missing
from bigdebug.spark.sql.plans.arrivals import by_places
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr
from bigdebug.spark.sql.plans.reading import PlanOperator
from bigdebug.spark.sql.steps import Steps


class Deciding:
    """What hangs on the columns of one query."""

    def __init__(self, catalyst: Catalyst, root: PlanOperator, steps: Steps) -> None:
        self._catalyst = catalyst
        self._steps = steps
        self._parents = {child.id: operator for operator in root for child in operator.parents}

    def by_boundary(self, operator: PlanOperator) -> PlanOperator | None:
        """The level above a boundary that hangs on how many rows its records are made of; None if a row more is a row of its own."""
        return self._above(operator, self._computed(operator), operator.name not in ("Aggregate", "Window"))

    def by_subquery(self, holder: PlanOperator) -> PlanOperator | None:
        """The level above an operator that hangs on what its subqueries give."""
        made = self._catalyst.items(getattr(holder.node, _MADE[holder.name])()) if holder.name in _MADE else []
        return self._above(holder, {c.exprId().id() for c in made if self._catalyst.asks_plan(c)}, decides=holder.name not in _MADE)

    def path(self, operator: PlanOperator, above: PlanOperator) -> Iterator[tuple[PlanOperator, PlanOperator]]:
        """The operators on the way up to a level, each with what is above it."""
        below = operator
        while below.id != above.id and (parent := self._parents.get(below.id)) is not None:
            yield below, parent
            below = parent

    def by_columns(self, operator: PlanOperator, columns: Collection[Expr]) -> PlanOperator | None:
        """The level above an operator that hangs on some of its columns."""
        return self._above(operator, {column.exprId().id() for column in columns}, decides=False)

    def _above(self, operator: PlanOperator, computed: set[int], decides: bool) -> PlanOperator | None:
        below, above, ordered = operator, self._parents.get(operator.id), False
        while above is not None:
            if below in above.subqueries:
                return below if decides and (below is not operator or operator.name not in BOUNDARIES) else None
            if any(below is side for side in sides_missing(above)):
                if decides or self._asks(self._compared(above, below), computed):
                    return self._missed(operator, below, above)
                if kind_of_join(above).name in ("LeftAnti", "ExistenceJoin"):
                    return None  # only whether there is a match counts, and that hangs on other columns
            elif above.name in BOUNDARIES:
                if decides or (ordered and above.name == "Limit") or self._asks(self._keys(above), computed):
                    return above
                if above.name not in ("Window", "Limit"):
                    return None
            if above.name in _MADE:
                columns = self._catalyst.items(getattr(above.node, _MADE[above.name])())
                computed |= {c.exprId().id() for c in columns if self._asks([c], computed)}
            elif above.name in ("Union", "Expand"):  # under new ids; how many rows there are hangs on no column
                places = by_places(self._catalyst, above, [below])
                computed |= {column.exprId().id() for column, *made in places if self._asks(made, computed)}
            elif above.name == "Sort":
                ordered = ordered or self._asks(self._catalyst.items(above.node.order()), computed)
            elif above.name not in ("Limit", *_REPARTITIONS):
                decides = decides or self._asks(self._catalyst.expressions(above.node), computed)
            below, above = above, self._parents.get(above.id)
        return None

    def _missed(self, operator: PlanOperator, side: PlanOperator, join: PlanOperator) -> PlanOperator | None:
        """The level of a join of which a row may be there for want of a match; None where `misses.py` takes all of the other side."""
        if operator.name == "Limit" and kind_of_join(join).name == "LeftAnti" and any(s.repeats == side.id for s in join.subqueries):
            return None
        level = join.id if join.id in self._steps.levels else self._steps.segment(join.id)
        return None if level is None else self._steps.operator(level)

    def _compared(self, join: PlanOperator, side: PlanOperator) -> list[Expr]:
        """The expressions by which rows of a side match: of an EXCEPT ALL all its columns."""
        return self._catalyst.items(side.node.output() if join.name == "Union" else join.node.expressions())

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
        return self._catalyst.expressions(node)

    def _asks(self, expressions: Collection[Expr], computed: set[int]) -> bool:
        return any(a.exprId().id() in computed for e in expressions for a in self._catalyst.items(e.references().toSeq()))


_MADE = {"Project": "projectList", "Window": "windowExpressions"}
"""Where operators have the expressions of their new columns."""

_REPARTITIONS = {"Repartition", "RepartitionByExpression", "RebalancePartitions"}
"""Operators that decide where a row is, and nothing about it."""
