"""Brushed RDDs: records as marks, and which records of a source each was made of. Python says nothing of what others would make, so marks are only lit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from bigdebug.errors import TooLargeError, ViewError
from bigdebug.shown import shown
from bigdebug.spark.rdd.lineage_rdd import LineageRDD
from bigdebug.trace.counts import complete, records
from bigdebug.trace.crossfilter.outputs import MOST_MARKS, Outputs
from bigdebug.trace.marked import links
from bigdebug.trace.page import fields_of

_FOLLOWS = "Marks are only lit: what functions of Python would make of some of the records is not computed anew."


def outputs_of(trace: LineageRDD, source: int) -> Outputs:
    """The records that a trace over an RDD names, and the records of a source operator that each was made of.

    Raises TooLargeError for more than a million records, and what a trace back raises.
    """
    places, run, operator = trace.places, trace.run, trace.operators[0]
    if trace.count() > MOST_MARKS:
        raise TooLargeError(
            f"{run.graph[operator]} has {trace.count():,} records, and each would be a mark: linked views take {MOST_MARKS:,}",
            remedy="Brush what a reduceByKey or countByValue makes of it.",
        )
    found = trace.collect()
    codes, rids = links(run.lineage, operator, places, {source})
    notes = [_FOLLOWS]
    if trace.opaque:
        notes.append(f"An output counts as made of all that {' and '.join(map(str, trace.opaque))} had read before it.")
    if not complete(run.lineage, run.subject):
        notes.append(f"{run.action} did not ask for all records.")
    return Outputs(_columns(found), len(found), codes, [rids], notes=tuple(notes))


def shared_source(traces: Sequence[LineageRDD], over: str | None) -> int:
    """The operator of a source that all were made of: the one called ``over``, else that of most records. Raises ViewError if there is none."""
    reached = [_sources(trace) for trace in traces]
    shared = [source for source in reached[0] if all(source in others for others in reached)]
    if over is not None:
        shared = [source for source in shared if any(over in names[source] for names in reached)]
    if not shared:
        read = "; ".join(f"{trace.run.graph[trace.operators[0]]} reads {', '.join(map(str, trace.inputs)) or 'nothing'}" for trace in traces)
        if over is not None:
            raise ViewError(f"These results do not all read an input of this name: {read}", value=over, remedy="Say over= with one that all read, or leave it out.")
        raise ViewError(f"These results share no input: {read}", remedy="Brush RDDs that were made of one textFile() or parallelize(): reading it twice makes two.")
    return max(shared, key=lambda source: sum(records(traces[0].run.lineage, source).values())) if len(shared) > 1 else shared[0]


def _sources(trace: LineageRDD) -> dict[int, tuple[str, ...]]:
    """The sources that records were made of, and what each is called."""
    run = trace.run
    reachable = {below for operator in trace.operators for below in run.graph.upstream(operator)}
    datasets = run.datasets()
    return {source: (name, datasets[source]) for source, name in run.input_names().items() if source in reachable}


def _columns(found: Sequence[Any]) -> dict[str, pa.Array]:
    names, rows = fields_of(found)
    return {name: _array([row[i] for row in rows]) for i, name in enumerate(names)}


def _array(values: Sequence[Any]) -> pa.Array:
    """Values in Arrow; their text, if they are of no one type that it knows."""
    try:
        return pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array([None if value is None else shown(value) for value in values], pa.string())
