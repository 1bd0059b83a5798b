"""Reused: plans that Spark computes once, though a query has them several times.

It runs a subquery once for all that ask the same one, and so it does the first half of an aggregate, with the shuffle behind it: who else needs
these groups reads what was written. A row that throws there throws once, and is told once.
"""

from __future__ import annotations

from collections.abc import Sequence

from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Node


class Reused:
    """Of the plans in a query that were come to, those that are not computed again; plans that are ``shared`` are not, wherever they are read."""

    def __init__(self, catalyst: Catalyst, shared: Sequence[Node]) -> None:
        self._shared = shared
        conf = catalyst.jsession.sessionState().conf()
        self._subqueries = bool(conf.subqueryReuseEnabled())
        self._exchanges = bool(conf.exchangeReuseEnabled())
        self._parts: list[tuple[Node, int]] = []
        self._values: list[tuple[Node, int]] = []

    def end(self, plan: Node) -> int | None:
        """Where one ends that gives the rows of this plan, under other names or its own; None if this is to be computed."""
        groups = self._groups(plan)
        return next((end for known, end in self._parts if (plan.sameResult(known) if groups else plan.equals(known))), None)

    def ends(self, plan: Node, end: int) -> None:
        """Keeps where a plan ends, if its rows may be read again."""
        if self._groups(plan) or any(plan.equals(each) for each in self._shared):
            self._parts.append((plan, end))

    def value(self, subquery: Node) -> int | None:
        """Where one ends that gives the value of this subquery."""
        return next((end for known, end in self._values if subquery.sameResult(known)), None)

    def has_value(self, subquery: Node, end: int) -> None:
        """Keeps where a subquery ends."""
        if self._subqueries:
            self._values.append((subquery, end))

    def _groups(self, plan: Node) -> bool:
        return self._exchanges and bool(plan.nodeName() == "Aggregate")
