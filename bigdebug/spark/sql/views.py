"""Views: the columns that a name shows of a source, which projections between the two compute of each of its records."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Node

View = tuple[Node, ...]
"""Projections, the lowest first."""


def view_of(catalyst: Catalyst, source: Node, projections: Sequence[Node]) -> View:
    """The projections, if they show other columns than the source has, the same for a record each time."""
    if not projections or any(not p.deterministic() or catalyst.asks_clock(p) for p in projections):
        return ()
    names = [column.name() for column in catalyst.items(source.output())]
    known = {column.exprId().id(): column.name() for column in catalyst.items(source.output())}
    for projection in projections:
        for each in catalyst.items(projection.projectList()):
            value = each.child() if each.nodeName() == "Alias" else each
            if value.nodeName() == "AttributeReference" and value.exprId().id() in known:
                known[each.exprId().id()] = known[value.exprId().id()]
    shows = [(a.name(), known.get(a.exprId().id())) for a in catalyst.items(projections[-1].output())]
    return () if shows == list(zip(names, names)) else tuple(projections)


def in_view(catalyst: Catalyst, source: Node, view: View) -> Node:
    """The source in the columns that the name shows."""
    return reduce(lambda plan, projection: catalyst.with_children(projection, [plan]), view, source)


def widened(catalyst: Catalyst, plan: Node, view: View) -> Node:
    """A plan over the source, with the columns that the name shows besides."""
    for projection in view:
        known = {column.exprId().id() for column in catalyst.items(plan.output())}
        plan = catalyst.extended(plan, [each for each in catalyst.items(projection.projectList()) if each.exprId().id() not in known])
    return plan
