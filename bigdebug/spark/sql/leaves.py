"""Leaves: how the records of a source are named, and where each came from.

A rid packs the number of a file, or of a partition, and the position in it. Where Parquet tells the row, that is the
position, and filters and pruned columns still reach the file. Other sources are numbered as they are read, in splits that the
trace query pins (``sessions.py``): a column of numbers right above the leaf keeps filters above it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from bigdebug.errors import UntraceableError
from bigdebug.model import POSITION_BITS
from bigdebug.spark.sql.formats import PARQUET, TEXT, format_of, option, reader_of
from bigdebug.spark.sql.leaf import IN_MEMORY, Leaf, metadata_of
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.domains import DOMAIN
from bigdebug.spark.sql.plans.expressions import Node
from bigdebug.spark.sql.plans.reading import PlanOperator
from bigdebug.spark.sql.views import in_view, view_of

_LONG = 2**63 - 1

_SPARK_BITS = 33
"""Of Spark's monotonically increasing ids: the position in a partition."""

_REREAD = "Capture with strategy='inject', which keeps what it gives, or put df.localCheckpoint() in its place."


def leaves_of(catalyst: Catalyst, root: PlanOperator) -> dict[int, Leaf]:
    """The sources of a query, by operator. Raises UntraceableError if the records of one cannot be named."""
    found: dict[int, Leaf] = {}
    again: dict[int, tuple[Leaf, int]] = {}
    called: Counter[str] = Counter()
    known: dict[Any, list[PlanOperator]] = {}
    for operator in root:
        if operator.inputs or operator.name == DOMAIN or (leaf := _leaf(catalyst, operator)) is None:
            continue
        if operator.repeats is not None:
            again[operator.id] = leaf, operator.repeats
            continue
        called[leaf.dataset] += 1
        name = leaf.dataset if called[leaf.dataset] == 1 else f"{leaf.dataset}#{called[leaf.dataset]}"
        # Two sources may be called alike; one that is read again is the same, also under another alias.
        others = known.setdefault((leaf.files, operator.node.semanticHash(), None if operator.aliased else leaf.dataset), [])
        same = [other for other in others if other.node.sameResult(operator.node)]
        found[operator.id] = replace(leaf, dataset=found[same[0].id].dataset if same else name, name=name)
        others.append(operator)
        if any(other.dataset != operator.dataset for other in same):  # no alias is that of the others
            unnamed = _leaf(catalyst, replace(operator, dataset=None))
            for each in (*same, operator):
                found[each.id] = replace(found[each.id], dataset=f"{unnamed.dataset if unnamed else name} ({same[0].dataset})")
        alike = (operator, *same)
        shown = [in_view(catalyst, each.node, found[each.id].view) for each in alike] if any(found[each.id].view for each in alike) else []
        if any(not each.sameResult(shown[0]) for each in shown[1:]):  # one name, and several views
            for each in alike:
                found[each.id] = replace(found[each.id], view=())
    for operator_id, (leaf, first) in again.items():
        view = leaf.view if found[first].view else ()
        found[operator_id] = replace(leaf, dataset=found[first].dataset, name=found[first].name, view=view)
    return found


def unreadable(catalyst: Catalyst, operator: PlanOperator) -> bool:
    """Whether a source need not give the same records again, in the same order, but can be read."""
    if operator.inputs or operator.name == DOMAIN:
        return False
    try:
        _leaf(catalyst, operator)
    except UntraceableError as refused:
        return refused.remedy == _REREAD
    return False


def _leaf(catalyst: Catalyst, operator: PlanOperator) -> Leaf | None:
    """The leaf of a source; None if it has no records of its own (SELECT 1)."""
    maker = _LEAVES.get(operator.name)
    if operator.node.isStreaming():
        raise UntraceableError(f"{operator} is a stream, and its records pass once", remedy="Write it to a table, and trace queries of that.")
    if operator.name == "UnionLoopRef":
        raise UntraceableError(
            f"{operator.dataset or 'A query'}{operator.place} is recursive (WITH RECURSIVE), and rows of a recursion have no names",
            remedy="Put df.localCheckpoint() in its place: a trace ends there.",
        )
    if maker is None:
        raise UntraceableError(
            f"{operator} cannot be read again the same way, so its records have no names", remedy=_REREAD,
        )
    leaf: Leaf | None = maker(catalyst, operator)
    return None if leaf is None else replace(leaf, view=view_of(catalyst, operator.node, operator.view))


