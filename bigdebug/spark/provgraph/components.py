"""Weakly connected components of a graph in a DataFrame, by alternating large-star and small-star (Kiveris et al., 2014).

The paper's implementation goes the same way. Both stars hang the neighbours of an item on the smallest item among them: large-star the larger
ones, small-star the others. Each keeps the components as they are, and when neither changes an edge, each component is a star around its smallest
item, which names it.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, Window
from pyspark.sql import functions as F

from bigdebug.spark.provgraph.kept import kept, let_go
from bigdebug.spark.sql.actions import unheard

def components(edges: Any, partitions: int) -> Any:
    """The component of each item that an edge has: columns ``item`` and ``component``, the smallest item of the component. The frame is kept.

    ``edges`` has columns ``src`` and ``dst`` of one type, without NULL; an edge from an item to itself says that there is this item. Two jobs a round, in which
    the edges go through two shuffles of ``partitions``; there are as many rounds as the logarithm of the longest way between two items, or
    fewer, and each round's plan begins at the edges of the one before.
    """
    own = F.col("src") == F.col("dst")
    alone = edges.where(own).select(F.col("src").alias("item"), F.col("dst").alias("component"))
    pairs = kept(edges.where(~own).select(F.greatest("src", "dst").alias("item"), F.least("src", "dst").alias("near")).distinct(), "components")
    changed = True
    while changed:
        before, pairs = pairs, kept(_round(pairs, partitions), "components")
        let_go(before)
        [[changed]] = unheard(pairs.agg(F.max("changed")), "collect")  # None where there is no edge
    centres = pairs.select(F.col("near").alias("item"), F.col("near").alias("component"))
    stars = pairs.select("item", F.col("near").alias("component"))
    found = kept(stars.union(centres).union(alone.join(stars, "item", "left_anti")).distinct(), "components")
    let_go(pairs)
    return found


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
