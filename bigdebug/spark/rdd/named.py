"""Named: source records that somebody holds, found in a run by their rids and origins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bigdebug.errors import UnknownRecordError
from bigdebug.model import POSITION_BITS, POSITION_MASK, SourceRecord
from bigdebug.trace.counts import records as sizes_of
from bigdebug.trace.places import Places, places_of
from bigdebug.trace.trace import Standing

if TYPE_CHECKING:
    from bigdebug.spark.rdd.lineage_rdd import LineageRDD


def named(trace: LineageRDD, records: Iterable[SourceRecord]) -> Standing:
    """Where source records stand in the run of a trace, at each of its sources that reads them. Raises UnknownRecordError for one that none reads."""
    wanted = list(dict.fromkeys((record.rid, record.origin) for record in records))
    left, found = set(wanted), dict[int, Places]()
    for source, dataset in trace.run.datasets().items():
        sizes = sizes_of(trace.run.lineage, source)
        here = [rid for rid, origin in wanted if origin.dataset == dataset and (rid & POSITION_MASK) < sizes.get(rid >> POSITION_BITS, 0)]
        standing = {source: places_of(here)}
        origins = dict(zip(sorted(set(here)), trace._to([source], lambda standing=standing: standing).origins()))  # type: ignore[misc]
        mine = [rid for rid, origin in wanted if origins.get(rid) == origin]
        left.difference_update((rid, origins[rid]) for rid in mine)
        if mine:
            found[source] = places_of(mine)
    if left:
        raise UnknownRecordError(
            "No source of this run has such a record", value=next(iter(left))[1], remedy=f"It reads {', '.join(trace.run.datasets().values())}.",
        )
    return found
