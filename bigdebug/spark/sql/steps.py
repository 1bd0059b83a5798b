"""Steps: from records of a level to those right below it that made them, and to those right above that they made."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property

import pyarrow as pa

from bigdebug.errors import NondeterminismError, TooLargeError
from bigdebug.spark.sql.catalyst import Catalyst, Expr, Node
from bigdebug.spark.sql.extended import Association
from bigdebug.spark.sql.far import Far, parts_of
from bigdebug.spark.sql.keys import restricted
from bigdebug.spark.sql.leaves import Leaf
from bigdebug.spark.sql.levels import BOUNDARIES, level_above, levels_of
from bigdebug.spark.sql.limits import Limit
from bigdebug.spark.sql.naming import Naming
from bigdebug.spark.sql.nearest import check_nearest
from bigdebug.spark.sql.peers import Peers, peers_of
from bigdebug.spark.sql.reading import PlanOperator
from bigdebug.spark.sql.spelling import Spelling, spelled
from bigdebug.spark.sql.ties import check_ties
from bigdebug.trace.indexed import Indexed
from bigdebug.trace.names import Names, distinct

Found = Mapping[int, Names]
"""Names by level."""


class Steps:
    """The levels of a query and the ways between them. ``others`` are operators to stop at, besides the boundaries."""

    def __init__(
        self, catalyst: Catalyst, root: PlanOperator, leaves: Mapping[int, Leaf], others: Sequence[int],
        unsettled: Callable[[], Collection[int]],
    ) -> None:
        self.catalyst = catalyst
        self.sources = frozenset(leaves)
        self._operators = {operator.id: operator for operator in root}
        self.levels = levels_of(root, leaves, others)
        self.subqueries = frozenset(s.id for operator in root for s in operator.subqueries)
        self.naming = Naming(catalyst, leaves, self.levels, unsettled)
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

    # ---- records of a level -----------------------------------------------------------------------------------

    def rows(self, level: int, names: Names) -> tuple[Node, Expr]:
        """The plan of a level's records with these names, and the column that names them."""
        plan, name = self.naming.exposed(self._operators[level])
        return (plan, name) if names is None else (self._having(plan, level, name, names), name)

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
        if level in self.subqueries:
            return c.filter(c.is_not_null(name), plan)
        if isinstance(names, Far):
            return names.restricted(c.filter(c.is_not_null(name), plan), parts_of(c, name)[: len(names.parts)])
        if not pa.types.is_struct(names.type):
            return restricted(c, plan, [name], [names])
        fields = [c.field(name, i) for i in range(names.type.num_fields)]
        return restricted(c, c.filter(c.is_not_null(name), plan), fields, names.flatten())

    def unlimited(self, level: int) -> tuple[Node, Expr]:
        """As ``rows`` of all records; if the level is a limit, of those that it left out too."""
        operator = self._operators[level]
        return self.naming.exposed(operator, limited=False)

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

    # ---- steps ------------------------------------------------------------------------------------------------

    def next_to(self, level: int, ahead: bool) -> frozenset[int]:
        """The levels that one step leads to."""
        above = self.above[level]
        if ahead:
            return frozenset([level if above is None else above])
        return frozenset([level]) if level in self.sources else frozenset(n for n, a in self.above.items() if a == level)

    def ends(self, level: int, ahead: bool) -> bool:
        """Whether the query goes no further."""
        return self.above[level] is None if ahead else level in self.sources

    def towards(self, goals: Collection[int]) -> frozenset[int]:
        """The levels from which a way back leads to one of ``goals``, themselves included."""
        ways = set(goals)
        for goal in goals:
            above = self.above[goal]
            while above is not None and above not in ways:
                ways.add(above)
                above = self.above[above]
        return frozenset(ways)

    def known_by(self, level: int, names: Names) -> Names:
        """What the association of a level knows records by, and all that they depend on besides; None for all."""
        if level in self.subqueries:
            return None
        if names is None and self.broader(level):
            names = self.names(*self.rows(level, None))
        if names is not None and (peers := self.peers(level)) is not None:
            names = peers.back(self.near(level, names))
        return names if names is None else self.keys(level, names)

    def back(self, level: int, names: Names, wanted: Collection[int] | None = None) -> Found:
        """The records of the levels right below that those of ``level`` were made of; of those ``wanted``, if not all."""
        if not self.association(level).names:
            return {}
        names = self.known_by(level, names)
        index = self._index(level, names, ahead=False, wanted=wanted)
        if index is not None and (found := index.back(names, wanted)) is not None:
            return found
        known = self.association(level)
        plan = known.plan
        below = [name for name in known.names if wanted is None or name.level in wanted]
        if names is not None:
            if self.says_all(level):
                if isinstance(names, Far):
                    return {name.level: names.part(known.names.index(name)) for name in below}
                return {at: distinct(field) for at, field in zip(known.levels, names.flatten()) if wanted is None or at in wanted}
            plan = self.restricted(known, names)
        try:
            table = self.catalyst.table(plan, {f"n{name.level}": name.column for name in below})
        except TooLargeError:
            return {name.level: Far.unless_few(self.catalyst, plan, name.column) for name in below}
        if names is not None and known.content and not table.num_rows:
            raise NondeterminismError(
                f"{self._operators[level]} gives other rows at each execution, though the plan does not say so",
                remedy="Its functions do not settle its rows: capture the action with strategy='inject'.",
            )
        return {name.level: distinct(table[f"n{name.level}"]) for name in below}

    def says_all(self, level: int) -> bool:
        """Whether the name of a record at a level says which of those below made it."""
        return self.association(level).levels == self.naming.parts(self._operators[level])

    def _index(self, level: int, names: Names, ahead: bool, wanted: Collection[int] | None) -> Indexed | None:
        known = self.indexes.get(level)
        if known is None or isinstance(names, Far):
            return None
        below = None if wanted is None else self.next_to(level, ahead=False).intersection(wanted)
        return known if known.answers(below, ahead) else None

    def restricted(self, known: Association, names: Names) -> Node:
        """The witnesses of records with these names."""
        if isinstance(names, Far):
            return names.restricted(known.plan, list(known.told))
        return restricted(self.catalyst, known.plan, known.told, known.keys(names).flatten())

    def ahead(self, level: int, names: Names, used: bool) -> Found:
        """The records of the level right above that those of ``level`` had a part in.

        If only those that are ``used`` count, of which the result was made, others may be missing.
        """
        above = self.above[level]
        if above is None:
            return {}
        index = self._index(above, names, ahead=True, wanted=[level])
        if index is not None and (used or index.whole or (self.goes_once(level, above) and index.takes(level, names))):
            return {above: self._reached(above, index.ahead(level, None if level in self.subqueries else names), indexed=True)}
        known, c = self.association(above), self.catalyst
        column = next((name.column for name in known.names if name.level == level), None)
        if column is None:  # of an anti join's right side: no row was made of it
            return {}
        plan = c.filter(c.is_not_null(column), known.plan) if names is None else self._having(known.plan, level, column, names)
        return {above: self._reached(above, self.names(plan, c.struct(known.told)), indexed=False)}

    def goes_once(self, level: int, above: int) -> bool:
        """Whether a record of ``level`` has a part in one of those above at most."""
        operator = self._operators[above]
        while operator.id != level:
            if len(operator.inputs) != 1 or operator.name in ("Generate", "Expand"):
                return False
            [operator] = operator.inputs
        return True

    def _reached(self, level: int, names: Names, indexed: bool) -> Names:
        """Of records that rows below would make, those that there are, as an index knows; and those that depend on them."""
        names = self.existing(level, names, indexed)
        peers = self.peers(level) if len(names) else None
        return names if peers is None else peers.ahead(self.near(level, names))

    def existing(self, level: int, names: Names, indexed: bool) -> Names:
        """The names of records that there are, of those that the association of a level speaks of, or its index."""
        more = self._together(level) or (self.broader(level) and not indexed)
        return self.names(*self.rows(level, names)) if more and len(names) else names

    def near(self, level: int, names: Names) -> Names:
        """Names that are in the driver: only there are rows counted from one another."""
        if isinstance(names, Far):
            raise TooLargeError(
                f"{self._operators[level]} is about the order of {len(names):,} rows, and the driver does not take so many",
                remedy="Trace fewer rows, or set spark.driver.maxResultSize higher.",
            )
        return names

    def broader(self, level: int) -> bool:
        """Whether the association of a level speaks of more records than there are: of those that a limit, or a draw, left out."""
        operator = self._operators[level]
        return operator.name == "Limit" or (operator.draws and operator.name != "Aggregate")

    def crowded(self, level: int) -> bool:
        """Whether several records of a level are made of the same; rows that are equal besides have one name."""
        return self.naming.crowded(self._operators[level])

    def _together(self, level: int) -> bool:
        """Whether the association of a level does not tell records apart that were made together."""
        return self.crowded(level) and not self.association(level).content

    def keys(self, level: int, names: Names) -> Names:
        """What the association of a level knows records by: their names, or what several that were made together have in common."""
        if not self._together(level) or isinstance(names, Far):
            return names
        return self.association(level).keys(names)

    def witnesses(self, level: int, names: Names) -> pa.Table:
        """A row for each way in which records of a level came about: ``key``, and ``n`` with the number of each level below.

        Without their peers, on which they depend besides.
        """
        known = self.association(level)
        plan = known.plan if level in self.subqueries else self.restricted(known, names)
        columns = {"key": self.catalyst.struct(known.told)} | {f"n{name.level}": name.column for name in known.names}
        return self.catalyst.table(plan, columns)

    def peers(self, level: int) -> Peers | None:
        return peers_of(self.catalyst, self.naming, self._operators[level])

    def association(self, level: int) -> Association:
        if level not in self._associations:
            self._associations[level] = self.naming.association(self._operators[level])
        return self._associations[level]
