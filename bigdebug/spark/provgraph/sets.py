"""Weakly connected sets of a graph in a DataFrame: large components cut along the splits of the workflow (Rajmohan et al., IV, Algorithm 3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd
from pyspark.sql import Column
from pyspark.sql import functions as F

from bigdebug.provgraph.sets import Cut
from bigdebug.provgraph.splits import Split
from bigdebug.provgraph.workflow import Workflow
from bigdebug.shown import counted
from bigdebug.spark.provgraph.components import NEAR, components
from bigdebug.spark.provgraph.kept import kept, let_go
from bigdebug.spark.provgraph.tables import TABLE
from bigdebug.spark.sql.actions import unheard

LARGE = 1_000
"""Items from which on the statistics count a set as a large one (Table IX)."""


@dataclass(frozen=True, eq=False, repr=False)
class Sets:
    """Each item's set, in Spark: its component where that is small, else a part of it that lies in one split."""

    items: Any
    """A kept DataFrame of each ``item``, its ``component`` and its ``csid``: component and set are named by their smallest item."""
    cuts: tuple[Cut, ...]
    dependencies: Any
    """A DataFrame of the pairs of sets of which one has a triple's src and the other its dst, each once: ``src_csid`` and ``dst_csid``."""

    def toDF(self) -> Any:
        """Columns item, component and csid."""
        return self.items.select("item", "component", "csid")

    def __len__(self) -> int:
        """How many sets there are; a job."""
        return int(unheard(self.items.agg(F.countDistinct("csid")), "collect")[0][0])

    def __repr__(self) -> str:
        return f"sets in Spark, of {counted(len(self.cuts), 'cut')}: toDF() has them, dependencies which derives which"

    def statistics(self) -> pd.DataFrame:
        """The paper's Table IX: columns component, split, sets, large (of 1,000 items or more) and largest (items).

        LC1, LC2 ... are the components that were cut, largest first, and LC2_lc1 a set of LC2 that was cut again.
        """
        rows = [(cut.component, cut.split, cut.sets, cut.large, cut.largest) for cut in self.cuts]
        return pd.DataFrame(rows, columns=["component", "split", "sets", "large", "largest"])


def sets(triples: Any, items: Any, workflow: Workflow, splits: Sequence[Split], threshold: int, partitions: int, near: int = NEAR) -> Sets:
    """The sets of a graph: components of fewer than ``threshold`` items, and what larger ones fall into, until no set is as large or its split is a single table.

    ``items`` have ``item``, ``table`` and ``component``. All sets that are still too large are cut at once, so it takes the rounds of ``components``
    once for each level of splits within splits, over the triples within these sets.
    """
    known = kept(items.withColumn("csid", F.col("component")), "sets")
    cuts: list[Cut] = []
    names: dict[Any, str] = {}
    for level in _levels(workflow, splits):
        sized = known.groupBy("csid").agg(F.count(F.lit(1)).alias("size"), F.max(level.split).alias("split"))
        large = sized.where((F.col("size") >= threshold) & (F.col("split") >= 0)).select(F.col("csid").alias("large"))
        cut = kept(known.join(large, F.col("csid") == F.col("large"), "left_semi").withColumn("split", level.split), "sets")
        if not unheard(cut.limit(1), "count"):
            let_go(cut)
            break
        within = kept(_within(triples, cut), "sets")
        found = components(within, partitions, near)
        named = cut.join(found.withColumnRenamed("component", "own"), "item", "left").withColumn("own", F.coalesce("own", "item"))
        new = kept(named, "sets")
        names = names or _numbered("LC", unheard(cut.groupBy("csid").count(), "collect"))
        more, names = _cuts(new, level.names, names, threshold)
        cuts += more
        rest = known.join(large, F.col("csid") == F.col("large"), "left_anti")
        before, known = known, kept(rest.select("item", TABLE, "component", "csid").union(new.select("item", TABLE, "component", F.col("own").alias("csid"))), "sets")
        let_go(before, cut, within, found, new)
    return Sets(known, tuple(cuts), dependencies(with_sets(triples, known)))


def with_sets(triples: Any, items: Any) -> Any:
    """The triples with the sets of their items: ``src_csid`` and ``dst_csid``."""
    for end in ("src", "dst"):
        triples = triples.join(items.select(F.col("item").alias(end), F.col("csid").alias(f"{end}_csid")), end)
    return triples.select("src", "dst", "op", "src_csid", "dst_csid")


def dependencies(triples: Any) -> Any:
    """Which set derives which: ``src_csid`` and ``dst_csid`` of triples between two sets, each pair once."""
    return triples.where("src_csid != dst_csid").select("src_csid", "dst_csid").distinct()


class _Level(NamedTuple):
    """One round of cuts: the place of the split that an item is in, -1 if what it is in is not cut any more; and the names of the splits."""

    split: Column
    names: Sequence[str]


def _levels(workflow: Workflow, splits: Sequence[Split]) -> Iterator[_Level]:
    """The splits, their parts, the parts of these, and so on. Items of no table are together, as if they were one, where components are cut."""
    level, without_table = list(splits), len(splits)
    while level and workflow.tables:
        places = {table: place for place, split in enumerate(level) for table in split.tables}
        numbers = F.lit([places.get(table, -1) for table in workflow.tables])
        # Not element_at, of which Spark 4.3 says that it is never NULL, whatever the place is, and then leaves the coalesce out.
        yield _Level(F.coalesce(F.get(numbers, F.col(TABLE)), F.lit(without_table)), [*(split.name for split in level), "no table"])
        level, without_table = [part for split in level for part in split.parts], -1


def _within(triples: Any, cut: Any) -> Any:
    """The triples both of whose items are in the same large set and the same split of it."""
    for end in ("src", "dst"):
        own = cut.select(F.col("item").alias(end), F.col("csid").alias(f"{end}_csid"), F.col("split").alias(f"{end}_split"))
        triples = triples.join(own, end)
    return triples.where("src_csid = dst_csid AND src_split = dst_split").select("src", "dst")


def _cuts(new: Any, splits: Sequence[str], names: Mapping[Any, str], threshold: int) -> tuple[list[Cut], dict[Any, str]]:
    """What was cut, by its name, fell into; and names for what is still too large."""
    sized = kept(new.groupBy("csid", "split", "own").count(), "sets")
    told = sized.groupBy("csid", "split").agg(F.count(F.lit(1)), F.count(F.when(F.col("count") >= LARGE, 1)), F.max("count"))
    left: dict[Any, list[Any]] = {}
    for csid, own, count in unheard(sized.where(F.col("count") >= threshold).select("csid", "own", "count"), "collect"):
        left.setdefault(csid, []).append((own, count))
    order = {was: place for place, was in enumerate(names)}
    rows = sorted(unheard(told, "collect"), key=lambda row: (order[row[0]], row[1]))
    let_go(sized)
    cuts = [Cut(names[was], splits[split], *counts) for was, split, *counts in rows]
    return cuts, {own: name for was in names if was in left for own, name in _numbered(f"{names[was]}_lc", left[was]).items()}


def _numbered(name: str, sized: Iterable[Any]) -> dict[Any, str]:
    """Names of sets, given with their sizes: the largest first."""
    return {first: f"{name}{number}" for number, (first, _) in enumerate(sorted(sized, key=lambda one: (-one[1], one[0])), 1)}
