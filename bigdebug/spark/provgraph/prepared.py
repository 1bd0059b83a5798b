"""Prepared graphs: triples that Spark holds, each once, with what the plans know of them, found when a plan first needs it."""

from __future__ import annotations

import time
from functools import cached_property
from typing import Any

import pandas as pd
from pyspark.sql import functions as F

from bigdebug.errors import ProvenanceError
from bigdebug.provgraph.report import Findings, ImportReport
from bigdebug.provgraph.sets import THRESHOLD, check_threshold
from bigdebug.provgraph.splits import Split, splits_of
from bigdebug.provgraph.workflow import Workflow
from bigdebug.spark.provgraph.checks import Rows, circles, tables_told, unlike
from bigdebug.spark.provgraph.components import NEAR, Components, components
from bigdebug.spark.provgraph.incoming import items_of, partitions_for
from bigdebug.spark.provgraph.kept import kept, let_go
from bigdebug.spark.provgraph.plans import ConnectedComponents, ConnectedSets, Plan, Recursive
from bigdebug.spark.provgraph.sets import Sets, dependencies, sets, with_sets
from bigdebug.spark.provgraph.tables import TABLE
from bigdebug.spark.sql.actions import unheard

PLANS = ("rq", "ccprov", "csprov")


def has_tables(workflow: Workflow | None) -> Workflow:
    """The workflow. Raises ProvenanceError for one that does not say which table an item is of: then nothing can be cut along it."""
    if workflow is None or workflow.items is None:
        raise ProvenanceError(
            "Large components are cut into sets along the workflow, and none was given that says which table an item is of",
            remedy="Give workflow=Workflow.of(edges, items=...), or ask with plan='ccprov'.",
        )
    return workflow


def closed() -> ProvenanceError:
    """What a graph says that was closed."""
    return ProvenanceError("This graph was closed, and Spark has forgotten it", remedy="Make it again: dbg.provenance(df, ...).")


