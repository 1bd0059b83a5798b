"""Weakly connected sets of a graph in a DataFrame: large components cut along the splits of the workflow (Rajmohan et al., IV, Algorithm 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as F

from bigdebug.provgraph.splits import Split
from bigdebug.provgraph.workflow import Workflow
from bigdebug.spark.provgraph.components import components
from bigdebug.spark.provgraph.kept import kept, let_go
from bigdebug.spark.provgraph.tables import TABLE
from bigdebug.spark.sql.actions import unheard

LARGE = 1_000
"""Items from which on the statistics count a set as a large one (Table IX)."""


class Cut(NamedTuple):
    """What a large component, or set, fell into within one split: a cell of Table IX."""

    component: Any
    set: Any
    """The component, or the set of an earlier cut, that was cut; named by its smallest item, as all are."""
    split: str
    sets: int
    large: int
    """Sets of 1,000 items or more."""
    largest: int
    """Items of the largest set."""


class Sets(NamedTuple):
    """The sets of a graph."""

    items: Any
    """A kept DataFrame of each ``item``, its ``component`` and its ``csid``: component and set are named by their smallest item."""
    cuts: tuple[Cut, ...]


def sets(triples: Any, items: Any, workflow: Workflow, splits: Sequence[Split], threshold: int, partitions: int) -> Sets:
    """The sets of a graph: components of fewer than ``threshold`` items, and what larger ones fall into, until no set is as large or its split is a single table.

    ``items`` have ``item``, ``table`` and ``component``. All sets that are still too large are cut at once, so it takes the rounds of ``components``
    once for each level of splits within splits, over the triples within these sets.
    """
    known = kept(items.withColumn("csid", F.col("component")), "sets")
    cuts: list[Cut] = []
    for level in _levels(workflow, splits):
        counted = known.groupBy("csid").agg(F.count(F.lit(1)).alias("size"), F.max(level.has_parts).alias("has_parts"))
        large = counted.where((F.col("size") >= threshold) & F.col("has_parts")).select(F.col("csid").alias("large"))
        cut = kept(known.join(large, F.col("csid") == F.col("large"), "left_semi").withColumn("split", level.split), "sets")
        if not unheard(cut.limit(1), "count"):
            let_go(cut)
            break
        within = _within(triples, cut)
        found = components(within, partitions)
        named = cut.join(found.withColumnRenamed("component", "own"), "item", "left").withColumn("own", F.coalesce("own", "item"))
        new = kept(named, "sets")
        cuts += _cuts(new, level.names)
        rest = known.join(large, F.col("csid") == F.col("large"), "left_anti")
        before, known = known, kept(rest.select("item", TABLE, "component", "csid").union(new.select("item", TABLE, "component", F.col("own").alias("csid"))), "sets")
        let_go(before, cut, found, new)
    return Sets(known, tuple(sorted(cuts, key=lambda cut: (str(cut.component), str(cut.set), cut.split))))


def with_sets(triples: Any, items: Any) -> Any:
    """The triples with the sets of their items: ``src_csid`` and ``dst_csid``."""
    for end in ("src", "dst"):
        triples = triples.join(items.select(F.col("item").alias(end), F.col("csid").alias(f"{end}_csid")), end)
    return triples.select("src", "dst", "op", "src_csid", "dst_csid")


def dependencies(triples: Any) -> Any:
    """Which set derives which: ``src_csid`` and ``dst_csid`` of triples between two sets, each pair once."""
    return triples.where("src_csid != dst_csid").select("src_csid", "dst_csid").distinct()


class _Level(NamedTuple):
    """One round of cuts: by table, the number of the split that it is in at this depth, and whether the split around it has parts at all."""

    split: Column
    has_parts: Column
    names: Sequence[str]


def _levels(workflow: Workflow, splits: Sequence[Split]) -> Iterator[_Level]:
    """The rounds, as long as a split has parts. An item without a table is in a split of its own, with others of that kind, which has none."""
    around: dict[str, Split] = {table: Split("all", workflow.tables, tuple(splits)) for table in workflow.tables}
    while any(split.parts for split in around.values()):
        inner = {table: next((part for part in split.parts if table in part.tables), split) for table, split in around.items()}
        names = list(dict.fromkeys(split.name for split in inner.values()))
        numbers = F.lit([names.index(inner[table].name) for table in workflow.tables])
        parts = F.lit([bool(around[table].parts) for table in workflow.tables])
        place = F.col(TABLE) + 1
        yield _Level(
            F.coalesce(F.element_at(numbers, place), F.lit(len(names))), F.coalesce(F.element_at(parts, place), F.lit(False)), [*names, "no table"],
        )
        around = inner


def _within(triples: Any, cut: Any) -> Any:
    """The triples both of whose items are in the same large set and the same split of it."""
    for end in ("src", "dst"):
        own = cut.select(F.col("item").alias(end), F.col("csid").alias(f"{end}_csid"), F.col("split").alias(f"{end}_split"))
        triples = triples.join(own, end)
    return triples.where("src_csid = dst_csid AND src_split = dst_split").select("src", "dst")


def _cuts(new: Any, names: Sequence[str]) -> list[Cut]:
    sized = new.groupBy("component", "csid", "split", "own").count()
    told = sized.groupBy("component", "csid", "split").agg(
        F.count(F.lit(1)), F.count(F.when(F.col("count") >= LARGE, 1)), F.max("count"),
    )
    return [Cut(component, csid, names[split], *counts) for component, csid, split, *counts in unheard(told, "collect")]
