"""Recursive querying (RQ): the triples of a lineage, level by level (Rajmohan et al., III-A)."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from bigdebug.provgraph.walking import cut_off
from bigdebug.spark.provgraph.kept import kept, let_go
from bigdebug.spark.provgraph.lookups import among, few, ids_in
from bigdebug.spark.sql.actions import unheard


class Far(NamedTuple):
    """A lineage that the driver does not take, in kept DataFrames."""

    start: Any
    """``item``: those that it begins at."""
    items: Any
    """``item`` and ``depth``: what was reached, and how many triples away it is. An item that it begins at is there if another one leads to it."""
    triples: Any
    stopped: str
    """Why there is no more of it; empty if this is all."""


class Ends(NamedTuple):
    """Which end of a triple a question comes from, and to which it leads."""

    near: str
    far: str


BACKWARD, FORWARD = Ends("dst", "src"), Ends("src", "dst")


def recursed(triples: Any, start: pa.Array, ends: Ends, most: int, depth: int | None = None, limit: int | None = None) -> pa.Table | Far:
    """The triples on the ways from the items ``start``, a job for each level; no further than ``depth`` levels and one more, to know whether there is one, nor
    beyond the level at which there are more than ``limit`` items.

    ``triples`` are best held by the near end. More than ``most`` of them stay in Spark, and those alone that are asked for.
    """
    seen = frontier = start
    levels: list[pa.Table] = []
    left, level = most, 0
    while len(frontier) and (depth is None or level <= depth) and (limit is None or len(seen) - len(start) <= limit):
        found = few(among(triples, ends.near, frontier), left)
        if found is None:
            return _far(triples, start, ends, depth, limit)
        levels.append(found)
        left -= found.num_rows
        level += 1
        reached = ids_in(found[ends.far]).cast(start.type)
        frontier = reached.filter(pc.invert(pc.is_in(reached, value_set=seen)))
        seen = pa.concat_arrays([seen, frontier])
    return pa.concat_tables(levels) if levels else few(triples.limit(0), 0)


def _far(triples: Any, start: pa.Array, ends: Ends, depth: int | None, limit: int | None) -> Far:
    """The same where the driver would not hold it: what is reached stays in Spark, some jobs for each level. It ends as a walk over arrays does."""
    spark, kind = triples.sparkSession, dict(triples.dtypes)[ends.near]
    begun = kept(spark.createDataFrame(pa.table({"item": start}), f"item {kind}"), "provenance")
    seen = kept(begun.where("false").select("item", F.lit(0).alias("depth")), "provenance")
    frontier, level, count = begun, 0, 0
    while True:
        ahead = triples.join(frontier.select(F.col("item").alias(ends.near)), ends.near, "left_semi")
        for name, most, now in (("depth", depth, level), ("limit", limit, count)):
            if now == most:
                more = unheard(ahead.limit(1), "count")
                return _ended(triples, begun, seen, level, ends, f"{name} {most}: there are triples beyond it" if more else "")
        new = kept(ahead.select(F.col(ends.far).alias("item")).distinct().join(seen, "item", "left_anti").select("item", F.lit(level + 1).alias("depth")), "provenance")
        found = unheard(new, "count")
        before, seen = seen, kept(seen.union(new), "provenance")
        let_go(before, new)
        level, count = level + 1, count + found
        if limit is not None and count > limit:
            why = cut_off(limit)
            return _cut(_ended(triples, begun, seen, level, ends, why), ends, limit)
        if not found:
            return _ended(triples, begun, seen, level, ends, "")
        frontier = seen.where(F.col("depth") == level).join(begun, "item", "left_anti")


def _ended(triples: Any, begun: Any, seen: Any, levels: int, ends: Ends, why: str) -> Far:
    """What so many levels reached, with the triples at all that was reached before the last."""
    near = begun.union(seen.where(F.col("depth") < levels).select("item")) if levels else begun.where("false")
    within = triples.join(near.select(F.col("item").alias(ends.near)), ends.near, "left_semi")
    # A join by name puts that column first.
    return Far(begun, seen, within.select(*triples.columns), why)


def _cut(far: Far, ends: Ends, limit: int) -> Far:
    """The nearest items, of the last level those that come first in their order, without the triples that lead to others."""
    items = kept(far.items.orderBy("depth", "item").limit(limit), "provenance")
    lost = far.items.join(items, "item", "left_anti").select(F.col("item").alias(ends.far))
    return far._replace(items=items, triples=far.triples.join(lost, ends.far, "left_anti").select(*far.triples.columns))
