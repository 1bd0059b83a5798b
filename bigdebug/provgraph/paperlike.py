"""A provenance graph shaped like the one that CSProv was measured on (its section V), made from a seed.

Its figures: 25 tables in three splits; 4.6 M items and 6.4 M triples; three large components with their sets in each split (Table IX),
132 of 910 to 7,453 items, the rest of at most 100; few items with many parents; longest paths of 7 and 10 triples.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bigdebug.provgraph.papercomponents import components
from bigdebug.provgraph.papertables import LANES, LEVELS, MIXED, OPERATIONS, TABLES, dependencies, table_of
from bigdebug.provgraph.strips import Numbers, Strips, before
from bigdebug.provgraph.workflow import Workflow

_ROW_GROUP = 122_880


@dataclass(frozen=True)
class PaperLike:
    """A graph of ``scale`` times the paper's items and triples; the same for the same seed.

    Items are numbered table by table, in no order within a table: a trace gets nothing from items that lie side by side.
    """

    src: Numbers
    dst: Numbers
    starts: Numbers
    """The first item of each table, and behind them the number of items."""
    ids: Numbers
    """The item of each place in the order in which the graph was made, which is component by component."""
    spans: dict[str, range]
    """The places of LC1, LC2, LC3, of the middling components, of the largest of them (SC) and of the small ones."""

    @classmethod
    def generate(cls, seed: int = 7, scale: float = 1.0) -> PaperLike:
        """Takes 5 s and 0.6 GB at scale 1."""
        rng = np.random.default_rng([seed, round(scale * 1e6)])
        made = components(rng, scale)
        table = np.concatenate([_tables(rng, strips) for strips in made.strips])
        order = np.lexsort((rng.random(made.items), table))
        ids = np.empty(made.items, np.int64)
        ids[order] = np.arange(made.items)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(table, minlength=len(TABLES)))])
        src, dst = (np.concatenate(column) for column in zip(*made.edges))
        return cls(ids[src], ids[dst], starts, ids, made.spans)

    @property
    def items(self) -> int:
        return int(self.starts[-1])

    @cached_property
    def op(self) -> NDArray[np.uint8]:
        """The operation of each triple, as its place in OPERATIONS: the one that makes the table of its dst."""
        return table_of(self.starts, self.dst)

    def workflow(self, copies: int = 1) -> Workflow:
        """Its tables, and which items each has where the graph is written so many times."""
        ends = (self.starts * copies).tolist()
        items = {name: range(first, end) for name, first, end in zip(TABLES, ends, ends[1:]) if first < end}
        return Workflow.of(dependencies(), items=items)

    def copied(self, items: Numbers, copy: int, copies: int) -> Numbers:
        """These items in one of several copies of the graph, where each table has its items of all copies together."""
        table = table_of(self.starts, items)
        size = np.diff(self.starts)
        found: Numbers = items + (self.starts[:-1] * (copies - 1) + size * copy)[table]
        return found

    def batches(self, copies: int = 1) -> Iterator[pa.RecordBatch]:
        """The triples of so many copies, table by table within each, in batches; holds one copy besides the graph."""
        order = np.argsort(self.op, kind="stable")
        names = pa.array(OPERATIONS)
        for copy in range(copies):
            src, dst = self.copied(self.src, copy, copies)[order], self.copied(self.dst, copy, copies)[order]
            op = self.op[order]
            for low in range(0, len(order), _ROW_GROUP):
                at = slice(low, low + _ROW_GROUP)
                ops = pa.DictionaryArray.from_arrays(pa.array(op[at].astype(np.int32)), names)
                yield pa.record_batch({"src": src[at], "dst": dst[at], "op": ops})

    def write(self, path: Path, copies: int = 1) -> None:
        """One Parquet file of all triples. Replication is how the paper makes 100 M (9 copies), 250 M (24) and 500 M (48)."""
        batches = self.batches(copies)
        head = next(batches)
        with pq.ParquetWriter(path, head.schema, compression="zstd") as file:
            file.write_batch(head)
            for batch in batches:
                file.write_batch(batch)


def _tables(rng: np.random.Generator, strips: Strips) -> NDArray[np.uint8]:
    """A strip keeps to one table in each level, its lane, but for the mixed ones."""
    level = strips.level_of_items()
    lane = np.repeat(rng.integers(0, LANES, len(strips.counts)), strips.sizes)
    lane += np.where(np.isin(level, MIXED), np.arange(strips.items), 0)
    width = np.array([len(names) for names in LEVELS])
    found: NDArray[np.uint8] = (before(width)[level] + lane % width[level]).astype(np.uint8)
    return found
