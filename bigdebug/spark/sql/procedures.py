"""Tracing procedures: how each logical operator carries the names of the records it was made from (Cui & Widom, Perm).

Two ways to extend a plan: with *witnesses*, each row stands for one way in which a record came about, so a semi join gives a
row for each match; with *identities*, rows stay those of the query, and the names that ride along say which is which.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from bigdebug.spark.sql.extended import Extended, Name
from bigdebug.spark.sql.joins import JoinKind, kind_of_join
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.frames import settled, settled_sort
from bigdebug.spark.sql.plans.reading import PlanOperator


class Below(NamedTuple):
    """What a procedure works with: the gateway, and how the operators below are extended."""

    catalyst: Catalyst
    extend: Callable[[PlanOperator, bool], Extended]


Procedure = Callable[[Below, PlanOperator, bool], Extended]
"""Extends an operator, with witnesses or with identities."""


def _constant(below: Below, operator: PlanOperator, witnesses: bool) -> Extended:
    return Extended(operator.node, ())


def _same(below: Below, operator: PlanOperator, witnesses: bool) -> Extended:
    rows = below.extend(operator.inputs[0], witnesses)
    return rows._replace(plan=below.catalyst.with_children(operator.node, [rows.plan]))


def _window(below: Below, operator: PlanOperator, witnesses: bool) -> Extended:
    rows = below.extend(operator.inputs[0], witnesses)
    return rows if witnesses else rows._replace(plan=settled(below.catalyst, operator.node, rows.plan, [n.column for n in rows.names]))


def _sort(below: Below, operator: PlanOperator, witnesses: bool) -> Extended:
    if witnesses:
        return _same(below, operator, True)
    rows = below.extend(operator.inputs[0], False)
    return rows._replace(plan=settled_sort(below.catalyst, operator.node, rows.plan, [n.column for n in rows.names]))


def _limit(below: Below, operator: PlanOperator, witnesses: bool) -> Extended:
    rows = below.extend(operator.inputs[0], witnesses)
    if witnesses:  # which rows there are, the names above say
        return rows
    plan = rows.plan
    for node in reversed(operator.limits):
        plan = below.catalyst.with_children(node, [plan])
    return rows._replace(plan=plan)


def _project(below: Below, operator: PlanOperator, witnesses: bool) -> Extended:
    c, rows = below.catalyst, below.extend(operator.inputs[0], witnesses)
    columns = [*c.items(operator.node.projectList()), *(n.column for n in rows.names)]
    return rows._replace(plan=c.project(columns, rows.plan))


def _expand(below: Below, operator: PlanOperator, witnesses: bool) -> Extended:
    c, node = below.catalyst, operator.node
    rows = below.extend(operator.inputs[0], witnesses)
    columns = c.seq([n.column for n in rows.names])
    projections = [row.concat(columns) for row in c.items(node.projections())]
    plan = c.changed(node, {0: c.seq(projections), 1: node.output().concat(columns), 2: rows.plan})
    return rows._replace(plan=plan)


def _union(below: Below, operator: PlanOperator, witnesses: bool) -> Extended:
    c = below.catalyst
    branches = [below.extend(child, witnesses) for child in operator.inputs]
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


def _join(below: Below, operator: PlanOperator, witnesses: bool) -> Extended:
    c, node = below.catalyst, operator.node
    kind = kind_of_join(operator)
    if kind.name == "ExistenceJoin":
        return _existence(below, operator, witnesses)
    if kind.name == "LeftSemi" and witnesses:
        return matched(below, operator)
    left = below.extend(operator.inputs[0], witnesses)
    if kind.name in ("LeftAnti", "LeftSemi"):
        return left._replace(plan=c.with_children(node, [left.plan, operator.inputs[1].plan(c)]))
    right = below.extend(operator.inputs[1], witnesses)
    return Extended(c.with_children(node, [left.plan, right.plan]), _together(kind, left, right))


def _together(kind: JoinKind, *sides: Extended) -> tuple[Name, ...]:
    return tuple(name.missing() if i in kind.outer else name for i, side in enumerate(sides) for name in side.names)


def matched(below: Below, operator: PlanOperator) -> Extended:
    """The rows on the left of a join, of whichever kind, with witnesses on the right: one for each match, or the nearest."""
    if operator.name == "AsOfJoin":
        return _as_of(below, operator, True)
    c, node = below.catalyst, operator.node
    left, right = (below.extend(child, True) for child in operator.inputs)
    names = (*left.names, *right.names)
    columns = [*c.items(operator.inputs[0].node.output()), *(n.column for n in names)]
    return Extended(c.project(columns, c.join(left.plan, right.plan, "inner", node.condition(), node.hint())), names)


def _existence(below: Below, operator: PlanOperator, witnesses: bool) -> Extended:
    c, node = below.catalyst, operator.node
    left = below.extend(operator.inputs[0], witnesses)
    if not witnesses:
        return left._replace(plan=c.with_children(node, [left.plan, operator.inputs[1].plan(c)]))
    right = below.extend(operator.inputs[1], witnesses)
    mark = c.alias(c.literal(True, "boolean"), "__bigdebug_matched")
    rows = c.join(left.plan, c.extended(right.plan, [mark]), "leftouter", node.condition(), node.hint())
    exists = c.renamed(c.is_not_null(mark.toAttribute()), node.joinType().exists())
    columns = [*c.items(operator.inputs[0].node.output()), exists, *(n.column for n in (*left.names, *right.names))]
    return Extended(c.project(columns, rows), (*left.names, *(name.missing() for name in right.names)))


def _as_of(below: Below, operator: PlanOperator, witnesses: bool) -> Extended:
    """Spark finds the nearest row as a whole, names included."""
    c, node = below.catalyst, operator.node
    left, right = (below.extend(child, witnesses) for child in operator.inputs)
    return Extended(c.with_children(node, [left.plan, right.plan]), _together(kind_of_join(operator), left, right))


PROCEDURES: dict[str, Procedure] = {
    "Project": _project,
    "Filter": _same,
    "Sort": _sort,
    "Sample": _same,
    "ResolvedHint": _same,
    "Generate": _same,
    "Repartition": _same,
    "RepartitionByExpression": _same,
    "RebalancePartitions": _same,
    "Limit": _limit,
    "Window": _window,
    "Join": _join,
    "AsOfJoin": _as_of,
    "Union": _union,
    "Expand": _expand,
    "OneRowRelation": _constant,
    "EmptyRelation": _constant,
}
