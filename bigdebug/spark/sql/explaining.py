"""Explaining: what some source rows of a query have in common against others of the same source. Reads a draw of both."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Row
from pyspark.sql import functions as F

from bigdebug.mining.predicates import Separation, separating
from bigdebug.spark.rdd.explaining import CULPRITS, OTHERS, Names, noted
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.spark.sql.rows import RID


def separations(culprits: LineageFrame, others: LineageFrame | None, names: Names = None) -> dict[str, Separation]:
    """By the name of a source, what holds of its rows in ``culprits`` and of few of its rows in ``others``; of all its others, if that is None.

    Both stand at sources. Of more than CULPRITS and OTHERS rows of a source a draw is read, the same each time. Up to four jobs for each
    source, of which one or two read it. Raises TooLargeError for more culprits than the driver takes the rids of.
    """
    found = {}
    culprits._check_sources("explain()")
    for source in culprits._by_source():
        here = culprits._part([o for o in culprits.operators if _same(culprits, o, source)])
        known = set(here.rids().tolist())
        if known:
            there = culprits.standing_at({source: None}) if others is None else others._part([o for o in others.operators if _same(others, o, source)])
            bad = [row for _, row in _drawn(here, CULPRITS)]
            healthy = [row for rid, row in _drawn(there, OTHERS + len(known)) if rid not in known][:OTHERS]
            of = there.count() - (len(known) if others is None else len(known.intersection(there.rids().tolist())))
            found[culprits.run.datasets()[source]] = noted(separating(bad, healthy, names), len(known), of)
    return found


def _same(trace: LineageFrame, one: int, other: int) -> bool:
    """Whether two operators read one source."""
    return bool(trace.run.questions.one_of(one) == trace.run.questions.one_of(other))


def _drawn(trace: LineageFrame, most: int) -> list[tuple[int, Any]]:
    """Rids and rows: all, or so many of them, those whose rids hash lowest."""
    frame, _ = trace._located(None)
    rows = unheard(frame.orderBy(F.xxhash64(RID), RID).limit(most), "collect")
    row_of = Row(*frame.columns[1:])
    return [(row[0], row_of(*row[1:])) for row in rows]
