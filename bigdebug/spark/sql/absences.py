"""Absences: rows that a join left out, and must go on leaving out when sources are replaced by a lineage.

A relation that a query reads twice is one name to the user. Replaced by its lineage, it brings to one place rows that belong to
the other, and what removed them there has to be in the lineage as well. Where a relation is read once, nothing is added.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from itertools import chain

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bigdebug.errors import TooLargeError
from bigdebug.spark.sql.catalyst import Catalyst
from bigdebug.spark.sql.far import Far
from bigdebug.spark.sql.joins import kind_of_join
from bigdebug.spark.sql.keys import restricted
from bigdebug.spark.sql.leaves import Leaf
from bigdebug.spark.sql.levels import BOUNDARIES
from bigdebug.spark.sql.misses import sides_missing
from bigdebug.spark.sql.parts import Parts
from bigdebug.spark.sql.presence import Presence
from bigdebug.spark.sql.reading import PlanOperator
from bigdebug.spark.sql.steps import Found, Steps
from bigdebug.spark.sql.walks import traced
from bigdebug.trace.names import NOTHING, Names, distinct, merged, or_none, places


class Absences:
    """The anti and outer joins of a query through which rows of a relation that is read twice may come back."""

    def __init__(self, catalyst: Catalyst, root: PlanOperator, leaves: Mapping[int, Leaf], steps: Steps) -> None:
        self._catalyst = catalyst
        self._operators = {operator.id: operator for operator in root}
        self._leaves = leaves
        self._naming = steps.naming
        self._steps = steps
        often = Counter(leaf.dataset for leaf in leaves.values())
        self._joins = [
            operator for operator in root if kind_of_join(operator).lonely
            and any(o.id in leaves and often[leaves[o.id].dataset] > 1 for o in operator)
        ]
        self._hidden = {o.id for operator in root for side in sides_missing(operator) for o in side}
        self._parts = Parts(catalyst, root, leaves, steps)

    @property
    def possible(self) -> bool:
        """Whether there is such a join at all, or a part that is counted."""
        return bool(self._joins or self._parts)

    def completed(self, visited: Mapping[int, Names], found: Found) -> Found:
        """The lineage ``found`` at the sources, with what removed rows of it; ``visited`` are the names on the way there."""
        visited, found = dict(visited), dict(_near(found))
        presence = Presence(self._steps, self._leaves, lambda leaf: self._held(leaf, visited, found))
        while self.possible:
            before = sum(map(len, found.values()))
            for needed in chain(self._removed(visited, found), self._parts.needed(visited, presence)):
                visited_more, more = traced(self._steps, _near(needed))
                for known, extra in ((visited, visited_more), (found, _near(more))):
                    for at, names in extra.items():
                        known[at] = merged(known[at], names) if known.get(at) is not None else names
            if sum(map(len, found.values())) == before:
                break
        return found

    def _removed(self, visited: Mapping[int, Names], found: Found) -> Iterator[Found]:
        for join in self._joins:
            level = self._steps.segment(join.id)
            # Rows that come back do harm where they are counted next, and where others are there because they are not.
            if join.id in self._hidden:
                yield from self._matching(join, visited, found)
            elif level is not None and level in visited and self._operators[level].name in BOUNDARIES:
                if kind_of_join(join).name == "LeftAnti":
                    yield self._removing(join, level, visited, found)
                else:
                    yield from self._matching(join, visited, found)

    def _matching(self, join: PlanOperator, visited: Mapping[int, Names], found: Found) -> Iterator[Found]:
        """The names of what rows of each side matched that the lineage holds: without it they would stand alone."""
        extended = self._naming.with_matched(join.id).within(join)
        for side in (join.inputs[at] for at in kind_of_join(join).lonely):
            if any(o.name == "Join" and o.node.condition().isEmpty() for o in side):
                continue  # a product, which only conditions above the join make small: as below a correlated scalar subquery
            held = {operator.id for operator in side}
            plan = extended.plan
            for name in extended.names:
                if name.level in held and name.level in self._leaves:
                    plan = restricted(self._catalyst, plan, [name.column], [or_none(self._held(name.level, visited, found))])
            table = self._catalyst.table(plan, {f"n{name.level}": name.column for name in extended.names})
            mask = self._mask(table, [name.level for name in extended.names if name.level in held], visited, found)
            kept = table.filter(pa.array(mask))
            yield {name.level: distinct(kept[f"n{name.level}"]) for name in extended.names if name.level not in held}

    def _removing(self, join: PlanOperator, level: int, visited: Mapping[int, Names], found: Found) -> Found:
        """The names of right rows that removed left rows which the lineage holds, from the groups that were traced."""
        known = self._naming.with_matched(join.id).association(self._operators[level])
        counted = self._operators[level].name in ("Window", "Limit") or level in self._steps.subqueries
        # A row that is not there is told by what it would have been made of, not by what would be in it.
        names = visited[level]
        if isinstance(names, Far):
            raise _too_large()
        groups = None if counted or not known.parts or names is None else names.flatten()[: len(known.parts)]
        plan = known.plan if groups is None else restricted(self._catalyst, known.plan, known.parts, groups)
        table = self._catalyst.table(plan, {f"n{name.level}": name.column for name in known.names})
        right = {operator.id for operator in join.inputs[1]}
        mask = self._mask(table, [name.level for name in known.names if name.level not in right], visited, found)
        kept = table.filter(pa.array(mask))
        return {name.level: distinct(kept[f"n{name.level}"]) for name in known.names if name.level in right}

    def _mask(
        self, table: pa.Table, levels: Iterable[int], visited: Mapping[int, Names], found: Found,
    ) -> npt.NDArray[np.bool_]:
        """The rows whose names at these levels are all held by the lineage."""
        mask = np.ones(table.num_rows, dtype=bool)
        for level in levels:
            if level in self._steps.subqueries:
                continue
            column = table[f"n{level}"].combine_chunks()
            held = np.zeros(table.num_rows, dtype=bool)
            held[places(column, self._held(level, visited, found))] = True
            mask &= held | column.is_null().to_numpy(zero_copy_only=False)
        return mask

    def _held(self, level: int, visited: Mapping[int, Names], found: Found) -> Names:
        """What the lineage holds of a source, at whichever place; or of another level."""
        if level not in self._leaves:
            return visited.get(level, NOTHING)
        dataset = self._leaves[level].dataset
        return reduce(merged, [names for at, names in found.items() if self._leaves[at].dataset == dataset], NOTHING)


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
