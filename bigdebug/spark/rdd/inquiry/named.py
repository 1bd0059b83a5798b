"""Named: source records that somebody holds, found in a run by their rids and origins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bigdebug.agents.likeness import likeness
from bigdebug.errors import UnknownRecordError
from bigdebug.model import POSITION_BITS, POSITION_MASK, SourceRecord
from bigdebug.trace.counts import records as sizes_of
from bigdebug.trace.places import Places, places_of
from bigdebug.trace.trace import Standing

if TYPE_CHECKING:
    from bigdebug.spark.rdd.lineage_rdd import LineageRDD


def named(trace: LineageRDD, records: Iterable[SourceRecord]) -> Standing:
    """Where source records stand in the run of a trace. Raises UnknownRecordError for one that it did not read.

    A record of another run, or of nobody knows which source, stands at each that has the same record at the same place of the same data set.
    """
    given = {(record.source, record.rid, record.origin): record for record in records}
    left, found = set(given), dict[int, Places]()
    for source, dataset in trace.run.datasets().items():
        sizes = sizes_of(trace.run.lineage, source)
        there = {
            record.rid for record in given.values()
            if record.origin.dataset == dataset and (record.rid & POSITION_MASK) < sizes.get(record.rid >> POSITION_BITS, 0)
        }
        standing = {source: places_of(there)}
        known = {each.rid: each for each in trace._to([source], lambda standing=standing: standing).source_records()}  # type: ignore[misc]
        mine = [at for at, record in given.items() if at[1] in known and _same(record, known[at[1]], record.source in trace.run.sources)]
        left.difference_update(mine)
        if mine:
            found[source] = places_of([rid for _, rid, _ in mine])
    if left:
        raise UnknownRecordError(
            "No source of this run has such a record", value=next(iter(left))[2], remedy=f"It reads {', '.join(trace.run.datasets().values())}.",
        )
    return found


def _same(record: SourceRecord, known: SourceRecord, of_this_run: bool) -> bool:
    """Whether a record is one that a run read, whose operators' numbers are its own if it is ``of_this_run``."""
    if of_this_run:
        return record.source == known.source and record.origin == known.origin
    return record.origin == known.origin and likeness(record.record) == likeness(known.record)
