"""Pushed: the conditions of a filter that decide before its others, for it is by them that Spark reads files, or lines of one."""

from __future__ import annotations

from typing import Any

from bigdebug.spark.sql.formats import CSV, JSON, corrupt_column, format_of, reader_of
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node

_ASKING = {CSV: "spark.sql.csv.filterPushdown.enabled", JSON: "spark.sql.json.filterPushdown.enabled"}
"""Formats whose readers leave out each record that does not do, and what turns that off. (Those of columns leave out parts of files: which, nobody says.)"""

_PRUNING = "org.apache.spark.sql.catalyst.expressions.DynamicPruning"


def apart(catalyst: Catalyst, node: Node) -> Node | None:
    """A filter of what a reader gives, as one over another that has what the reader asks; None for other nodes, and where it asks nothing.

    On rows of partitions, and lines, that are not read, the other conditions do not throw, in whichever order the user wrote them.
    """
    c = catalyst
    if node.nodeName() != "Filter" or (reader := reader_of(node.child())) is None:
        return None
    names = set(reader.partitionSchema().fieldNames())
    partitioning = {column.exprId().id() for column in c.items(node.child().output()) if column.name() in names}
    conditions = c.conjuncts(node.condition())
    first = [each for each in conditions if _of_partitions(c, each, partitioning) or _asked_of_lines(c, each, reader, partitioning)]
    rest = [each for each in conditions if not any(each is other for other in first)]
    if not rest:
        return None
    first += [part for each in rest for part in _part_of_partitions(c, each, node, partitioning)]
    return c.filter(c.all_hold(rest), c.filter(c.all_hold(first), node.child())) if first else None


def without_pruning(catalyst: Catalyst, node: Node) -> Node:
    """A node without the conditions by which Spark may leave out partitions that a join has no use for: they are for its planner alone."""
    if node.nodeName() != "Filter":
        return node
    conditions = catalyst.conjuncts(node.condition())
    kept = [each for each in conditions if not catalyst.is_a(each, _PRUNING)]
    if len(kept) == len(conditions):
        return node
    return catalyst.filter(catalyst.all_hold(kept), node.child()) if kept else node.child()


def _reads(catalyst: Catalyst, condition: Expr) -> set[int]:
    """The ids of the columns that a condition reads."""
    return {column.exprId().id() for column in catalyst.items(condition.references().toSeq())}


def _of_partitions(catalyst: Catalyst, condition: Expr, partitioning: set[int]) -> bool:
    read = _reads(catalyst, condition)
    return bool(read) and read <= partitioning and bool(condition.deterministic()) and not catalyst.asks_plan(condition)


def _part_of_partitions(catalyst: Catalyst, condition: Expr, node: Node, partitioning: set[int]) -> list[Expr]:
    """What Spark concludes from a condition of the partitions that it reads: from ``(day = 1 AND a) OR (day = 2 AND b)``, the days."""
    if not partitioning & _reads(catalyst, condition) or not condition.deterministic() or catalyst.asks_plan(condition):
        return []
    columns = [column for column in catalyst.items(node.output()) if column.exprId().id() in partitioning]
    return catalyst.concluded(condition, node, columns)


def _asked_of_lines(catalyst: Catalyst, condition: Expr, reader: Any, partitioning: set[int]) -> bool:
    """What is asked of the column for malformed records, is asked when they are read."""
    setting = _ASKING.get(format_of(reader))
    if setting is None or str(catalyst.jsession.conf().get(setting)).lower() != "true" or not condition.deterministic():
        return False
    corrupt = corrupt_column(catalyst, reader).lower()
    if any(column.name().lower() == corrupt for column in catalyst.items(condition.references().toSeq())):
        return False
    return partitioning.isdisjoint(_reads(catalyst, condition)) and catalyst.is_asked_of_readers(condition)
