"""A leaf of a query: a source whose records are named, what its name shows, and where each record came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.classic.column import Column as ClassicColumn

from bigdebug.model import POSITION_BITS, POSITION_MASK, Origin, Rids
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.literals import sql_of
from bigdebug.spark.sql.views import View, in_view
from bigdebug.trace.whereabouts import Whereabouts

_RID, _PATH, _NUMBER, _READ, _ROW = (f"__bigdebug_{name}" for name in ("rid", "path", "number", "read", "row"))

_SPELLED = 32
"""Up to so many files are told apart by an expression, more by a join."""

_UNLISTED = f"CAST(raise_error(concat('bigdebug does not know the file ', {_READ})) AS BIGINT)"
"""Better no answer than a row under the name of another."""

IN_MEMORY = "createDataFrame"
"""What sources in memory are called that have no other name."""


@dataclass(frozen=True)
class Leaf:
    """A source of a query. ``files`` are those it reads, in the order of their numbers; none if it is in memory.

    ``dataset`` is one for all occurrences of the same source, ``name`` for this one. ``counts`` says that rids count
    partitions, as they are read, in the place of files; ``fixed`` that the query has the records in it, as VALUES or range(). ``view``
    says which columns its name shows, if not its own.
    """

    operator: int
    dataset: str
    node: Node
    rid: Column
    files: tuple[str, ...] = ()
    counts: bool = False
    lines: bool = False
    name: str = ""
    fixed: bool = False
    view: View = ()
    _counted: list[Mapping[int, int]] = field(default_factory=list, init=False, repr=False, compare=False)
    """The records of its partitions, behind the first job that counted them."""

    def named(self, catalyst: Catalyst) -> tuple[Node, Expr]:
        """The leaf with a column of rids, and that column."""
        if len(self.files) > 1 and not self.counts:
            plan = _numbered_files(catalyst, self)
        else:
            plan = catalyst.plan(catalyst.frame(self.node).select("*", self.rid.alias(_RID)))
        return plan, plan.output().last()

    def columns(self, catalyst: Catalyst) -> list[Expr]:
        """The columns that its name shows."""
        return catalyst.items((self.view[-1] if self.view else self.node).output())

    def rows(self, catalyst: Catalyst) -> Node:
        """Its records in these columns."""
        return in_view(catalyst, self.node, self.view)

    def shown(self, catalyst: Catalyst, plan: Node, name: Expr) -> Node:
        """A plan with its columns, with those that its name shows in their place, and ``name``."""
        return reduce(lambda below, projection: catalyst.carrying(projection, below, name), self.view, plan)

    def origins(self, catalyst: Catalyst, rids: Rids) -> list[Origin]:
        """Where records came from: file and row, or line; or the index in what the program made.

        Where rids count partitions, and records of more than the first of a file or a collection are asked for, a job counts
        those before, once.
        """
        partitions, positions = (rids >> POSITION_BITS).tolist(), (rids & POSITION_MASK).tolist()
        known = self.whereabouts(catalyst, max(partitions, default=0))
        return [origin for p, position in zip(partitions, positions) for origin in known.origins(p, [position])]

    def whereabouts(self, catalyst: Catalyst, last: int) -> Whereabouts:
        """Where the records of files, or of partitions up to the ``last`` one, came from. A job counts, once, where there are several of the same whole."""
        if self.files:
            return Whereabouts(self.dataset, self.name, "line" if self.lines else "row", tuple(self.pieces(catalyst)))
        firsts = self._before(catalyst, [None] * (last + 1)) if self.counts else [0]
        return Whereabouts(self.dataset, self.name, "index", tuple((None, first) for first in firsts))

    def pieces(self, catalyst: Catalyst) -> list[tuple[str, int]]:
        """By the numbers that rids have of them, the files or the pieces of files that are read, with the number of the first record of each in its file."""
        if not self.counts:
            return [(local(file), 0) for file in self.files]
        splits = catalyst.splits(self.node)
        earlier = self._before(catalyst, [path for path, _ in splits])
        return [(local(path), before) for (path, _), before in zip(splits, earlier, strict=True)]

    def _before(self, catalyst: Catalyst, wholes: Sequence[str | None]) -> list[int]:
        """For each partition the records of the same whole that stand in other partitions before it."""
        if len(set(wholes)) == len(wholes):
            return [0] * len(wholes)
        sizes = self._sizes(catalyst)
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

    def _sizes(self, catalyst: Catalyst) -> Mapping[int, int]:
        """By partition, how many records it has, if any. Its records are those that the query read, so they are counted once."""
        if not self._counted:
            plan, rid = self.named(catalyst)
            partition = F.shiftright(catalyst.column(rid), POSITION_BITS).alias("p")
            counted = catalyst.frame(plan).groupBy(partition).agg(F.count("*").alias("n"))
            self._counted.append({row.p: row.n for row in unheard(counted, "collect")})
        return self._counted[0]


def metadata_of(catalyst: Catalyst, node: Node) -> Any:
    """Spark's hidden column about the file that a row was read from."""
    column: Any = ClassicColumn
    return column(catalyst.frame(node)._jdf.metadataColumn("_metadata"))


def _numbered_files(catalyst: Catalyst, leaf: Leaf) -> Node:
    """The leaf with rids of which the number of the file is a part."""
    frame = catalyst.frame(leaf.node)
    metadata = metadata_of(catalyst, leaf.node)
    path, row = metadata.getField("file_path"), metadata.getField("row_index")
    located = frame.select("*", path.alias(_READ), row.alias(_ROW))
    if len(leaf.files) <= _SPELLED:
        number = F.expr(_number(list(enumerate(leaf.files))))
    else:
        numbers = pa.table({_PATH: list(leaf.files), _NUMBER: pa.array(range(len(leaf.files)), pa.int64())})
        known = catalyst.spark.createDataFrame(numbers)
        located = located.join(F.broadcast(known), F.col(_READ) == F.col(_PATH), "left")
        number = F.expr(f"coalesce({_NUMBER}, {_UNLISTED})")
    columns = [catalyst.column(a) for a in catalyst.items(leaf.node.output())]
    return catalyst.plan(located.select(*columns, (F.col(_ROW) + F.shiftleft(number, POSITION_BITS)).alias(_RID)))


def _number(files: Sequence[tuple[int, str]]) -> str:
    """The number of a file, found by halving, in SQL."""
    if len(files) == 1:
        number, name = files[0]
        return f"IF({_READ} = {sql_of(name, 'STRING')}, {number}L, {_UNLISTED})"
    middle = len(files) // 2
    return f"IF({_READ} < {sql_of(files[middle][1], 'STRING')}, {_number(files[:middle])}, {_number(files[middle:])})"


def local(uri: str) -> str:
    """The path of a local file; the URI of another."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri
