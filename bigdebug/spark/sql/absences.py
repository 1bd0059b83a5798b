"""Absences: rows that a join left out, and must go on leaving out when sources are replaced by a lineage.

A relation that a query reads twice is one name to the user. Replaced by its lineage, it brings to one place rows that belong to
the other, and what removed them there has to be in the lineage as well. So do rows that meet in a join, or come of one record,
where the lineage has them for the sake of others. Where a row is read once and goes one way, nothing is added.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from math import prod

import numpy as np
import pyarrow as pa

from bigdebug.errors import TooLargeError
from bigdebug.spark.sql.deciding import Deciding
from bigdebug.spark.sql.extended import Extended, Name
from bigdebug.spark.sql.far import Far
from bigdebug.spark.sql.joins import kind_of_join
from bigdebug.spark.sql.keys import restricted
from bigdebug.spark.sql.leaf import Leaf
from bigdebug.spark.sql.misses import sides_missing
from bigdebug.spark.sql.parts import Parts, read_twice, spreads
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.comparing import group_of
from bigdebug.spark.sql.plans.expressions import Node
from bigdebug.spark.sql.plans.reading import PlanOperator
from bigdebug.spark.sql.presence import Presence, stands
from bigdebug.spark.sql.records import Found
from bigdebug.spark.sql.steps import Steps
from bigdebug.spark.sql.walks import traced
from bigdebug.trace.names import NOTHING, Names, distinct, merged, or_none, places

_PAIRS = 10_000_000
"""Rows of a product that are looked through."""


class Absences:
    """The anti and outer joins of a query through which rows may come back where sources hold a lineage and no more."""

    def __init__(self, catalyst: Catalyst, root: PlanOperator, leaves: Mapping[int, Leaf], steps: Steps) -> None:
        self._catalyst = catalyst
        self._leaves = leaves
        self._naming = steps.naming
        self._steps = steps
        self._hidden = {o.id for operator in root for side in sides_missing(operator) for o in side}
        self._deciding = Deciding(catalyst, root, steps)
        self._joins = [join for join in root if kind_of_join(join).lonely and self._brings(join) and self._harms(join)]
        self._parts = Parts(root, leaves, steps, self._deciding)

    def _brings(self, join: PlanOperator) -> bool:
        """Whether a lineage may have rows of its inputs that it has for the sake of others."""
        sides = [join.inputs[at] for at in kind_of_join(join).lonely]
        return read_twice(self._leaves, join) or any(spreads(self._steps, side) or stands(self._steps, self._leaves, side) for side in sides)

    def _harms(self, join: PlanOperator) -> bool:
        """Whether rows that come back are more than rows of their own: counted next, or missed where others are for want of them."""
        level = self._steps.segment(join.id)
        if join.id in self._hidden:
            return True
        if level is None or not (self._steps.counts(level) or self._steps.is_counted(level)):
            return False
        if kind_of_join(join).name == "LeftAnti" or self._steps.operator(level).name != "Aggregate" or self._steps.is_counted(level):
            return True
        # A row that stands alone is in the group of its matches, unless what it has of the other side says which group, or whether one.
        columns, sides = self._catalyst.items(join.node.output()), [join.inputs[at] for at in kind_of_join(join).lonely]
        own = {column.exprId().id() for column in self._catalyst.items(sides[0].node.output())} if len(sides) == 1 else set()
        return self._deciding.by_columns(join, [column for column in columns if column.exprId().id() not in own]) is not None

    @property
    def possible(self) -> bool:
        """Whether there is such a join at all, or a part that is counted."""
        return bool(self._joins or self._parts)

    def close(self) -> None:
        """Find out what indexes know by themselves."""
        self._parts.close()

    def completed(self, visited: Mapping[int, Names], found: Found) -> Found:
        """The lineage ``found`` at the sources, with what removed rows of it; ``visited`` are the names on the way there."""
        if not self._joins and not self._parts.open(visited):
            return found
        visited, found = dict(visited), dict(_near(found))
        presence = Presence(self._steps, self._leaves, found)
        while True:
            before = sum(map(len, found.values()))
            for needed in chain(self._removed(visited, presence), self._parts.needed(visited, presence)):
                visited_more, more = traced(self._steps, _near(needed))
                for known, extra in ((visited, visited_more), (found, _near(more))):
                    for at, names in extra.items():
                        here = known.get(at, NOTHING)
                        known[at] = None if here is None or names is None else merged(*_near({0: here, 1: names}).values())
            if sum(map(len, found.values())) == before:
                break
        return found

    def _removed(self, visited: Mapping[int, Names], presence: Presence) -> Iterator[Found]:
        for join in self._joins:
            level = self._steps.segment(join.id)
            if join.id in self._hidden:
                yield from self._matching(join, self._naming.with_matched(join.id).within(join), presence)
            elif level is not None and self._steps.is_reached(level, visited):
                if kind_of_join(join).name == "LeftAnti":
                    yield self._removing(join, level, visited, presence)
                else:
                    yield from self._matching(join, self._of_groups(join, level, visited), presence)

    def _of_groups(self, join: PlanOperator, level: int, visited: Mapping[int, Names]) -> Extended:
        """The pairs that match; of the groups that were traced alone, if others are rows of their own and rows on the left say which."""
        matched, aggregate, names = self._naming.with_matched(join.id).within(join), self._steps.operator(level), visited.get(level)
        if names is None or isinstance(names, Far) or not len(names):
            return matched
        if aggregate.name != "Aggregate" or self._steps.is_counted(level) or kind_of_join(join).lonely != (0,):
            return matched
        own = {column.exprId().id() for column in self._catalyst.items(join.inputs[0].node.output())}
        keys = group_of(self._catalyst, aggregate)
        if any(key.nodeName() != "AttributeReference" or key.exprId().id() not in own for key in keys):
            return matched
        return matched._replace(plan=restricted(self._catalyst, matched.plan, keys, names.flatten()))

    def _matching(self, join: PlanOperator, extended: Extended, presence: Presence) -> Iterator[Found]:
        """The names of what rows of each side matched that the lineage holds: without it they would stand alone."""
        for side in (join.inputs[at] for at in kind_of_join(join).lonely):
            held = {operator.id for operator in side}
            pairs = prod(len(presence.of(name.level)) + 1 for name in extended.names if name.level in held and name.level in self._leaves)
            if pairs > _PAIRS and any(o.name == "Join" and o.node.condition().isEmpty() for o in side):
                continue  # a product, which only conditions above the join make small: as below a correlated scalar subquery
            optional = presence.optional(side)
            yield self._others(extended.plan, extended.names, held - optional, presence, {n.level for n in extended.names} - held)

    def _removing(self, join: PlanOperator, level: int, visited: Mapping[int, Names], presence: Presence) -> Found:
        """The names of right rows that removed left rows which the lineage holds; from the groups that were traced, if others are rows of
        their own.
        """
        known = self._naming.with_matched(join.id).association(self._steps.operator(level))
        counted = self._steps.operator(level).name in ("Window", "Limit") or self._steps.is_counted(level)
        names = visited.get(level)
        if isinstance(names, Far):
            raise _too_large()
        # A row that is not there is told by what it would have been made of, not by what would be in it.
        plan = known.plan
        if names is not None and known.parts and not counted:
            plan = restricted(self._catalyst, plan, known.parts, names.flatten()[: len(known.parts)])
        right = {operator.id for asked in (join.inputs[1], *join.subqueries) for operator in asked}
        held = {name.level for name in known.names} - right - presence.optional(self._steps.operator(level))
        return self._others(plan, known.names, held, presence, right)

    def _others(
        self, plan: Node, names: Sequence[Name], held: Collection[int], presence: Presence, wanted: Collection[int],
    ) -> Found:
        """The names of the levels ``wanted`` in those rows of a plan in which the lineage has all of the levels ``held``."""
        asked = [name for name in names if name.level in held and not presence.is_given(name.level)]
        for name in asked:
            if name.level in self._leaves:
                plan = restricted(self._catalyst, plan, [name.column], [or_none(presence.of(name.level))])
        table = self._catalyst.table(plan, {f"n{name.level}": name.column for name in names})
        mask = np.ones(table.num_rows, dtype=bool)
        for name in asked:
            column = table[f"n{name.level}"].combine_chunks()
            here = np.array(column.is_null())
            here[places(column, _near({name.level: presence.of(name.level)})[name.level])] = True
            mask &= here
        kept = table.filter(pa.array(mask))
        return {name.level: distinct(kept[f"n{name.level}"]) for name in names if name.level in wanted}


def _near(found: Found) -> Found:
    """The names, if the driver has them all."""
    if any(isinstance(names, Far) for names in found.values()):
        raise _too_large()
    return found


def _too_large() -> TooLargeError:
    return TooLargeError(
        "A row depends on what is not there, or on all of a group, and the driver does not take so many rows",
        remedy="Trace fewer rows, or set spark.driver.maxResultSize higher.",
    )
