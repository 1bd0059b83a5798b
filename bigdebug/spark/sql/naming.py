"""Naming: how the records of a query's levels are named, and how names ride along between two levels.

The records of a *level* have names: rids at a source; at an aggregate the values of its group; elsewhere the names of the
records below that make one up. Between two levels a plan is extended so that names ride along, a column for each level below.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from bigdebug.errors import UntraceableError
from bigdebug.spark.sql.extended import Association, Extended, Name, parts_of_name
from bigdebug.spark.sql.groups import COGROUPED, GROUPED, exposed_groups, hashes
from bigdebug.spark.sql.leaf import Leaf
from bigdebug.spark.sql.levels import OPAQUE, Levels, is_crowded
from bigdebug.spark.sql.partitions import PARTITIONED, with_partition
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.comparing import group_of
from bigdebug.spark.sql.plans.domains import DOMAIN
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.fingerprints import fingerprint, is_written, numbered
from bigdebug.spark.sql.plans.reading import PlanOperator
from bigdebug.spark.sql.procedures import PROCEDURES, Below, matched


class Naming:
    """The names in one query, at its levels. ``unsettled`` gives the ids of columns that another job may give otherwise."""

    def __init__(
        self, catalyst: Catalyst, leaves: Mapping[int, Leaf], levels: Levels,
        unsettled: Callable[[], Collection[int]] = frozenset,
    ) -> None:
        self._catalyst = catalyst
        self._leaves = leaves
        self._known = levels
        self._levels = levels.every
        self._unsettled = unsettled
        self._given: Mapping[int, Extended] = {}
        self._matched: int | None = None

    def given(self, operator: int, extended: Extended) -> Naming:
        """The same names, where the plan of one operator is another."""
        return self._other({**self._given, operator: extended}, self._matched)

    def with_matched(self, join: int) -> Naming:
        """The same names, where a join gives the rows on its left that match, with those that they match: what an anti join removes."""
        return self._other(self._given, join)

    def _other(self, given: Mapping[int, Extended], join: int | None) -> Naming:
        other = Naming(self._catalyst, self._leaves, self._known, self._unsettled)
        other._given, other._matched = given, join
        return other

    # ---- records of a level -----------------------------------------------------------------------------------

    def exposed(self, operator: PlanOperator, limited: bool = True) -> tuple[Node, Expr]:
        """The plan of a level with its rows as they are and a column that names them.

        If not ``limited``, a level that is a limit has all rows of its input.
        """
        c = self._catalyst
        if operator.kept is not None:
            return operator.kept.plan, operator.kept.name
        if operator.id in self._leaves:
            return self._leaves[operator.id].named(c)
        if operator.name in OPAQUE:
            plan, together = exposed_groups(c, operator) if operator.name not in PARTITIONED else with_partition(c, operator.node)
            plan, name = self._told_apart(operator, plan, together)
            return c.project([*c.items(operator.node.output()), name], plan), name.toAttribute()
        if operator.name in ("Aggregate", DOMAIN):
            name = c.alias(c.struct(group_of(c, operator)), f"__bigdebug_{operator.id}")
            return c.changed(operator.node, {1: operator.node.aggregateExpressions().appended(name)}), name.toAttribute()
        whole = operator.name == "Limit" and not limited
        extended = self.extend(operator.inputs[0], witnesses=False) if whole else self._within(operator, witnesses=False)
        plan, made_of = extended.plan, [n.column for n in extended.names]
        if self.crowded(operator):
            plan, name = self._told_apart(operator, plan, made_of)
        else:
            name = c.alias(c.struct(parts_of_name(c, made_of)), f"__bigdebug_{operator.id}")
        return c.extended(plan, [name]), name.toAttribute()

    def crowded(self, operator: PlanOperator) -> bool:
        """Whether several records of a level are made of the same; rows that are equal besides have one name."""
        return operator.id not in self._leaves and is_crowded(operator, self._levels)

    def _told_apart(self, operator: PlanOperator, plan: Node, made_of: Sequence[Expr]) -> tuple[Node, Expr]:
        """Names of rows of which several were made of the same, and the plan of an operator with all that they are made of."""
        c, told = self._catalyst, [*made_of, *self.content(operator, plan)]
        if operator.id in self._known.numbered:
            plan, number = numbered(c, plan, told)
            told.append(number)
        return plan, c.alias(c.struct(told), f"__bigdebug_{operator.id}")

    def content(self, operator: PlanOperator, plan: Node) -> list[Expr]:
        """What tells rows of an operator apart that were made of the same; ``plan`` has its columns."""
        unsettled = self._unsettled()
        settled = [column for column in self._catalyst.items(operator.node.output()) if column.exprId().id() not in unsettled]
        return fingerprint(self._catalyst, plan, settled)

    def identity(self, operator: PlanOperator, plan: Node) -> list[Expr]:
        """What only rows of an operator have in common that are the same in all columns, in each execution; nothing, if none tells.

        ``plan`` has its columns.
        """
        columns, unsettled = self._catalyst.items(operator.node.output()), self._unsettled()
        if any(column.exprId().id() in unsettled or not is_written(column) for column in columns):
            return []
        return fingerprint(self._catalyst, plan, columns, bits=True)

    def parts(self, operator: PlanOperator) -> tuple[int, ...]:
        """The levels whose names make up the name of a record at this level; none at an aggregate."""
        if operator.name in {"Aggregate", DOMAIN, *OPAQUE}:
            return ()
        return tuple(n.level for n in self._within(operator, witnesses=False).names)

    # ---- between two levels -----------------------------------------------------------------------------------

    def association(self, operator: PlanOperator) -> Association:
        """How the records of a level that is no source were made of those of the levels below."""
        if operator.name in GROUPED | COGROUPED:
            return self._grouped(operator)
        if operator.name in PARTITIONED:
            rows = self.extend(operator.inputs[0], witnesses=True)
            plan, number = with_partition(self._catalyst, rows.plan)
            return Association(plan, tuple(number), rows.names)
        if operator.name == DOMAIN:
            return Association(operator.node.child(), tuple(group_of(self._catalyst, operator)), ())
        if operator.name == "Aggregate":
            extended = self._with_subqueries(operator, self.extend(operator.inputs[0], witnesses=True))
            return Association(extended.plan, tuple(group_of(self._catalyst, operator)), extended.names)
        parts = self.parts(operator)
        extended = self.within(operator)
        known = {name.level: name.column for name in extended.names}
        told = [known[level] for level in parts]
        if not self.crowded(operator):
            return Association(extended.plan, tuple(parts_of_name(self._catalyst, told)), extended.names)
        # Of what was drawn, only the kept rows say what is in them, and of equal rows no witness says which it made.
        made_together = operator.draws or (operator.id in self._known.numbered and told)
        content = () if made_together else self.content(operator, extended.plan)
        return Association(extended.plan, tuple(told), extended.names, tuple(content))

    def _grouped(self, operator: PlanOperator) -> Association:
        """Of a function over groups: all rows of the group, on both sides if there are two."""
        c = self._catalyst
        sides = [self.extend(child, witnesses=True) for child in operator.inputs]
        rows = []
        for side, extended in enumerate(sides):
            keys = hashes(c, operator, side)
            names = [
                c.alias(n.column if here is extended else c.null_of(n.column), f"__bigdebug_{n.level}") for here in sides for n in here.names
            ]
            rows.append(c.project([*keys, *names], extended.plan))
        plan = rows[0] if len(rows) == 1 else c.union(rows)
        columns = c.items(plan.output())
        levels = [n.level for extended in sides for n in extended.names]
        return Association(plan, tuple(columns[:2]), tuple(Name(level, column) for level, column in zip(levels, columns[2:])))

    def extend(self, operator: PlanOperator, witnesses: bool) -> Extended:
        """The plan of an operator with the names of the levels right below it, or its own if it is one."""
        if operator.id in self._given:
            return self._given[operator.id]
        if operator.id in self._levels:
            plan, name = self.exposed(operator)
            return Extended(plan, (Name(operator.id, name),))
        return self._within(operator, witnesses)

    def within(self, operator: PlanOperator, witnesses: bool = True) -> Extended:
        """An operator inside a segment, or at its top, with its witnesses, or with the identities of what its rows are made of."""
        return self._within(operator, witnesses)

    def _within(self, operator: PlanOperator, witnesses: bool) -> Extended:
        procedure = PROCEDURES.get(operator.name)
        if procedure is None:
            raise UntraceableError(
                f"{operator} cannot be traced: {operator.node.simpleString(10)}",
                remedy="Trace the DataFrames before and after it on their own.",
            )
        below = Below(self._catalyst, self.extend)
        if operator.draws:  # what was drawn is not drawn again: the names of kept rows say which there are
            extended = self.extend(operator.inputs[0], witnesses)
        elif operator.id == self._matched:
            extended = matched(below, operator)
        else:
            extended = procedure(below, operator, witnesses)
        return self._with_subqueries(operator, extended) if witnesses else extended

    def _with_subqueries(self, operator: PlanOperator, extended: Extended) -> Extended:
        """All rows of an operator depend on the one row that a scalar subquery in its expressions gives."""
        asked = [s for s in operator.subqueries if s.id not in {n.level for n in extended.names}]
        if not asked:
            return extended
        c = self._catalyst
        whole = c.literal(True, "boolean")
        here = {n.level: n.column for n in extended.names}
        marks = []
        for subquery in asked:
            # A side of a join that is read again counts for the rows that it does not match.
            matches = [here[level] for level in self._below(operator, subquery) if level in here]
            mark = c.when_none(matches, whole) if matches else whole
            marks.append(c.alias(mark, f"__bigdebug_{subquery.id}"))
        names = [Name(s.id, mark.toAttribute()) for s, mark in zip(asked, marks)]
        return Extended(c.extended(extended.plan, marks), (*extended.names, *names))

    def _below(self, operator: PlanOperator, subquery: PlanOperator) -> list[int]:
        """The levels by whose names a row of a join shows that the side matched of which ``subquery`` is a second reading."""
        side = next((child for child in operator.inputs if child.id == subquery.repeats), None)
        return [] if operator.name != "Join" or side is None else [o.id for o in side if o.id in self._levels]
