"""Records: those of the levels of a query, by their names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bigdebug.errors import TooLargeError
from bigdebug.spark.sql.extended import Association
from bigdebug.spark.sql.far import Far, parts_of
from bigdebug.spark.sql.keys import restricted, without
from bigdebug.spark.sql.leaf import Leaf
from bigdebug.spark.sql.levels import BOUNDARIES, level_above, levels_of
from bigdebug.spark.sql.limits import Limit
from bigdebug.spark.sql.naming import Naming
from bigdebug.spark.sql.nearest import check_nearest
from bigdebug.spark.sql.peers import Peers, peers_of
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.reading import PlanOperator
from bigdebug.spark.sql.spelling import Spelling, spelled
from bigdebug.spark.sql.ties import check_ties
from bigdebug.trace.indexed import Indexed
from bigdebug.trace.names import NOTHING, Names, array_of, distinct, matched
from bigdebug.trace.positions import Positions

Found = Mapping[int, Names]
"""Names by level."""


class Records:
    """The records of the levels of a query. ``others`` are operators to stop at, besides the boundaries."""

    def __init__(
        self, catalyst: Catalyst, root: PlanOperator, leaves: Mapping[int, Leaf], others: Sequence[int],
        unsettled: Callable[[], Collection[int]],
    ) -> None:
        self.catalyst = catalyst
        self.sources = frozenset(leaves)
        self._operators = {operator.id: operator for operator in root}
        known = levels_of(root, leaves, others)
        self.levels = known.every
        self.subqueries = frozenset(s.id for operator in root for s in operator.subqueries)
        self.naming = Naming(catalyst, leaves, known, unsettled)
        self._associations: dict[int, Association] = {}
        self.indexes: dict[int, Indexed] = {}
        self.root = root
        self.above = {level: level_above(root, level, self.levels) for level in self.levels}

    def segment(self, operator: int) -> int | None:
        """The level whose records are made of those of an operator; None above the result."""
        return level_above(self.root, operator, self.levels)

    def operator(self, level: int) -> PlanOperator:
        return self._operators[level]

    def is_reached(self, level: int, visited: Found) -> bool:
        """Whether a trace that visited these records visited any of a level, or of one above: what is there besides may count there."""
        here: int | None = level
        while here is not None:
            if here in visited and ((names := visited[here]) is None or len(names)):
                return True
            here = self.above[here]
        return False

    def counts(self, level: int) -> bool:
        """Whether a record of a level is another one for a row more."""
        return self._operators[level].name in BOUNDARIES or level in self.subqueries

    def is_counted(self, level: int) -> bool:
        """Whether a new record of a level may count above it."""
        above = self.above[level]
        return level in self.subqueries or (above is not None and (self.counts(above) or self.is_counted(above)))

    def broader(self, level: int) -> bool:
        """Whether the association of a level speaks of more records than there are: of those that a limit, or a draw, left out."""
        operator = self._operators[level]
        return operator.name == "Limit" or (operator.draws and operator.name != "Aggregate")

    def crowded(self, level: int) -> bool:
        """Whether several records of a level are made of the same; rows that are equal besides have one name."""
        return self.naming.crowded(self._operators[level])

    # ---- by their names -------------------------------------------------------------------------------------------------

    def rows(self, level: int, names: Names) -> tuple[Node, Expr]:
        """The plan of a level's records with these names, and the column that names them."""
        plan, name = self.naming.exposed(self._operators[level])
        return (plan, name) if names is None else (self._having(plan, level, name, names), name)

    def other_rows(self, level: int, names: Names) -> tuple[Node, Expr]:
        """As ``rows``, of a level's records without those that have these names; of none, if they are all."""
        plan, name = self.rows(level, None)
        c = self.catalyst
        if names is None:
            return c.filter(c.literal(False, "boolean"), plan), name
        parts = parts_of(c, name)
        if isinstance(names, Far):
            return names.without(plan, parts[: len(names.parts)]), name
        if not len(names):
            return plan, name
        return without(c, plan, parts, names.flatten() if pa.types.is_struct(names.type) else [names]), name

    def names(self, plan: Node, name: Expr) -> Names:
        """The names in a column of a plan, each once."""
        try:
            return distinct(self.catalyst.table(plan, {"name": name})["name"])
        except TooLargeError:
            return Far.unless_few(self.catalyst, plan, name)

    def _having(self, plan: Node, level: int, name: Expr, names: Names) -> Node:
        """The rows of a plan in which ``name``, a column that names records of a level, is one of ``names``."""
        c = self.catalyst
        if not len(names):
            return c.filter(c.literal(False, "boolean"), plan)
        if level in self.subqueries - self.sources:
            return c.filter(c.is_not_null(name), plan)
        if isinstance(names, Far):
            return names.restricted(c.filter(c.is_not_null(name), plan), parts_of(c, name)[: len(names.parts)])
        if not pa.types.is_struct(names.type):
            return restricted(c, plan, [name], [names])
        fields = [c.field(name, i) for i in range(names.type.num_fields)]
        return restricted(c, c.filter(c.is_not_null(name), plan), fields, names.flatten())

    def every(self, level: int) -> Names:
        """The names of all records of a level."""
        return self.names(*self.rows(level, None))

    def counted(self, level: int) -> tuple[Names, Positions | None]:
        """The same, each once, and how many records each is the name of: equal ones that were made of the same share theirs. None where no two do, and of names that stay in Spark."""
        plan, name = self.rows(level, None)
        try:
            found = self.catalyst.table(plan, {"name": name})["name"]
        except TooLargeError:
            return Far.counted(self.catalyst, plan, name)
        names = distinct(found)
        if len(names) == len(found) - found.null_count:
            return names, None
        return names, np.bincount(matched(names, array_of(found.drop_null())), minlength=len(names))

    def known(self, source: int, names: Names, rids: pa.Array) -> Names:
        """Those of ``rids`` that are among some names of a source's records, all if None."""
        if names is not None and not isinstance(names, Far):
            return rids.filter(pc.is_in(rids, names)) if len(names) else NOTHING
        plan, name = self.rows(source, names)
        return self.names(restricted(self.catalyst, plan, [name], [rids]), name) if len(rids) else NOTHING

    def unlimited(self, level: int) -> tuple[Node, Expr]:
        """As ``rows`` of all records; if the level is a limit, of those that it left out too."""
        operator = self._operators[level]
        return self.naming.exposed(operator, limited=False)

    def near(self, level: int, names: Names) -> Names:
        """Names that are in the driver: only there are rows counted from one another."""
        if isinstance(names, Far):
            raise TooLargeError(
                f"{self._operators[level]} is about the order of {len(names):,} rows, and the driver does not take so many",
                remedy="Trace fewer rows, or set spark.driver.maxResultSize higher.",
            )
        return names

    @cached_property
    def spelling(self) -> Spelling | None:
        """How the names of the result's rows are written in its own columns, if they are."""
        return spelled(self.catalyst, self.root, self.levels)

    def check(self, operator: PlanOperator) -> None:
        """Raise NondeterminismError if another execution of a limit, an as-of join, or a window might make others choose other rows."""
        if operator.name == "Limit":
            Limit(self.catalyst, self.naming, operator).check()
        elif operator.name == "AsOfJoin":
            check_nearest(self.catalyst, self.naming, operator)
        elif operator.name == "Window":
            check_ties(self.catalyst, self.naming, operator, self.root)

    # ---- how they were made ---------------------------------------------------------------------------------------------

    def association(self, level: int) -> Association:
        if level not in self._associations:
            self._associations[level] = self.naming.association(self._operators[level])
        return self._associations[level]

    def restricted(self, known: Association, names: Names) -> Node:
        """The witnesses of records with these names."""
        if isinstance(names, Far):
            return names.restricted(known.plan, list(known.told))
        return restricted(self.catalyst, known.plan, known.told, known.keys(names).flatten())

    def _together(self, level: int) -> bool:
        """Whether the association of a level does not tell records apart that were made together."""
        return self.crowded(level) and not self.association(level).content

    def keys(self, level: int, names: Names) -> Names:
        """What the association of a level knows records by: their names, or what several that were made together have in common."""
        if not self._together(level) or isinstance(names, Far):
            return names
        return self.association(level).keys(names)

    def peers(self, level: int) -> Peers | None:
        return peers_of(self.catalyst, self.naming, self._operators[level])
