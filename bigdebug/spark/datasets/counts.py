"""Counts: how many rows and bytes a query read from each leaf, and wrote, by the metrics of the plan that Spark executed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from bigdebug.spark.gateway import items

Physical = Any
"""A node of the plan that Spark executed."""

_ID = re.compile(r"#(\d+)(?:L|-T\d+ms)*$")

_METRIC = re.compile(r"(\w+) -> SQLMetric\(id: \d+, name: (?:Some\(.*?\)|None), value: (-?\d+)\)")

_SCANS = frozenset({
    "FileSourceScanExec", "BatchScanExec", "RowDataSourceScanExec", "InMemoryTableScanExec", "RDDScanExec", "ExternalRDDScanExec", "LocalTableScanExec", "RangeExec",
    "HiveTableScanExec", "MicroBatchScanExec",
})

_BY_RANGE, _ADAPTIVE = "rangepartitioning(", "AdaptiveSparkPlan"


class Scan(NamedTuple):
    """A scan of a source: the columns by their numbers in the plan, rows and bytes where Spark counted them, and itself."""

    kind: str
    ids: frozenset[int]
    rows: int | None
    size: int | None
    node: Physical


def ids_of(node: Any) -> frozenset[int]:
    """The numbers of the columns that a node of any plan gives. Costs two calls of the JVM."""
    told = str(node.output().mkString("\0"))
    return frozenset(int(found[1]) for each in told.split("\0") if (found := _ID.search(each)))


def scans_of(query: Any) -> list[Scan]:
    """The scans that a query executed, those of its subqueries included; none if it never came to that. What was computed once and read several
    times is one scan. Where rows are sampled before they are sorted, it is not known how many were read: these are counted more than once. Costs some ten calls
    of the JVM for each.
    """
    try:
        plan = query.executedPlan()
        said = str(plan.toString())
        return list(_scans(plan, _BY_RANGE in said and _ADAPTIVE not in said))
    except (PySparkException, Py4JError):  # it failed while it was planned
        return []


def written_by(query: Any) -> tuple[int | None, int | None]:
    """Rows and bytes that the command of a query wrote; None where Spark does not tell."""
    try:
        counts = _counted(_command(query).metrics())
    except (PySparkException, Py4JError):
        return None, None
    return counts.get("numOutputRows"), counts.get("numOutputBytes")


def committed(query: Any) -> bool:
    """Whether the command of a query wrote files: it has ended a job of theirs, if one without rows."""
    try:
        found = _command(query).metrics().get("jobCommitTime")
        return bool(found.isDefined() and not found.get().isZero())
    except (PySparkException, Py4JError):
        return False


def in_parts(query: Any) -> bool:
    """Whether the command of a query put files in the place of those of the same partitions alone. It asked the settings when it ran, which may be others by now."""
    try:
        return bool(_command(query).cmd().dynamicPartitionOverwrite())
    except (PySparkException, Py4JError):
        return False


def _scans(plan: Physical, sampled: bool = False) -> Iterator[Scan]:
    for leaf in leaves_in(plan):
        kind = str(leaf.getClass().getSimpleName())
        if kind == "AdaptiveSparkPlanExec":
            yield from _scans(leaf.executedPlan())
        elif kind.endswith("QueryStageExec"):
            below = leaf.plan()
            yield from _scans(below, sampled if kind.startswith("TableCache") else _is_sampled(below))
        elif kind in _SCANS:
            counts = _counted(leaf.metrics())
            yield Scan(kind, ids_of(leaf), None if sampled else counts.get("numOutputRows"), counts.get("filesSize"), leaf)


def _is_sampled(plan: Physical) -> bool:
    """Whether samples are taken of what a plan gives before it is sorted, for which it runs once more, and counts what it reads again."""
    return str(plan.getClass().getSimpleName()).startswith("ShuffleExchange") and str(plan.outputPartitioning().toString()).startswith(_BY_RANGE)


def leaves_in(plan: Any) -> Iterator[Any]:
    """The leaves of any plan, those of its subqueries included."""
    for each in (plan, *items(plan.subqueriesAll())):
        yield from items(each.collectLeaves())


def _command(query: Any) -> Physical:
    """The topmost node of the plan that was executed, whatever it was adapted to."""
    plan = query.executedPlan()
    while (kind := str(plan.getClass().getSimpleName())) == "AdaptiveSparkPlanExec" or kind.endswith("QueryStageExec"):
        plan = plan.executedPlan() if kind == "AdaptiveSparkPlanExec" else plan.plan()
    return plan


def _counted(metrics: Any) -> dict[str, int]:
    """What a node of a plan counted, by the names of its metrics: as Spark writes all of them, in one call."""
    return {found[1]: int(found[2]) for found in _METRIC.finditer(str(metrics.toString()))}
