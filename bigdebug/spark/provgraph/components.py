"""Weakly connected components of a graph in a DataFrame, by alternating large-star and small-star (Kiveris et al., 2014).

What the driver takes, it joins there. The paper's implementation goes the way of stars. Both stars hang the neighbours of an item on the smallest item among them: large-star the larger
ones, small-star the others. Each keeps the components as they are, and when neither changes an edge, each component is a star around its smallest
item, which names it.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, Window
from pyspark.sql import functions as F

from bigdebug.provgraph.components import Joining
from bigdebug.spark.provgraph.kept import kept, let_go
from bigdebug.spark.provgraph.streaming import tables
from bigdebug.spark.sql.actions import unheard

NEAR = 20_000_000
"""Edges that are joined in the driver: 40 to 60 bytes each, beside texts."""

_TEXTS = 1 << 28
"""Bytes of texts in them, at most."""

_LONGEST, _BEGINNING = 200, 100
"""Bytes of an item up to which it names its component: the name comes with each item and triple. A longer one does by its first characters and a digest."""


@dataclass(frozen=True, eq=False, repr=False)
class Components:
    """The weakly connected components of a graph, in Spark."""

    items: Any
    """A kept DataFrame of each ``item`` and its ``component``, as ``components`` names them. An item that no triple has is one by itself."""
    triples: Any
    """A kept DataFrame of the triples with the ``component`` of their items."""

    def toDF(self) -> Any:
        """Columns item and component."""
        return self.items.select("item", "component")

    def largest(self, count: int = 10) -> pd.DataFrame:
        """Columns component, items and triples of the largest ones. A job."""
        items = self.items.groupBy("component").agg(F.count(F.lit(1)).alias("items")).orderBy(F.desc("items"), "component").limit(count)
        triples = self.triples.groupBy("component").agg(F.count(F.lit(1)).alias("triples"))
        found = items.join(triples, "component", "left").select("component", "items", F.coalesce("triples", F.lit(0)))
        rows = sorted(map(tuple, unheard(found, "collect")), key=lambda row: (-row[1], row[0]))
        return pd.DataFrame(rows, columns=["component", "items", "triples"])

    def __len__(self) -> int:
        """How many there are; a job."""
        return int(unheard(self.items.agg(F.countDistinct("component")), "collect")[0][0])

    def __repr__(self) -> str:
        return "components in Spark: toDF() has them, largest() the largest"


def components(edges: Any, partitions: int, near: int = NEAR) -> Any:
    """The component of each item that an edge has: columns ``item`` and ``component``, the smallest item of the component, or its beginning and
    SHA-256 if it is long. The frame is kept.

    ``edges``, which are kept, have columns ``src`` and ``dst`` of one type, without NULL, and none joins an item with itself. Up to ``near`` of them are joined in
    the driver. More take two jobs a round, in which they go through two shuffles of ``partitions``; there are as many rounds as the logarithm of the
    longest way between two items, or fewer, and each round's plan begins at the edges of the one before.
    """
    edges = edges.select("src", "dst")
    kind = dict(edges.dtypes)["src"]
    if near and _is_near(edges, kind, near):
        return kept(edges.sparkSession.createDataFrame(_joined(pa.concat_tables(tables(edges))), f"item {kind}, component {kind}"), "components")
    pairs = kept(edges.select(F.greatest("src", "dst").alias("item"), F.least("src", "dst").alias("near")).distinct(), "components")
    changed = True
    while changed:
        before, pairs = pairs, kept(_round(pairs, partitions), "components")
        let_go(before)
        [[changed]] = unheard(pairs.agg(F.max("changed")), "collect")  # None where there is no edge
    centres = pairs.select(F.col("near").alias("item"), F.col("near").alias("component"))
    stars = pairs.select("item", F.col("near").alias("component")).union(centres).distinct()
    if kind == "string":
        brief = F.concat(F.substring("component", 1, _BEGINNING), F.sha2("component", 256))
        stars = stars.withColumn("component", F.when(F.octet_length("component") > _LONGEST, brief).otherwise(F.col("component")))
    found = kept(stars, "components")
    let_go(pairs)
    return found


def _is_near(edges: Any, kind: str, near: int) -> bool:
    size = F.sum(F.octet_length("src") + F.octet_length("dst")) if kind == "string" else F.lit(0)
    [[count, texts]] = unheard(edges.agg(F.count(F.lit(1)), size), "collect")
    return bool(count <= near and (texts or 0) <= _TEXTS)


def _joined(edges: pa.Table) -> pa.Table:
    """The component of each item, of edges in the driver."""
    ids = pa.chunked_array([*edges["src"].chunks, *edges["dst"].chunks], edges.schema.field("src").type).combine_chunks().dictionary_encode()
    order = pc.sort_indices(ids.dictionary)
    place = np.empty(len(order), np.uint32)
    place[order.to_numpy()] = np.arange(len(order), dtype=np.uint32)
    codes = place[ids.indices.to_numpy()]
    joining = Joining(len(order))
    joining.join(codes[: edges.num_rows], codes[edges.num_rows :])
    items, labels = ids.dictionary.take(order), joining.labels()
    return pa.table({"item": items, "component": _names(items).take(pa.array(labels))})


def _names(items: pa.Array) -> pa.Array:
    """What items call their components."""
    if not pa.types.is_string(items.type):
        return items
    long = pc.greater(pc.binary_length(items), _LONGEST)
    brief = [text[:_BEGINNING] + sha256(text.encode()).hexdigest() for text in items.filter(long).to_pylist()]
    return pc.replace_with_mask(items, long, pa.array(brief, items.type))


def _round(pairs: Any, partitions: int) -> Any:
    """A large-star and a small-star: pairs of an item and a smaller one, and whether they are others than before."""
    both = F.array(F.struct("item", "near"), F.struct(F.col("near").alias("item"), F.col("item").alias("near")))
    around = pairs.select(F.explode(both).alias("pair")).select("pair.item", "pair.near", F.lit(False).alias("changed"))
    larger = _gathered(around, partitions).withColumn("least", _least()).where("near > item")
    large = larger.select(F.col("near").alias("item"), F.col("least").alias("near"), (F.col("least") != F.col("item")).alias("changed"))
    smaller = _gathered(large, partitions).withColumn("least", _least())
    own = F.struct("item", F.col("least").alias("near"), "changed")
    other = F.struct(F.col("near").alias("item"), F.col("least").alias("near"), F.lit(True).alias("changed"))
    small = F.when(F.col("near") == F.col("least"), F.array(own)).otherwise(F.array(own, other))
    return smaller.select(F.explode(small).alias("pair")).select("pair.*")


def _least() -> Column:
    """The smallest among an item and its neighbours."""
    return F.least("item", F.min("near").over(Window.partitionBy("item")))


def _gathered(pairs: Any, partitions: int) -> Any:
    """All pairs of an item together in one partition, each once."""
    return pairs.repartition(partitions, "item").groupBy("item", "near").agg(F.max("changed").alias("changed"))
