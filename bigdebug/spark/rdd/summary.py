"""Summaries of a run: what its tasks reported, by operator and by stage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bigdebug.agents.stage import Report
from bigdebug.graph import OperatorGraph
from bigdebug.model import StageStatistics, Statistics


def summary(graph: OperatorGraph, subject: int, reports: Sequence[Report]) -> Statistics:
    """Records at each operator that a task of the run counted, and what the stages took."""
    by_stage: dict[str, list[Report]] = {}
    for report in reports:
        by_stage.setdefault(report.stage, []).append(report)
    stages = tuple(
        StageStatistics(stage.id, stage.operators, sum(r.bytes for r in found), sum(r.seconds for r in found))
        for stage in graph.stages if (found := by_stage.get(stage.id))
    )
    records = _records(graph, reports)
    return Statistics(
        records_in=sum(records.get(source.id, 0) for source in graph.sources), records_out=records.get(subject, 0),
        bytes=sum(s.bytes for s in stages), seconds=sum(s.seconds for s in stages), records=records, stages=stages,
    )


def _records(graph: OperatorGraph, reports: Iterable[Report]) -> dict[int, int]:
    """Several stages may compute one operator; the one that went furthest in a partition counts."""
    stages = {stage.id: stage for stage in graph.stages}
    seen: dict[int, dict[int, int]] = {}
    for report in reports:
        stage = stages.get(report.stage)
        if stage is None or report.error:
            continue
        arrivals = stage.fetches and graph[stage.reads].form.merges
        ends = [None if arrivals else stage.reads, *(segment.operators[-1] for segment in stage.segments)]
        for operator, count in zip(ends, report.levels):
            if operator is not None:
                at = seen.setdefault(operator, {})
                at[report.partition] = max(count, at.get(report.partition, 0))
    found = {operator: sum(counts.values()) for operator, counts in seen.items()}
    # What the JVM only rearranges nobody counts: it holds what its parents hold.
    for known in graph:
        if known.form.stacked and known.id not in found and all(parent in found for parent in known.parents):
            found[known.id] = sum(found[parent] for parent in known.parents)
    return found
