"""OpenLineage: a process as the events that collectors take (specification 2-0-2). Pure: the same process gives the same events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from bigdebug.datasets import facets
from bigdebug.datasets.collectors import Message, body_of
from bigdebug.datasets.facets import Facet
from bigdebug.datasets.model import Access, Dataset, Process

Event = dict[str, Any]

NAMESPACE = "bigdebug"
"""Where jobs are named, if nothing else is said."""

_BEFORE = ("START", "RUNNING")

_ENDS = {"succeeded": "COMPLETE", "failed": "FAIL", "lost": "ABORT"}


def events(process: Process, *, namespace: str = NAMESPACE, spark: str = "", over: datetime | None = None) -> tuple[Event, ...]:
    """START, and COMPLETE or FAIL once the process has ended: RunEvents of one run, by the id of the process.

    A process that still runs, a stream, has a RUNNING in place of these, once it is known what it reads or writes; where its session is ``over``
    by then, ABORT ends it. ``spark`` is Spark's version. Events of the same run are the same run to a collector however often they come, so
    sending them twice does no harm. The last one tells of columns. Costs some 5 us for each edge between columns.
    """
    start = _event("START", process.started, replace(process, columns=()), namespace, spark)
    if end := _ENDS.get(process.status) or ("ABORT" if over else ""):
        return start, _event(end, process.ended or over or process.started, process, namespace, spark)
    return (start, _event("RUNNING", process.started, process, namespace, spark)) if process.reads or process.writes else (start,)


def messages(process: Process, *, namespace: str = NAMESPACE, spark: str = "") -> list[Message]:
    """The events of a process as a collector takes them, one request each, in order."""
    return [(event["eventType"], body_of(event)) for event in events(process, namespace=namespace, spark=spark)]


def _heading(kind: str, time: datetime) -> Event:
    return {
        "eventType": kind, "eventTime": facets.instant(time), "producer": facets.PRODUCER, "schemaURL": f"{facets.SPECIFICATION}#/$defs/RunEvent",
    }


def _event(kind: str, time: datetime, process: Process, namespace: str, spark: str) -> Event:
    """Before its end nothing is told of how it goes."""
    run = facets.of_run(process, namespace, spark)
    if kind in _BEFORE:
        run.pop("errorMessage", None)
    return {
        **_heading(kind, time),
        "run": {"runId": process.id, "facets": run},
        "job": {"namespace": namespace, "name": process.job, "facets": facets.of_job(process)},
        "inputs": _each(process.reads, lambda accesses: _input(accesses, kind)),
        "outputs": _each(process.writes, lambda accesses: _output(accesses, kind, process)),
    }


def _each(accesses: Iterable[Access], told: Callable[[Sequence[Access]], Event]) -> list[Event]:
    """Each dataset once, however often it was read or written."""
    of: dict[Dataset, list[Access]] = {}
    for access in accesses:
        of.setdefault(access.dataset, []).append(access)
    return [{"namespace": dataset.namespace, "name": dataset.name, **told(each)} for dataset, each in of.items()]


def _input(accesses: Sequence[Access], kind: str) -> Facet:
    return {"facets": facets.of_dataset(accesses), "inputFacets": facets.of_input(accesses) if kind not in _BEFORE else {}}


def _output(accesses: Sequence[Access], kind: str, process: Process) -> Facet:
    dataset = accesses[0].dataset
    found = facets.of_dataset(accesses) | facets.of_columns(edge for edge in process.columns if edge.output == dataset)
    if kind == "COMPLETE":
        before = [access.dataset for access in process.reads if access.mode == "renamed"]
        found |= facets.of_lifecycle(accesses, before[0] if len(before) == 1 else None)
    return {"facets": found, "outputFacets": facets.of_output(accesses) if kind not in _BEFORE else {}}
