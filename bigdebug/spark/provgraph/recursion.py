"""Recursive querying (RQ): the triples of a lineage, level by level (Rajmohan et al., III-A)."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from bigdebug.spark.provgraph.kept import kept, let_go
from bigdebug.spark.provgraph.lookups import among, fetched, ids_in
from bigdebug.spark.sql.actions import unheard


class Far(NamedTuple):
    """A lineage that the driver does not take, in kept DataFrames."""

    items: Any
    """``item`` and ``depth``: how many triples away it is."""
    triples: Any


class Ends(NamedTuple):
    """Which end of a triple a question comes from, and to which it leads."""

    near: str
    far: str


BACKWARD, FORWARD = Ends("dst", "src"), Ends("src", "dst")


def recursed(triples: Any, start: pa.Array, ends: Ends, most: int, depth: int | None = None, enough: int | None = None) -> pa.Table | Far:
    """The triples on the ways from the items ``start``, a job for each level; no further than ``depth`` levels and one more, to know whether there is one, nor
    beyond the level at which there are more than ``enough`` items.

    ``triples`` are best held by the near end. More than ``most`` of them stay in Spark, and those alone that are asked for.
    """
    seen = frontier = start
    levels: list[pa.Table] = []
    left, level = most, 0
    while len(frontier) and (depth is None or level <= depth) and (enough is None or len(seen) - len(start) <= enough):
        found = fetched(among(triples, ends.near, frontier), left)
        if found is None:
            return _far(triples, start, ends, depth)
        levels.append(found)
        left -= found.num_rows
        level += 1
        reached = ids_in(found[ends.far]).cast(start.type)
        frontier = reached.filter(pc.invert(pc.is_in(reached, value_set=seen)))
        seen = pa.concat_arrays([seen, frontier])
    return pa.concat_tables(levels) if levels else pa.table({"src": start[:0], "dst": start[:0], "op": pa.nulls(0)})


def _far(triples: Any, start: pa.Array, ends: Ends, depth: int | None) -> Far:
    """The same where the driver would not hold it: what is reached stays in Spark, three jobs for each level."""
    spark = triples.sparkSession
    kind = dict(triples.dtypes)[ends.near]
    begun = spark.createDataFrame(pa.table({"item": start}), f"item {kind}").select("item", F.lit(0).alias("depth"))
    seen, level = kept(begun, "provenance"), 0
    while level != depth:
        frontier = seen.where(F.col("depth") == level).select(F.col("item").alias(ends.near))
        reached = triples.join(frontier, ends.near, "left_semi").select(F.col(ends.far).alias("item")).distinct()
        new = kept(reached.join(seen, "item", "left_anti").select("item", F.lit(level + 1).alias("depth")), "provenance")
        if not unheard(new.limit(1), "count"):
            let_go(new)
            break
        before, seen = seen, kept(seen.union(new), "provenance")
        let_go(before, new)
        level += 1
    within = seen if depth is None else seen.where(F.col("depth") < depth)
    return Far(seen, triples.join(within.select(F.col("item").alias(ends.near)), ends.near, "left_semi").select("src", "dst", "op"))
