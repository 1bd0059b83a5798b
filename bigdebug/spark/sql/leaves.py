"""Leaves: how the records of a source are named, and where each came from.

A rid packs the number of a file, or of a partition, and the position in it. Where Parquet tells the row, that is the
position, and filters and pruned columns still reach the file. Other sources are numbered as they are read, in splits that the
trace query pins (``asking.py``): a column of numbers right above the leaf keeps filters above it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.classic.column import Column as ClassicColumn

from bigdebug.errors import UntraceableError
from bigdebug.model import POSITION_BITS, POSITION_MASK, Origin, Rids
from bigdebug.spark.sql.catalyst import Catalyst, Expr, Node
from bigdebug.spark.sql.reading import PlanOperator

_SPARK_BITS = 33
"""Of Spark's monotonically increasing ids: the position in a partition."""

_REREAD = "dbg.snapshot(df) keeps what it gives now, to be read in its place."


@dataclass(frozen=True)
class Leaf:
    """A source of a query. ``files`` are those it reads, in the order of their numbers; none if it is in memory.

    ``counts`` says that rids count partitions, as they are read, in the place of files.
    """

    operator: int
    dataset: str
    node: Node
    rid: Column
    files: tuple[str, ...] = ()
    counts: bool = False
    lines: bool = False

    def named(self, catalyst: Catalyst) -> tuple[Node, Expr]:
        """The leaf with a column of rids, and that column."""
        plan = catalyst.plan(catalyst.frame(self.node).select("*", self.rid.alias("__bigdebug_rid")))
        return plan, plan.output().last()

    def origins(self, catalyst: Catalyst, rids: Rids) -> list[Origin]:
        """Where records came from: file and row, or line; or the index in what the program made.

        Where rids count partitions, and records of more than the first of a file or a collection are asked for, a job counts
        those before.
        """
        partitions, positions = (rids >> POSITION_BITS).tolist(), (rids & POSITION_MASK).tolist()
        if not self.counts:
            if not self.files:
                return [Origin(self.dataset, index=position) for position in positions]
            return [Origin(self.dataset, local(self.files[f]), row=position) for f, position in zip(partitions, positions)]
        if not self.files:
            earlier = self._before(catalyst, [None] * (max(partitions, default=0) + 1))
            return [Origin(self.dataset, index=position + earlier[p]) for p, position in zip(partitions, positions)]
        splits = catalyst.splits(self.node)
        earlier = self._before(catalyst, [path for path, _ in splits])
        places = [(local(splits[p][0]), position + earlier[p]) for p, position in zip(partitions, positions)]
        if self.lines:
            return [Origin(self.dataset, path, line=row + 1) for path, row in places]
        return [Origin(self.dataset, path, row=row) for path, row in places]

    def _before(self, catalyst: Catalyst, wholes: Sequence[str | None]) -> list[int]:
        """For each partition the records of the same whole that stand in other partitions before it."""
        if len(set(wholes)) == len(wholes):
            return [0] * len(wholes)
        plan, rid = self.named(catalyst)
        partition = F.shiftright(catalyst.column(rid), POSITION_BITS).alias("p")
        sizes = {row.p: row.n for row in catalyst.frame(plan).groupBy(partition).agg(F.count("*").alias("n")).collect()}
        order = range(len(wholes))
        if self.files:
            starts = [start for _, start in catalyst.splits(self.node)]
            order = sorted(order, key=lambda p: starts[p])  # type: ignore[assignment]
        seen: dict[str | None, int] = {}
        before = [0] * len(wholes)
        for p in order:
            before[p] = seen.get(wholes[p], 0)
            seen[wholes[p]] = before[p] + sizes.get(p, 0)
        return before


def leaf_of(catalyst: Catalyst, operator: PlanOperator) -> Leaf | None:
    """The leaf of a source; None if it has no records of its own (SELECT 1). Raises UntraceableError if they cannot be named."""
    maker = _LEAVES.get(operator.name)
    if maker is None:
        raise UntraceableError(
            f"{operator} cannot be read again the same way, so its records have no names", remedy=f"{_REREAD}",
        )
    leaf: Leaf | None = maker(catalyst, operator)
    return leaf


