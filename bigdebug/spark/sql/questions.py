"""Questions about one query: which records of a level were made of which below it, and the other way around."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import pyarrow as pa

from bigdebug.graph import OperatorGraph
from bigdebug.spark.sql.catalyst import Catalyst, Node
from bigdebug.spark.sql.keys import distinct, restricted
from bigdebug.spark.sql.leaves import Leaf, leaf_of
from bigdebug.spark.sql.procedures import Association, Procedures, levels_of
from bigdebug.spark.sql.reading import PlanOperator, graph_of, read

Found = Mapping[int, Any]
"""Names of records, by level: an Arrow array of rids at a source, of structs elsewhere."""


class Questions:
    """Answers from the plan of a query; reads it when first asked."""

    def __init__(self, catalyst: Catalyst, plan: Node) -> None:
        self.catalyst = catalyst
        self._plan = plan
        self._associations: dict[int, Association] = {}

    # ---- the query --------------------------------------------------------------------------------------------

    @cached_property
    def root(self) -> PlanOperator:
        return read(self.catalyst, self._plan)

    @cached_property
    def operators(self) -> dict[int, PlanOperator]:
        return {operator.id: operator for operator in self.root}

    @cached_property
    def leaves(self) -> dict[int, Leaf]:
        """The sources, by operator."""
        found = {}
        for operator in self.root:
            if not operator.inputs and (leaf := leaf_of(self.catalyst, operator)) is not None:
                found[operator.id] = leaf
        return found

    @cached_property
    def graph(self) -> OperatorGraph:
        return graph_of(self.root, {i: leaf.dataset for i, leaf in self.leaves.items()})

    @cached_property
    def levels(self) -> frozenset[int]:
        return levels_of(self.root)

    @cached_property
    def subqueries(self) -> frozenset[int]:
        """The results of scalar subqueries: one row each."""
        return frozenset(s.id for operator in self.root for s in operator.subqueries)

    @cached_property
    def procedures(self) -> Procedures:
        return Procedures(self.catalyst, self.leaves, self.levels)

    # ---- steps ------------------------------------------------------------------------------------------------

    def chosen(self, level: int, predicate: Any) -> Any:
        """The names of a level's records that satisfy a condition on its columns; of all, if None."""
        plan, name = self.procedures.exposed(self.operators[level])
        frame = self.catalyst.frame(plan)
        if predicate is not None:
            frame = frame.filter(predicate)
        return distinct(frame.select(self.catalyst.column(name).alias("name")).toArrow()["name"])

    def association(self, level: int) -> Association:
        if level not in self._associations:
            self._associations[level] = self.procedures.association(self.operators[level])
        return self._associations[level]

    def back(self, level: int, names: Any) -> Found:
        """The records of the levels right below that those of ``level`` were made of."""
        known = self.association(level)
        plan = known.plan if names is None or level in self.subqueries else restricted(self.catalyst, known.plan, known.parts, names)
        return self._names(plan, known)

    def _names(self, plan: Node, known: Association) -> Found:
        columns = [self.catalyst.column(name.column).alias(f"n{i}") for i, name in enumerate(known.names)]
        table: pa.Table = self.catalyst.frame(plan).select(*columns).toArrow()
        return {name.level: distinct(table[f"n{i}"]) for i, name in enumerate(known.names)}
