"""Explaining: what some source rows of a query have in common against others of the same source. Reads a draw of both."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql import functions as F

from bigdebug.mining.predicates import Separation, separating
from bigdebug.model import Rids
from bigdebug.spark.rdd.inquiry.explaining import CULPRITS, OTHERS, Names, noted
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.spark.sql.rows import RID


def separations(culprits: LineageFrame, others: LineageFrame | None, names: Names = None) -> dict[str, Separation]:
    """By the name of a source, what holds of its rows in ``culprits`` and of few of its rows in ``others``; of all its others, if that is None.

    Both stand at sources. Of more than CULPRITS and OTHERS rows of a source a draw is read, the same each time. Up to four jobs for each
    source, of which one or two read it. Raises TooLargeError for more rows than the driver takes the rids of.
    """
    found = {}
    culprits._check_sources("explain()")
    for source in culprits._by_source():
        here = culprits._part([o for o in culprits.operators if _same(culprits, o, source)])
        known = here.rids()
        if len(known):
            there = culprits.standing_at({source: None}) if others is None else others._part([o for o in others.operators if _same(others, o, source)])
            bad = _read(culprits, source, _drawn(known, CULPRITS))
            if others is None and len(known) <= OTHERS:  # so few that they need not be left out before the draw
                gone = set(known.tolist())
                healthy = [row for rid, row in _lowest(there, OTHERS + len(known)) if rid not in gone][:OTHERS]
                size = there.count() - len(known)
            else:
                rids = np.setdiff1d(there.rids(), known, assume_unique=True)
                healthy, size = _read(culprits, source, _drawn(rids, OTHERS)), len(rids)
            found[culprits.run.datasets()[source]] = noted(separating(bad, healthy, names), len(known), size)
    return found


def _same(trace: LineageFrame, one: int, other: int) -> bool:
    """Whether two operators read one source."""
    return bool(trace.run.questions.one_of(one) == trace.run.questions.one_of(other))


def _drawn(rids: Rids, most: int) -> Rids:
    """All, or so many of them, the same each time."""
    return rids if len(rids) <= most else np.sort(np.random.default_rng(0).choice(rids, most, replace=False))


def _read(trace: LineageFrame, source: int, rids: Rids) -> list[Row]:
    return [row for _, row in _lowest(trace.standing_at({source: pa.array(rids, pa.int64())}), len(rids))] if len(rids) else []


def _lowest(trace: LineageFrame, most: int) -> list[tuple[int, Row]]:
    """Rids and rows: so many of them, those whose rids hash lowest."""
    frame, _ = trace._located(None)
    rows = unheard(frame.orderBy(F.xxhash64(RID), RID).limit(most), "collect")
    row_of = Row(*frame.columns[1:])
    return [(row[0], row_of(*row[1:])) for row in rows]
