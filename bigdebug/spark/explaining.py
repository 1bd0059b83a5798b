"""Explaining: what ``dbg.explain`` is given, made sense of, and which wing answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from bigdebug.agents.likeness import likeness
from bigdebug.errors import LocalizeError, UnknownOperatorError, UnknownRecordError
from bigdebug.localize.diagnosis import Diagnosis
from bigdebug.mining.mined import Explanation
from bigdebug.mining.predicates import Separation
from bigdebug.model import SourceRecord
from bigdebug.shown import shown
from bigdebug.spark.rdd.inquiry import explaining as of_rdds
from bigdebug.spark.rdd.inquiry.explaining import Names
from bigdebug.spark.rdd.inquiry.named import named
from bigdebug.spark.rdd.lineage_rdd import LineageRDD
from bigdebug.spark.sql.inquiry import explaining as of_frames
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.trace.sourced import Sourced

Sources = LineageRDD | LineageFrame


def explain(culprits: Any, among: Sources | None, part: bool, names: Names) -> Explanation:
    """What culprits have in common; ``among`` is a trace over all outputs, or, if ``part``, over the records that they are compared with."""
    if isinstance(culprits, LineageRDD | LineageFrame):
        among, part = (culprits, False) if among is None else (among, part)
        if among.run is not culprits.run:
            raise UnknownOperatorError("The culprits and those among which they are looked at are of two runs", value=among, remedy="Trace both in one.")
        traced = culprits.goBackAll()
    else:
        records = _records(culprits)
        if among is None:
            raise TypeError("explain() of records takes among=, the run or the RDD or DataFrame that they are sources of; dbg.explain(diagnosis, among=report)")
        traced = _traced(records, among)
    found: dict[str, Separation]
    if isinstance(among, LineageRDD):
        others = among.goBackAll().standing if part else of_rdds.every_source(among)
        found = of_rdds.separations(among, traced.standing, {s: of_rdds.without(at, traced.standing.get(s, {})) for s, at in others.items()}, names)
    else:
        found = of_frames.separations(traced, among.goBackAll() if part else None, names)
    if not found:
        raise LocalizeError("There are no culprits to explain", value=culprits, remedy="Give a trace that names records, or what was found of some.")
    return Explanation(found)


def _records(given: Any) -> list[SourceRecord]:
    """The source records that somebody means: those of a diagnosis, behind culprits, or themselves."""
    if isinstance(given, Diagnosis):
        return [record for fault in given.fault_sets for record in fault.records]
    if isinstance(given, Sourced | SourceRecord):
        given = [given]
    found: list[SourceRecord] = []
    for each in given if isinstance(given, Iterable) and not isinstance(given, str | bytes) else [given]:
        if isinstance(each, SourceRecord):
            found.append(each)
        elif isinstance(each, Sourced):
            found += each.sources
        else:
            raise TypeError(f"explain() takes a trace, a diagnosis, culprits or source records, not {shown(each)}; dbg.explain(trace.goBackAll())")
    return found


def _traced(records: list[SourceRecord], among: Sources) -> Any:
    """The trace over source records of a run. Raises UnknownRecordError for one that it did not read."""
    if isinstance(among, LineageRDD):
        standing = named(among, records)
        return among._to(standing, lambda: standing)
    by_dataset: dict[str, set[int]] = {}
    for record in records:
        by_dataset.setdefault(record.origin.dataset, set()).add(record.rid)
    known = among.run.datasets()
    if strange := [record for record in records if record.origin.dataset not in known.values()]:
        raise UnknownRecordError("No source of this run has such a record", value=strange[0], remedy=f"It reads {', '.join(known.values())}.")
    found = among.standing_at({source: pa.array(sorted(by_dataset[dataset]), pa.int64()) for source, dataset in known.items() if dataset in by_dataset})
    there = {(each.origin.dataset, each.rid): likeness(each.record) for each in found.source_records()}
    if strange := [record for record in records if there.get((record.origin.dataset, record.rid)) != likeness(record.record)]:
        raise UnknownRecordError("The source of this name has another record in its place now", value=strange[0], remedy="Give the query that the records were found in: among=df.")
    return found
