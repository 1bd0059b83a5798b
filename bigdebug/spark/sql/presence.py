"""Presence: which records of a level come out, whole or in part, where the sources hold a lineage and no more."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

import pyarrow as pa

from bigdebug.spark.sql.extended import Name
from bigdebug.spark.sql.far import Far
from bigdebug.spark.sql.groups import COGROUPED
from bigdebug.spark.sql.joins import kind_of_join
from bigdebug.spark.sql.keys import restricted
from bigdebug.spark.sql.leaf import Leaf
from bigdebug.spark.sql.misses import is_one
from bigdebug.spark.sql.plans.domains import DOMAIN
from bigdebug.spark.sql.plans.expressions import Node
from bigdebug.spark.sql.plans.reading import PlanOperator
from bigdebug.spark.sql.records import Found
from bigdebug.spark.sql.steps import Steps
from bigdebug.trace.names import NOTHING, Names, merged, or_none


def stands(steps: Steps, leaves: Mapping[int, Leaf], operator: PlanOperator) -> bool:
    """Whether rows may come out of an operator whatever the sources hold."""
    return Presence(steps, leaves, {}).gives(operator)


class Presence:
    """Those of one lineage. ``found`` is what it has at each source; it may grow, and what hangs on it is found again then.

    Indexes are asked first, if they are to be.
    """

    def __init__(self, steps: Steps, leaves: Mapping[int, Leaf], found: Found, indexed: bool = True) -> None:
        self._steps = steps
        self._by_index = indexed
        self._leaves = leaves
        self._sources = found
        self._held_by_name: dict[str, tuple[int, Names]] = {}
        self._found: dict[int, tuple[int, Names]] = {}

    def of(self, level: int) -> Names:
        """The names of records of a level with a witness of which all is there: other rows of theirs may not be."""
        if level in self._leaves:
            return self._held(level)
        size = sum(len(self._held(o.id)) for o in self._steps.operator(level) if o.id in self._leaves)
        if level not in self._found or self._found[level][0] < size:
            self._found[level] = size, self._made(level)
        return self._found[level][1]

    def gives(self, operator: PlanOperator) -> bool:
        """Whether any rows may come out of an operator: of what was made of nothing, some do in any case."""
        if operator.id in self._leaves:
            return self.is_given(operator.id) or bool(len(self._held(operator.id)))
        if is_one(operator) or not operator.inputs:
            return True
        sides, lonely = [self.gives(child) for child in operator.inputs], kind_of_join(operator).lonely
        return any(sides[at] for at in lonely) if lonely else any(sides) if operator.name in ("Union", *COGROUPED) else all(sides)

    def _held(self, leaf: int) -> Names:
        """What the lineage has of a source, at whichever place."""
        dataset = self._leaves[leaf].dataset
        parts = [names for at, names in self._sources.items() if self._leaves[at].dataset == dataset]
        size, known = sum(map(len, parts)), self._held_by_name.get(dataset)
        if known is None or known[0] < size:
            known = self._held_by_name[dataset] = size, reduce(merged, parts, NOTHING)
        return known[1]

    def _made(self, level: int) -> Names:
        steps, c = self._steps, self._steps.catalyst
        if is_one(steps.operator(level)):
            return steps.every(level)
        known, optional = steps.association(level), self.optional(steps.operator(level))
        names = [name for name in known.names if not self.is_given(name.level)]
        if not names:
            return steps.existing(level, steps.names(known.plan, c.struct(known.told)), indexed=False)
        needed = [name for name in names if name.level not in optional]
        if needed and (found := self._indexed(level, {name.level: self.of(name.level) for name in needed})) is not None:
            return found
        plan = known.plan
        for name in needed:
            plan = self._having(plan, name)
        if needed:
            return steps.existing(level, steps.names(plan, c.struct(known.told)), indexed=False)
        found = NOTHING
        for name in names:
            one = c.filter(c.is_not_null(name.column), self._having(plan, name))
            made = steps.existing(level, steps.names(one, c.struct(known.told)), indexed=False)
            if isinstance(made, Far):
                return made
            found = merged(found, made)
        return found

    def _indexed(self, level: int, held: Found) -> Names:
        """As an index of the level knows; None if there is none, or it may lack a record that nothing above was made of."""
        steps, index = self._steps, self._steps.indexes.get(level)
        if not self._by_index or index is None or not index.answers(held, ahead=True):
            return None
        if any(names is None or isinstance(names, Far) for names in held.values()):
            return None
        taken = all(index.takes(at, names) for at, names in held.items())
        if index.whole or (taken and (index.closed or all(steps.goes_once(at, level) for at in held))):
            return steps.existing(level, index.made_of(held), indexed=True)
        return None

    def _having(self, plan: Node, name: Name) -> Node:
        """The rows of a plan of which a record that is there is a part, or none of that level: of a union, each has one side's."""
        names = self.of(name.level)
        if names is None or isinstance(names, Far):
            return plan
        if not pa.types.is_struct(names.type):
            return restricted(self._steps.catalyst, plan, [name.column], [or_none(names)])
        c = self._steps.catalyst
        there, fields = c.is_not_null(name.column), [c.field(name.column, i) for i in range(names.type.num_fields)]
        return restricted(c, plan, [there, *fields], [pa.array([True] * len(names) + [False]), *map(or_none, names.flatten())])

    def is_given(self, level: int) -> bool:
        """Whether records of a level are there whatever the sources hold: of subqueries, of the values that one is computed for, of VALUES."""
        if level in self._leaves and self._leaves[level].fixed:
            return True
        return level in self._steps.subqueries or self._steps.operator(level).name == DOMAIN

    def optional(self, operator: PlanOperator) -> frozenset[int]:
        """What a row can do without: one that had a match in an outer join is there also where the match is not."""
        sides = [operator.inputs[at] for at in kind_of_join(operator).missing]
        within = [self.optional(child) for child in operator.inputs if child.id not in self._steps.levels]
        return frozenset(o.id for side in sides for o in side).union(*within)
