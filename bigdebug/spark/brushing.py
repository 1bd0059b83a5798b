"""Brushing: results made of one input as marks of linked views; which wing finds the links."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from bigdebug.errors import ViewError
from bigdebug.model import Rids
from bigdebug.spark.rdd import brushed
from bigdebug.spark.rdd.lineage_rdd import LineageRDD
from bigdebug.spark.sql.brushing.brushed import outputs_of
from bigdebug.spark.sql.brushing.shared import shared_input
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.trace.crossfilter.marks import Marks
from bigdebug.trace.crossfilter.outputs import Outputs, linked


def marks_of(traces: Sequence[Any], names: Sequence[str] | None = None, over: str | None = None) -> tuple[Marks, ...]:
    """The outputs of whole results, given as traces, as marks over the input that all were made of.

    ``names`` are what they are called, ``over`` is the input, if they share several. Raises ViewError for results that share none.
    """
    if not traces:
        raise ViewError("Linked views of nothing", remedy="Give captured DataFrames or RDDs.")
    if names is not None and (len(names) != len(traces) or len(set(names)) < len(names)):
        raise ViewError(f"{len(names)} names for {len(traces)} results", value=list(names), remedy="Give one for each, no two alike.")
    frames = [trace for trace in traces if isinstance(trace, LineageFrame)]
    if frames and len(frames) < len(traces):
        raise ViewError("DataFrames and RDDs have no input in common that linked views know", remedy="Brush DataFrames with DataFrames, and RDDs with RDDs.")
    results, own, behind = _of_frames(frames, over) if frames else _of_rdds(traces, over)
    marks = linked(results, _numbered(own) if names is None else names)
    return tuple(replace(each, behind=trace) for each, trace in zip(marks, behind, strict=True))


Behind = Callable[[Rids], Any]
"""The trace over records of the input that are named by their rids."""


def _of_frames(traces: Sequence[LineageFrame], over: str | None) -> tuple[list[Outputs], list[str], list[Behind]]:
    """The outputs, what each is called if nobody says, which is its first key, and the traces over the records behind each."""
    shared = shared_input([trace.run for trace in traces], over)
    results = outputs_of(traces, shared.operators)
    behind: list[Behind] = [partial(_rows_behind, trace, occurrences) for trace, occurrences in zip(traces, shared.operators, strict=True)]
    names = [next((label for label in outputs.columns if label not in {*outputs.followed, *outputs.kept}), trace.run.name) for trace, outputs in zip(traces, results)]
    return results, names, behind


def _rows_behind(trace: LineageFrame, occurrences: Collection[int], rids: Rids) -> LineageFrame:
    """They stand wherever the query reads them."""
    names = pa.array(rids, pa.int64())
    return trace.standing_at(dict.fromkeys(sorted(occurrences), names))


def _of_rdds(traces: Sequence[LineageRDD], over: str | None) -> tuple[list[Outputs], list[str], list[Behind]]:
    """The outputs, what each is called if nobody says, by its operator, and the traces over the records behind each."""
    source = brushed.shared_source(traces, over)
    operators = [trace.run.graph[trace.operators[0]] for trace in traces]
    names = [f"{operator.name}#{operator.id}" for operator in operators]
    return [brushed.outputs_of(trace, source) for trace in traces], names, [partial(trace.standing_at, source) for trace in traces]


def _numbered(names: Sequence[str]) -> list[str]:
    """The names, each once: the second of a name is ``name 2``."""
    found: list[str] = []
    for name in names:
        number = next(n for n in range(1, len(names) + 2) if (name if n == 1 else f"{name} {n}") not in found)
        found.append(name if number == 1 else f"{name} {number}")
    return found
