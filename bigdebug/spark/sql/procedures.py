"""Tracing procedures: how each logical operator carries the names of the records it was made from (Cui & Widom, Perm).

The records of a *level* have names: rids at a source; at an aggregate the values of its group; elsewhere the names of the
records below that make one up. Between two levels a plan is extended so that names ride along, a column for each level below.

Two ways to extend it: with *witnesses*, each row stands for one way in which a record came about, so a semi join gives a row
for each match; with *identities*, rows stay those of the query, and the names that ride along say which is which.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from bigdebug.errors import UntraceableError
from bigdebug.spark.sql.catalyst import Catalyst, Expr, Node
from bigdebug.spark.sql.comparing import group_of
from bigdebug.spark.sql.groups import COGROUPED, GROUPED, exposed_groups, hashes
from bigdebug.spark.sql.leaves import Leaf
from bigdebug.spark.sql.partitions import PARTITIONED, with_partition
from bigdebug.spark.sql.reading import PlanOperator

Spelling = tuple[Any, ...]
"""The parts of a name: columns, parts of another name, or True where the one row of an aggregate needs none."""

OPAQUE = GROUPED | COGROUPED | PARTITIONED
"""Functions of the user over many rows at once. A name of theirs says which rows these were, and which of the results it is."""

BOUNDARIES = {"Aggregate", "Limit", "Window", *OPAQUE}
"""Operators whose records are named by themselves: what they do depends on how many rows they get, or hides which."""


class Name(NamedTuple):
    """The column that names records of a level; NULL where none took part."""

    level: int
    column: Expr

    def missing(self) -> Name:
        """The same where an outer join may leave it out."""
        return Name(self.level, self.column.withNullability(True))


class Extended(NamedTuple):
    """A plan that has the columns of an operator, and names."""

    plan: Node
    names: tuple[Name, ...]


@dataclass(frozen=True)
class Association:
    """How records of a level were made: a plan with a row for each witness; ``parts`` are columns that say of which records.

    Those are the fields of the records' names, or the first of them if several were made together.
    """

    plan: Node
    parts: tuple[Expr, ...]
    names: tuple[Name, ...]

    @property
    def levels(self) -> tuple[int, ...]:
        return tuple(name.level for name in self.names)

    def keys(self, names: Any) -> Any:
        """What the names of records say about ``parts``: for each name a struct of their values."""
        fields = names.flatten()[: len(self.parts)]
        return names if len(fields) == names.type.num_fields else pa.StructArray.from_arrays(fields, [f"_{i}" for i in range(len(fields))])


class Procedures:
    """The procedures for one query. ``levels`` are the operators at which records are named, boundaries and others."""

    def __init__(
        self, catalyst: Catalyst, leaves: Mapping[int, Leaf], levels: Collection[int], unsettled: Collection[int] = (),
    ) -> None:
        """``unsettled`` are the ids of columns that another job may give otherwise."""
        self._catalyst = catalyst
        self._leaves = leaves
        self._levels = levels
        self._unsettled = unsettled
        self._given: Mapping[int, Extended] = {}
        self._removed: int | None = None

    def given(self, operator: int, extended: Extended) -> Procedures:
        """The same procedures, for which the plan of one operator is another."""
        return self._other({**self._given, operator: extended}, self._removed)

    def within(self, operator: PlanOperator) -> Extended:
        """An operator inside a segment with its witnesses."""
        return self._within(operator, witnesses=True)

    def with_removed(self, join: int) -> Procedures:
        """The same procedures, for which an anti join gives the rows that it removes, with those that remove them."""
        return self._other(self._given, join)

    def _other(self, given: Mapping[int, Extended], removed: int | None) -> Procedures:
        other = Procedures(self._catalyst, self._leaves, self._levels, self._unsettled)
        other._given, other._removed = given, removed
        return other

    # ---- levels -----------------------------------------------------------------------------------------------

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
            name = self._told_apart(operator, plan, together)
            return c.project([*c.items(operator.node.output()), name], plan), name.toAttribute()
        if operator.name == "Aggregate":
            name = c.alias(c.struct(group_of(c, operator)), f"__bigdebug_{operator.id}")
            return c.changed(operator.node, {1: operator.node.aggregateExpressions().appended(name)}), name.toAttribute()
        whole = operator.name == "Limit" and not limited
        extended = self.extend(operator.inputs[0], witnesses=False) if whole else self._within(operator, witnesses=False)
        made_of = [n.column for n in extended.names]
        if self.crowded(operator):
            name = self._told_apart(operator, extended.plan, made_of)
        else:
            name = c.alias(c.struct(made_of), f"__bigdebug_{operator.id}")
        return c.extended(extended.plan, [name]), name.toAttribute()

    def crowded(self, operator: PlanOperator) -> bool:
        """Whether several records of a level are made of the same: their names say besides what is in them."""
        if operator.name in OPAQUE:
            return True
        if operator.name in BOUNDARIES or self._at_leaf(operator):
            return False
        named, constant = self._ends(operator)
        return not named or constant > 1 or self._multiplies(operator)

    def _ends(self, operator: PlanOperator) -> tuple[int, int]:
        """How many ends the segment of a level has below that name its rows, and how many that do not: SELECT 1."""
        below = [(1, 0) if child.id in self._levels or self._at_leaf(child) else self._ends(child) for child in operator.inputs]
        return (sum(named for named, _ in below), sum(constant for _, constant in below)) if operator.inputs else (0, 1)

    def _multiplies(self, operator: PlanOperator) -> bool:
        """Whether an operator, or one below it up to the next levels, makes several rows of one."""
        return operator.name in ("Generate", "Expand") or any(
            self._multiplies(child) for child in operator.inputs if child.id not in self._levels and not self._at_leaf(child)
        )

    def _at_leaf(self, operator: PlanOperator) -> bool:
        return operator.id in self._leaves

    def _told_apart(self, operator: PlanOperator, plan: Node, made_of: Sequence[Expr]) -> Expr:
        c = self._catalyst
        settled = [column for column in c.items(operator.node.output()) if column.exprId().id() not in self._unsettled]
        return c.alias(c.struct([*made_of, *c.content(plan, settled)]), f"__bigdebug_{operator.id}")

    def association(self, operator: PlanOperator) -> Association:
        """How the records of a level that is no source were made of those of the levels below."""
        if operator.name in GROUPED | COGROUPED:
            return self._grouped(operator)
        if operator.name in PARTITIONED:
            rows = self.extend(operator.inputs[0], witnesses=True)
            plan, number = with_partition(self._catalyst, rows.plan)
            return Association(plan, tuple(number), rows.names)
        if operator.name == "Aggregate":
            extended = self._with_subqueries(operator, self.extend(operator.inputs[0], witnesses=True))
            return Association(extended.plan, tuple(group_of(self._catalyst, operator)), extended.names)
        parts = self.parts(operator)
        extended = self._with_subqueries(operator, self._within(operator, witnesses=True))
        known = {name.level: name.column for name in extended.names}
        return Association(extended.plan, tuple(known[level] for level in parts), extended.names)

    def parts(self, operator: PlanOperator) -> tuple[int, ...]:
        """The levels whose names make up the name of a record at this level; none at an aggregate."""
        if operator.name in {"Aggregate", *OPAQUE}:
            return ()
        return tuple(n.level for n in self._within(operator, witnesses=False).names)

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

    def spelled(self, operator: PlanOperator) -> Spelling | None:
        """How the name of a row is written in its own columns; None if it is not, or not in them alone."""
        if operator.name == "Aggregate":
            if operator.node.groupingExpressions().isEmpty():
                return (True,)
            return self._rewritten(tuple(group_of(self._catalyst, operator)), operator.node.aggregateExpressions())
        if operator.name not in ("Limit", "Sort", "Project", "Filter"):
            return None
        below = self.spelled(operator.inputs[0])
        if below is not None and operator.name == "Project":
            below = self._rewritten(below, operator.node.projectList())
        return below if below is None or operator.id not in self._levels else (below,)

    def _rewritten(self, spelling: Spelling, columns: Any) -> Spelling | None:
        """A spelling in the columns that a list of expressions makes of its own."""
        made: dict[int, Expr] = {}
        for column in self._catalyst.items(columns):
            given = column.child() if column.nodeName() == "Alias" else column
            if given.nodeName() == "AttributeReference":
                made.setdefault(given.exprId().id(), column.toAttribute())

        def written(part: Any) -> Any:
            if isinstance(part, tuple):
                return tuple(written(inner) for inner in part)
            return part if part is True else made.get(part.exprId().id()) if part.nodeName() == "AttributeReference" else None

        found = written(spelling)
        return None if _lacks(found) else found

    # ---- within a level ---------------------------------------------------------------------------------------

    def extend(self, operator: PlanOperator, witnesses: bool) -> Extended:
        """The plan of an operator with the names of the levels right below it, or its own if it is one."""
        if operator.id in self._given:
            return self._given[operator.id]
        if operator.id in self._levels or operator.id in self._leaves:
            plan, name = self.exposed(operator)
            return Extended(plan, (Name(operator.id, name),))
        return self._within(operator, witnesses)

    def _within(self, operator: PlanOperator, witnesses: bool) -> Extended:
        procedure = _PROCEDURES.get(operator.name)
        if procedure is None:
            raise UntraceableError(
                f"{operator} cannot be traced: {operator.node.simpleString(10)}",
                remedy="Trace the DataFrames before and after it on their own.",
            )
        # What was drawn is not drawn again: the names of kept rows say which there are.
        extended = self.extend(operator.inputs[0], witnesses) if operator.draws else procedure(self, operator, witnesses)
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
        return [] if operator.name != "Join" or side is None else [o.id for o in side if o.id in self._levels or o.id in self._leaves]

    # ---- operators --------------------------------------------------------------------------------------------

    def _constant(self, operator: PlanOperator, witnesses: bool) -> Extended:
        return Extended(operator.node, ())

    def _same(self, operator: PlanOperator, witnesses: bool) -> Extended:
        below = self.extend(operator.inputs[0], witnesses)
        return below._replace(plan=self._catalyst.with_children(operator.node, [below.plan]))

    def _window(self, operator: PlanOperator, witnesses: bool) -> Extended:
        return self.extend(operator.inputs[0], True) if witnesses else self._same(operator, False)

    def _limit(self, operator: PlanOperator, witnesses: bool) -> Extended:
        below = self.extend(operator.inputs[0], witnesses)
        if witnesses:  # which rows there are, the names above say
            return below
        plan = below.plan
        for node in reversed(operator.limits):
            plan = self._catalyst.with_children(node, [plan])
        return below._replace(plan=plan)

    def _project(self, operator: PlanOperator, witnesses: bool) -> Extended:
        below = self.extend(operator.inputs[0], witnesses)
        columns = [*self._catalyst.items(operator.node.projectList()), *(n.column for n in below.names)]
        return below._replace(plan=self._catalyst.project(columns, below.plan))

    def _expand(self, operator: PlanOperator, witnesses: bool) -> Extended:
        c, node = self._catalyst, operator.node
        below = self.extend(operator.inputs[0], witnesses)
        columns = c.seq([n.column for n in below.names])
        projections = [row.concat(columns) for row in c.items(node.projections())]
        plan = c.changed(node, {0: c.seq(projections), 1: node.output().concat(columns), 2: below.plan})
        return below._replace(plan=plan)

    def _union(self, operator: PlanOperator, witnesses: bool) -> Extended:
        c = self._catalyst
        branches = [self.extend(child, witnesses) for child in operator.inputs]
        plans, names = [], []
        for i, branch in enumerate(branches):
            columns = []
            for j, other in enumerate(branches):
                for name in other.names:
                    column = name.column if i == j else c.null_of(name.column)
                    columns.append(c.alias(column, f"__bigdebug_{name.level}"))
            if i == 0:
                levels = [name.level for other in branches for name in other.names]
                names = [Name(level, column.toAttribute()).missing() for level, column in zip(levels, columns)]
            plans.append(c.project([*c.items(operator.inputs[i].node.output()), *columns], branch.plan))
        return Extended(c.with_children(operator.node, plans), tuple(names))

    def _join(self, operator: PlanOperator, witnesses: bool) -> Extended:
        c, node = self._catalyst, operator.node
        left = self.extend(operator.inputs[0], witnesses)
        kind = node.joinType().toString()
        if operator.id == self._removed:
            kind = "LeftSemi"
        if kind == "LeftAnti" or (not witnesses and kind == "LeftSemi"):
            return left._replace(plan=c.with_children(node, [left.plan, operator.inputs[1].plan(c)]))
        if kind.startswith("ExistenceJoin"):
            return self._existence(operator, left, witnesses)
        right = self.extend(operator.inputs[1], witnesses)
        names = (*left.names, *right.names)
        if kind != "LeftSemi":
            missing = {"LeftOuter": right.names, "RightOuter": left.names, "FullOuter": names}.get(kind, ())
            names = tuple(name.missing() if name in missing else name for name in names)
            return Extended(c.with_children(node, [left.plan, right.plan]), names)
        matched = c.join(left.plan, right.plan, "inner", node.condition(), node.hint())
        columns = [*c.items(operator.inputs[0].node.output()), *(n.column for n in names)]
        return Extended(c.project(columns, matched), names)

    def _as_of(self, operator: PlanOperator, witnesses: bool) -> Extended:
        """Spark finds the nearest row as a whole, names included."""
        c, node = self._catalyst, operator.node
        left, right = (self.extend(child, witnesses) for child in operator.inputs)
        outer = node.joinType().toString() == "LeftOuter"
        names = (*left.names, *(name.missing() if outer else name for name in right.names))
        return Extended(c.with_children(node, [left.plan, right.plan]), names)

    def _existence(self, operator: PlanOperator, left: Extended, witnesses: bool) -> Extended:
        c, node = self._catalyst, operator.node
        if not witnesses:
            return left._replace(plan=c.with_children(node, [left.plan, operator.inputs[1].plan(c)]))
        right = self.extend(operator.inputs[1], witnesses)
        mark = c.alias(c.literal(True, "boolean"), "__bigdebug_matched")
        matched = c.join(left.plan, c.extended(right.plan, [mark]), "leftouter", node.condition(), node.hint())
        exists = c.renamed(c.is_not_null(mark.toAttribute()), node.joinType().exists())
        columns = [*c.items(operator.inputs[0].node.output()), exists, *(n.column for n in (*left.names, *right.names))]
        return Extended(c.project(columns, matched), (*left.names, *(name.missing() for name in right.names)))


_Procedure = Callable[[Procedures, PlanOperator, bool], Extended]

_PROCEDURES: dict[str, _Procedure] = {
    "Project": Procedures._project,
    "Filter": Procedures._same,
    "Sort": Procedures._same,
    "Sample": Procedures._same,
    "ResolvedHint": Procedures._same,
    "Generate": Procedures._same,
    "Repartition": Procedures._same,
    "RepartitionByExpression": Procedures._same,
    "RebalancePartitions": Procedures._same,
    "Limit": Procedures._limit,
    "Window": Procedures._window,
    "Join": Procedures._join,
    "AsOfJoin": Procedures._as_of,
    "Union": Procedures._union,
    "Expand": Procedures._expand,
    "OneRowRelation": Procedures._constant,
    "EmptyRelation": Procedures._constant,
}


def _lacks(part: Any) -> bool:
    return any(map(_lacks, part)) if isinstance(part, tuple) else part is None


def levels_of(root: PlanOperator, others: Sequence[int] = ()) -> frozenset[int]:
    """The operators of a query at which records are named: boundaries, the result, the results of subqueries, others."""
    found = {root.id, *others}
    for operator in root:
        found.update(s.id for s in operator.subqueries)
        if operator.name in BOUNDARIES or operator.kept is not None:
            found.add(operator.id)
    return frozenset(found)