class Prepared:
    """Triples as ``read`` gives them, which are let go. ``report`` says what was found in them and left out."""

    def __init__(
        self, read: Any, workflow: Workflow | None = None, threshold: int = THRESHOLD, splits: Any = None, strict: bool = False, near: int = NEAR,
    ) -> None:
        """Up to ``near`` edges are joined to components in the driver. Raises ProvenanceError, if ``strict``, for triples that are not clean."""
        self.spark = read.sparkSession
        self.workflow = workflow if workflow is not None and workflow.items is not None else None
        self._threshold, self._given, self._near = threshold, splits, near
        self._users: list[object] = []
        self._held: list[Any] = [read]
        self._cuts: dict[tuple[int, tuple[Split, ...]], Sets] = {}
        self.closed = False
        try:
            self._prepare(read, workflow, Findings(strict))
        except BaseException:
            self._close()
            raise

    def _prepare(self, read: Any, workflow: Workflow | None, findings: Findings) -> None:
        began = time.perf_counter()
        rows = Rows(read, findings)
        self.partitions = partitions_for(self.spark, rows.count)
        self.triples = self._hold(rows.clean.select("src", "dst", "op").repartition(self.partitions, "dst").dropDuplicates(["src", "dst", "op"]), "provenance")
        [[edges, operations]] = unheard(self.triples.agg(F.count(F.lit(1)), F.countDistinct("op")), "collect")
        rows.repeated(edges)
        # Rows tell tables also where they tell the same triple.
        self.items = self._hold(items_of(rows.clean, self.workflow, self.partitions), "provenance")
        let_go(read)
        self._held.remove(read)
        if self.workflow is not None:
            tables_told(self.items, self.workflow, findings)
        follows = workflow is not None and unlike(self.triples, self.items, workflow, findings)
        unlooked = (workflow.unlooked if workflow is not None else ()) + (() if follows else circles(self.triples, findings))
        self.report = ImportReport(
            rows.count, edges, unheard(self.items, "count"), operations, findings.found(), time.perf_counter() - began, 0, unlooked,
        )

    def _hold(self, frame: Any, what: str) -> Any:
        """Keeps a frame until this is closed."""
        self._held.append(kept(frame, what))
        return self._held[-1]

    @cached_property
    def placed(self) -> Any:
        """Items with their ``component``; one that no triple has is one by itself."""
        found = components(self.triples, self.partitions, self._near)
        columns = ["item", *([TABLE] if self.workflow is not None else [])]
        placed = self._hold(self.items.join(found, "item", "left").select(*columns, F.coalesce("component", "item").alias("component")), "components")
        let_go(found)
        return placed

    @cached_property
    def sets(self) -> Sets:
        """The sets that the plan needs, with the threshold and the splits that the graph was given. Raises ProvenanceError without a workflow."""
        return self.cut(self._threshold, self._given)

    def cut(self, threshold: int | None, given: Any) -> Sets:
        """Items with their ``component`` and set (``csid``), and the cuts that made these; where nothing is said, as the graph was given it."""
        workflow = has_tables(self.workflow)
        threshold, given = self._threshold if threshold is None else threshold, self._given if given is None else given
        check_threshold(threshold)
        splits = splits_of(workflow, given, self._sizes)
        # Each look would hold all items once more.
        if (threshold, splits) not in self._cuts:
            found = sets(self.triples, self.placed, workflow, splits, threshold, self.partitions, self._near)
            self._held.append(found.items)
            self._cuts[threshold, splits] = found
        return self._cuts[threshold, splits]

    def statistics(self) -> pd.DataFrame:
        """By table, as ``ProvenanceGraph.statistics`` has it."""
        items = self.items if self.workflow is not None else self.items.withColumn(TABLE, F.lit(None).cast("int"))
        for end, name in (("dst", "triples"), ("src", "out")):
            degrees = self.triples.groupBy(F.col(end).alias("item")).agg(F.count(F.lit(1)).alias(name))
            items = items.join(degrees, "item", "left").withColumn(name, F.coalesce(name, F.lit(0)))
        counts = F.count(F.lit(1)), F.count(F.when(F.col("triples") == 0, 1)), F.count(F.when(F.col("out") == 0, 1)), F.sum("triples"), F.max("triples")
        known = {place: row for place, *row in unheard(items.groupBy(TABLE).agg(*counts), "collect")}
        names = [] if self.workflow is None else list(self.workflow.tables)
        rows = [[name, *known.get(place, [0] * len(counts))] for place, name in enumerate(names)]
        if None in known or not names:
            rows.append([None, *known.get(None, [0] * len(counts))])
        return pd.DataFrame(rows, columns=["table", "items", "sources", "results", "triples", "fan_in"])

    @cached_property
    def _sizes(self) -> dict[str, int]:
        """How many items each table has."""
        assert self.workflow is not None
        counts = unheard(self.items.where(F.col(TABLE).isNotNull()).groupBy(TABLE).count(), "collect")
        return {self.workflow.tables[place]: count for place, count in counts}

    @cached_property
    def dependencies(self) -> Any:
        """Which set derives which."""
        return self._hold(dependencies(self.in_sets), "sets")

    @cached_property
    def in_sets(self) -> Any:
        """The triples with the sets of their items: ``src_csid`` and ``dst_csid``."""
        return self._hold(with_sets(self.triples, self.sets.items), "sets")

    @property
    def components(self) -> Components:
        """The components, with the triples in them."""
        return Components(self.placed, self.in_components)

    @cached_property
    def in_components(self) -> Any:
        """The triples with the ``component`` of their items."""
        own = self.placed.select(F.col("item").alias("dst"), "component")
        return self._hold(self.triples.join(own, "dst").select("src", "dst", "op", "component"), "components")

    def plan(self, name: str) -> Plan:
        """A plan, ready for questions."""
        if name == "rq":
            return Recursive(self.triples, self.items, self.partitions)
        if name == "ccprov":
            return ConnectedComponents(self.in_components, self.placed, self.partitions)
        return ConnectedSets(self.in_sets, self.sets.items, self.dependencies, self.partitions)

    def check_open(self) -> None:
        """Raise ProvenanceError if Spark has forgotten it."""
        if self.closed:
            raise closed()

    def enter(self, user: object) -> None:
        """Somebody needs this graph, until ``leave``."""
        self._users.append(user)

    def leave(self, user: object) -> None:
        """Somebody does not need it any more; with the last one Spark forgets it."""
        self._users = [other for other in self._users if other is not user]
        if not self._users:
            self._close()

    def _close(self) -> None:
        self.closed = True
        let_go(*self._held)
        self._held.clear()