def _files(catalyst: Catalyst, operator: PlanOperator) -> Leaf:
    relation = operator.node.relation()
    if not relation.getClass().getName().endswith(".HadoopFsRelation"):
        raise UntraceableError(
            f"{operator} reads {relation.getClass().getSimpleName()}, which need not give the same records again", remedy=_REREAD,
        )
    files = tuple(sorted(catalyst.files(operator.node)))
    dataset = operator.dataset or _last_part(relation.location().rootPaths().head().toString())
    if relation.fileFormat().getClass().getSimpleName() != "ParquetFileFormat":
        return Leaf(operator.id, dataset, _pinned(catalyst, operator.node), _numbered(), files, counts=True, lines=_is_text(relation))
    metadata = ClassicColumn(catalyst.frame(operator.node)._jdf.metadataColumn("_metadata"))
    row = metadata.getField("row_index")
    rid = row if len(files) < 2 else row + F.shiftleft(_number(metadata.getField("file_path"), files), POSITION_BITS)
    return Leaf(operator.id, dataset, operator.node, rid, files)


def _number(path: Column, files: Sequence[str]) -> Column:
    """The number of a file, found by halving."""
    if len(files) == 1:
        return F.lit(0).cast("bigint")
    numbers: list[tuple[int, str]] = list(enumerate(files))

    def halve(part: Sequence[tuple[int, str]]) -> Column:
        if len(part) == 1:
            return F.lit(part[0][0]).cast("bigint")
        middle = len(part) // 2
        return F.when(path < part[middle][1], halve(part[:middle])).otherwise(halve(part[middle:]))

    return halve(numbers)


def _pinned(catalyst: Catalyst, node: Node) -> Node:
    """The relation, planned with the settings of the asking session: one split to a partition."""
    relation = node.relation()
    pinned = relation.copy(
        relation.location(), relation.partitionSchema(), relation.dataSchema(), relation.bucketSpec(),
        relation.fileFormat(), relation.options(), catalyst.jsession,
    )
    return catalyst.changed(node, {0: pinned})


def _numbered() -> Column:
    number = F.monotonically_increasing_id()
    return F.shiftleft(F.shiftright(number, _SPARK_BITS), POSITION_BITS) + number.bitwiseAND((1 << _SPARK_BITS) - 1)


def _in_memory(catalyst: Catalyst, operator: PlanOperator) -> Leaf:
    if operator.node.isStreaming():
        raise UntraceableError(f"{operator} is a stream, and its records pass once", remedy=_REREAD)
    return Leaf(operator.id, operator.dataset or "createDataFrame", operator.node, _numbered(), counts=True)


def _local(catalyst: Catalyst, operator: PlanOperator) -> Leaf:
    # How many partitions Spark makes of it depends on settings; in one, the position is the index.
    node = catalyst.plan(catalyst.frame(operator.node).coalesce(1))
    return Leaf(operator.id, operator.dataset or "createDataFrame", node, _numbered())


def _range(catalyst: Catalyst, operator: PlanOperator) -> Leaf:
    given = catalyst.column(operator.node.output().head())
    position = F.call_function("div", given - operator.node.start(), F.lit(operator.node.step()))
    return Leaf(operator.id, operator.dataset or "range", operator.node, position)


def _is_text(relation: Any) -> bool:
    options = relation.options()
    return relation.fileFormat().getClass().getSimpleName() == "TextFileFormat" and not options.contains("wholetext")


def local(uri: str) -> str:
    """The path of a local file; the URI of another."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri


def _last_part(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[-1] or path


_LEAVES: dict[str, Any] = {
    "Relation": _files, "LogicalRDD": _in_memory, "LocalRelation": _local, "CommandResult": _local,
    "Range": _range, "OneRowRelation": lambda catalyst, operator: None, "EmptyRelation": lambda catalyst, operator: None,
}
