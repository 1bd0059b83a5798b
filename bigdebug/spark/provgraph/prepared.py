"""Prepared graphs: triples that Spark holds, each once, with what the plans know of them, found when a plan first needs it."""

from __future__ import annotations

import time
from functools import cached_property
from typing import Any

import pandas as pd
from pyspark.sql import functions as F

from bigdebug.errors import ProvenanceError
from bigdebug.provgraph.report import Findings, ImportReport, triple
from bigdebug.provgraph.sets import THRESHOLD
from bigdebug.provgraph.splits import splits_of
from bigdebug.provgraph.workflow import Workflow
from bigdebug.spark.provgraph.components import NEAR, components
from bigdebug.spark.provgraph.incoming import items_of, partitions_for, unlike
from bigdebug.spark.provgraph.kept import kept, let_go
from bigdebug.spark.provgraph.plans import Components, ConnectedSets, Plan, Recursive
from bigdebug.spark.provgraph.sets import Sets, dependencies, sets, with_sets
from bigdebug.spark.provgraph.tables import TABLE
from bigdebug.spark.sql.actions import unheard

PLANS = ("rq", "ccprov", "csprov")

_EXAMPLES = 5


class Prepared:
    """Triples as ``read`` gives them, which are let go. ``report`` says what was found in them and left out."""

    def __init__(
        self, read: Any, workflow: Workflow | None = None, threshold: int = THRESHOLD, splits: Any = None, strict: bool = False, near: int = NEAR,
    ) -> None:
        """Up to ``near`` edges are joined to components in the driver. Raises ProvenanceError, if ``strict``, for triples that are not clean."""
        began = time.perf_counter()
        self._users: list[object] = []
        self.spark = read.sparkSession
        self.workflow = workflow if workflow is not None and workflow.items is not None else None
        self._threshold, self._given, self._near = threshold, splits, near
        findings = Findings(strict)
        counted = _Counted(read, findings)
        clean = read.where("src is not null and dst is not null and src != dst")
        self.partitions = partitions_for(self.spark, counted.rows)
        self.triples = kept(clean.repartition(self.partitions, "dst").dropDuplicates(["src", "dst", "op"]), "provenance")
        let_go(read)
        [[edges, operations]] = unheard(self.triples.agg(F.count(F.lit(1)), F.countDistinct("op")), "collect")
        self.items = kept(items_of(self.triples, self.workflow, self.partitions), "provenance")
        counted.repeated(edges)
        self._look_at_tables(findings)
        self.report = ImportReport(
            counted.rows, edges, unheard(self.items, "count"), operations, findings.found(), time.perf_counter() - began, 0,
        )

    def _look_at_tables(self, findings: Findings) -> None:
        if self.workflow is None:
            return
        strange = self.items.where(F.col(TABLE).isNull())
        if count := unheard(strange, "count"):
            findings.add("no table", count, (repr(row[0]) for row in unheard(strange.limit(_EXAMPLES), "collect")))
        _add(findings, "unmade", unlike(self.triples, self.items, self.workflow))

    @cached_property
    def placed(self) -> Any:
        """Items with their ``component``."""
        found = components(self.triples, self.partitions, self._near)
        placed = kept(self.items.join(found, "item"), "components")
        let_go(found)
        return placed

    @cached_property
    def sets(self) -> Sets:
        """Items with their ``component`` and set (``csid``), and the cuts that made these. Raises ProvenanceError without a workflow."""
        if self.workflow is None:
            raise ProvenanceError(
                "Large components are cut into sets along the workflow, and none was given that says which table an item is of",
                remedy="Give workflow=Workflow.of(edges, items=...), or ask with plan='ccprov'.",
            )
        splits = splits_of(self.workflow, self._given, self._sizes)
        return sets(self.triples, self.placed, self.workflow, splits, self._threshold, self.partitions, self._near)

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

    @property
    def _sizes(self) -> dict[str, int]:
        """How many items each table has."""
        assert self.workflow is not None
        counts = unheard(self.items.where(F.col(TABLE).isNotNull()).groupBy(TABLE).count(), "collect")
        return {self.workflow.tables[place]: count for place, count in counts}

    @cached_property
    def dependencies(self) -> Any:
        """Which set derives which."""
        return kept(dependencies(self.in_sets), "sets")

    @cached_property
    def in_sets(self) -> Any:
        """The triples with the sets of their items: ``src_csid`` and ``dst_csid``."""
        return kept(with_sets(self.triples, self.sets.items), "sets")

    @cached_property
    def in_components(self) -> Any:
        """The triples with the ``component`` of their items."""
        own = self.placed.select(F.col("item").alias("dst"), "component")
        return kept(self.triples.join(own, "dst").select("src", "dst", "op", "component"), "components")

    def plan(self, name: str) -> Plan:
        """A plan, ready for questions."""
        if name == "rq":
            return Recursive(self.triples, self.partitions)
        if name == "ccprov":
            return Components(self.in_components, self.placed, self.partitions)
        return ConnectedSets(self.in_sets, self.sets.items, self.dependencies, self.partitions)

    def enter(self, user: object) -> None:
        """Somebody needs this graph, until ``leave``."""
        self._users.append(user)

    def leave(self, user: object) -> None:
        """Somebody does not need it any more; with the last one Spark forgets it."""
        self._users = [other for other in self._users if other is not user]
        if not self._users:
            self._close()

    def _close(self) -> None:
        known = vars(self)
        held = [self.triples, self.items, *(known[name] for name in ("placed", "in_components", "dependencies", "in_sets") if name in known)]
        let_go(*held, *([self.sets.items] if "sets" in known else []))


class _Counted:
    """What is wrong with the rows that were read, as they were."""

    def __init__(self, read: Any, findings: Findings) -> None:
        lost = F.col("src").isNull() | F.col("dst").isNull()
        counts = [F.count(F.lit(1)), F.count(F.when(lost, 1)), F.count(F.when(F.col("src") == F.col("dst"), 1))]
        [[self.rows, self._lost, self._loops]] = unheard(read.agg(*counts), "collect")
        self._read, self._findings = read, findings
        if self._lost:
            _add(findings, "missing", read.where(lost), self._lost)
        if self._loops:
            _add(findings, "self-loops", read.where("src = dst"), self._loops)

    def repeated(self, edges: int) -> None:
        """Tell of triples that came again, when it is known how many there are."""
        self._findings.add("duplicates", self.rows - self._lost - self._loops - edges, ())


def _add(findings: Findings, kind: str, triples: Any, count: int | None = None) -> None:
    count = unheard(triples, "count") if count is None else count
    if count:
        findings.add(kind, count, (triple(*row[:3]) for row in unheard(triples.limit(_EXAMPLES), "collect")))
