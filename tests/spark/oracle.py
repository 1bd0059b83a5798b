"""The re-execution oracle of law 3: a row of a query comes out again if every base table is replaced by its lineage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from bigdebug import DebugSession


def replaced(views: Mapping[str, Any], lineage: Any) -> None:
    """Put the lineage of each table in its place; nothing, where it has none."""
    for name, frame in views.items():
        known = name in lineage.inputs
        (lineage[name].toDF() if known else frame.limit(0)).createOrReplaceTempView(name)


def restored(views: Mapping[str, Any]) -> None:
    for name, frame in views.items():
        frame.createOrReplaceTempView(name)


def check_whole(dbg: DebugSession, sql: str, views: Mapping[str, Any]) -> None:
    """See that all rows come out of the lineage of all of them."""
    restored(views)
    frame = dbg.spark.sql(sql)
    if not (lineage := dbg.lineage(frame)).inputs:
        return
    try:
        replaced(views, lineage.goBackAll())
        again = dbg.spark.sql(sql).collect()
    finally:
        restored(views)
    assert Counter(again) == Counter(frame.collect())


def check(dbg: DebugSession, sql: str, views: Mapping[str, Any], rows: Iterable[Any]) -> list[tuple[Any, Any]]:
    """See that each of ``rows`` comes out of its lineage alone; gives them with it."""
    restored(views)
    checked = []
    frame = dbg.spark.sql(sql)
    for row in rows if dbg.lineage(frame).inputs else ():
        lineage = dbg.lineage(frame).where(row).goBackAll()
        try:
            replaced(views, lineage)
            again = dbg.spark.sql(sql).collect()
        finally:
            restored(views)
        assert row in again, f"{row} is not among {again[:10]}"
        checked.append((row, lineage))
    return checked