def _files(catalyst: Catalyst, operator: PlanOperator) -> Leaf:
    reader = reader_of(operator.node)
    if reader is None:
        raise UntraceableError(
            f"{operator} reads {operator.node.relation().getClass().getSimpleName()}, which need not give the same records again", remedy=_REREAD,
        )
    files = tuple(sorted(catalyst.files(reader.location())))
    if len(set(files)) < len(files):
        raise UntraceableError(
            f"{operator} reads a file twice, and two records of it have one name", remedy="Read it once, and union() it with itself.",
        )
    dataset = operator.dataset or _last_part(reader.location().rootPaths().head().toString())
    if format_of(reader) != PARQUET:
        return Leaf(operator.id, dataset, _pinned(catalyst, operator.node), _numbered(), files, counts=True, lines=_is_text(reader))
    row = metadata_of(catalyst, operator.node).getField("row_index")
    files = tuple(sorted(map(_as_metadata, files)))
    return Leaf(operator.id, dataset, operator.node, row, files)


def _as_metadata(uri: str) -> str:
    """The URI of a file as Spark writes it in that column."""
    return "file:/" + uri.removeprefix("file:///") if uri.startswith("file:///") else uri


def _pinned(catalyst: Catalyst, node: Node) -> Node:
    """The relation, planned with the settings of the asking session: one split to a partition. What is cached of it has others."""
    relation = node.relation()
    pinned = relation.copy(
        relation.location(), relation.partitionSchema(), relation.dataSchema(), catalyst.some(None),
        relation.fileFormat(), relation.options().updated("bigdebug", "pinned"), catalyst.jsession,
    )
    return catalyst.changed(node, {0: pinned})


def _numbered() -> Column:
    number = F.monotonically_increasing_id()
    return F.shiftleft(F.shiftright(number, _SPARK_BITS), POSITION_BITS) + number.bitwiseAND((1 << _SPARK_BITS) - 1)


def _in_memory(catalyst: Catalyst, operator: PlanOperator) -> Leaf:
    return Leaf(operator.id, operator.dataset or IN_MEMORY, operator.node, _numbered(), counts=True)


def _local(catalyst: Catalyst, operator: PlanOperator) -> Leaf:
    # How many partitions Spark makes of it depends on settings; in one, the position is the index.
    node = catalyst.plan(catalyst.frame(operator.node).coalesce(1))
    return Leaf(operator.id, operator.dataset or IN_MEMORY, node, _numbered(), fixed=_is_written(operator))


def _range(catalyst: Catalyst, operator: PlanOperator) -> Leaf:
    given = catalyst.column(operator.node.output().head())
    start, end, step = operator.node.start(), operator.node.end(), operator.node.step()
    if abs(end - start) > _LONG:
        given = given.cast("decimal(20, 0)")
    position = F.call_function("div", given - start, F.lit(step)).cast("bigint")
    return Leaf(operator.id, operator.dataset or "range", operator.node, position, fixed=_is_written(operator))


def _is_written(operator: PlanOperator) -> bool:
    """Whether the records stand in the query itself, under no name by which others could be put in their place."""
    return (operator.aliased or not operator.dataset) and bool(operator.node.origin().sqlText().isDefined())


def _is_text(reader: Any) -> bool:
    return format_of(reader) == TEXT and option(reader, "wholetext") != "true"


def _last_part(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[-1] or path


_LEAVES: dict[str, Any] = {
    "Relation": _files, "LogicalRDD": _in_memory, "LocalRelation": _local, "CommandResult": _local,
    "Range": _range, "OneRowRelation": lambda catalyst, operator: None, "EmptyRelation": lambda catalyst, operator: None,
}
