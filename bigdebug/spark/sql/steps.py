"""Steps: from records of a level to those right below it that made them, and to those right above that they made."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa

from bigdebug.errors import NondeterminismError, TooLargeError
from bigdebug.spark.sql.far import Far
from bigdebug.spark.sql.misses import is_one
from bigdebug.spark.sql.records import Found, Records
from bigdebug.trace.indexed import Indexed
from bigdebug.trace.names import NOTHING, Names, distinct


class Steps(Records):
    """The ways between the levels of a query."""

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

    def says_all(self, level: int) -> bool:
        """Whether the name of a record at a level says which of those below made it."""
        return self.association(level).levels == self.naming.parts(self._operators[level])

    def goes_once(self, level: int, above: int) -> bool:
        """Whether a record of ``level`` has a part in one of those above at most."""
        operator = self._operators[above]
        while operator.id != level:
            if len(operator.inputs) != 1 or operator.name in ("Generate", "Expand"):
                return False
            [operator] = operator.inputs
        return True

    def known_by(self, level: int, names: Names) -> Names:
        """What the association of a level knows records by, and all that they depend on besides; None for all."""
        if level in self.subqueries:
            return None
        if names is None and self.broader(level):
            names = self.every(level)
        if names is not None and (peers := self.peers(level)) is not None:
            names = peers.back(self.near(level, names))
        return names if names is None else self.keys(level, names)

    def back(self, level: int, names: Names, wanted: Collection[int] | None = None) -> Found:
        """The records of the levels right below that those of ``level`` were made of; of those ``wanted``, if not all."""
        found = dict(self._made_of(level, self.known_by(level, names), wanted)) if self.association(level).names else {}
        operator = self._operators[level]
        for subquery in (s.id for s in operator.subqueries if wanted is None or s.id in wanted):
            if is_one(operator):  # it asks them of no rows, too
                found[subquery] = None
            if subquery in self.sources and ((asked := found.get(subquery, NOTHING)) is None or len(asked)):
                found[subquery] = self.every(subquery)
        return found

    def _made_of(self, level: int, names: Names, wanted: Collection[int] | None) -> Found:
        """Of records that the association of a level knows by these names."""
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
        every = names is None or level in self.subqueries
        plan = c.filter(c.is_not_null(column), known.plan) if every else self._having(known.plan, level, column, names)
        return {above: self._reached(above, self.names(plan, c.struct(known.told)), indexed=False)}

    def _index(self, level: int, names: Names, ahead: bool, wanted: Collection[int] | None) -> Indexed | None:
        known = self.indexes.get(level)
        if known is None or isinstance(names, Far):
            return None
        below = None if wanted is None else self.next_to(level, ahead=False).intersection(wanted)
        return known if known.answers(below, ahead) else None

    def _reached(self, level: int, names: Names, indexed: bool) -> Names:
        """Of records that rows below would make, those that there are, as an index knows; and those that depend on them."""
        skips = self._operators[level].name == "Limit"
        if skips and len(names) and (limit := self.peers(level)) is not None:  # what it skips is none of its records, and they hang on it
            return self.existing(level, limit.ahead(self.near(level, names)), indexed)
        names = self.existing(level, names, indexed)
        peers = self.peers(level) if len(names) else None
        return names if peers is None else peers.ahead(self.near(level, names))

    def existing(self, level: int, names: Names, indexed: bool) -> Names:
        """The names of records that there are, of those that the association of a level speaks of, or its index."""
        more = self._together(level) or (self.broader(level) and not indexed)
        return self.names(*self.rows(level, names)) if more and len(names) else names

    def witnesses(self, level: int, names: Names) -> pa.Table:
        """A row for each way in which records of a level came about: ``key``, and ``n`` with the number of each level below.

        Without their peers, on which they depend besides.
        """
        known = self.association(level)
        plan = known.plan if level in self.subqueries else self.restricted(known, names)
        columns = {"key": self.catalyst.struct(known.told)} | {f"n{name.level}": name.column for name in known.names}
        return self.catalyst.table(plan, columns)
