"""Spoiled sources: what is at the bottom of a query, and fails by itself on some of its records."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from bigdebug.errors import UntraceableError
from bigdebug.spark.cancelled import is_cancelled
from bigdebug.spark.sql.crashes.blamed import At, Blamed, Input, Looking
from bigdebug.spark.sql.crashes.readable import readable
from bigdebug.spark.sql.crashes.strict import HANDED_OVER, Strict, is_strict
from bigdebug.spark.sql.failures import brief
from bigdebug.spark.sql.frame_runs import FrameRuns
from bigdebug.spark.sql.plans.expressions import Node


def may_fail(leaf: Node) -> bool:
    """Whether a source is one that may fail on records of its own."""
    return leaf.nodeName() == "LogicalRDD" or is_strict(leaf)


def spoiled(frames: FrameRuns, blamed: Blamed, frame: Any, leaf: Node, at: At, unknown: list[str]) -> Looking:
    """What a source fails on, of the plan of ``frame``, as it is found; gives the source without that, if it is known. What is not looked at is ``unknown``."""
    if leaf.nodeName() == "LogicalRDD":
        return (yield from _crashed_in(frames, blamed, leaf, at, unknown))
    return (yield from _malformed(frames, blamed, frame, leaf, at, unknown))


def _crashed_in(frames: FrameRuns, blamed: Blamed, leaf: Node, at: At, unknown: list[str]) -> Looking:
    """The records that crashed in the RDD that rows were made of, or in the query: the diagnosis of that tells them."""
    culprits = frames.crossing.crashed_in(leaf)
    found = [] if culprits is None else [replace(each, place=None) if isinstance(each.place, Input) else each for each in culprits]  # none of this query's
    unknown += [] if culprits is None else culprits.unknown
    if found:
        unknown.append(f"What is above {blamed.operator(leaf)} was not looked at: it reads rows that cannot all be computed.")
    yield at.telling.fresh(found, len(found))[0]
    return None if found else leaf


def _malformed(frames: FrameRuns, blamed: Blamed, frame: Any, leaf: Node, at: At, unknown: list[str]) -> Looking:
    """The lines on which a reader fails that takes no malformed ones."""
    operator = blamed.operator(leaf)
    try:
        reading = Strict.of(blamed.catalyst, frames, frame, leaf)
    except UntraceableError as refused:
        unknown.append(f"{operator} fails on malformed records, and {refused}")
        return None
    if reading is None:
        return leaf
    yield from blamed.throwing(at, reading.trial)
    skipped = reading.skipped
    if skipped:
        unknown.append(f"Whether {operator} reads {skipped:,} more malformed lines hangs on filters that Spark hands to it. {HANDED_OVER}")
    try:
        return readable(reading, leaf)
    except (UntraceableError, PySparkException, Py4JError) as trouble:
        if is_cancelled(trouble):
            raise
        if not at.telling.told:  # it reads them all, or skips the others
            return leaf
        unknown.append(f"What is above {operator} was not looked at: not all of its records can be read, and {brief(trouble)}")
        return None
