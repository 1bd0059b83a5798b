"""Kept frames: rows that Spark has computed once and does not compute again, and that are let go when they are no longer needed."""

from __future__ import annotations

from typing import Any

from pyspark import StorageLevel

from bigdebug.spark.bars import counted
from bigdebug.spark.process import alive
from bigdebug.spark.sql.actions import unheard


def kept(frame: Any, what: str) -> Any:
    """The rows of a DataFrame as they are now, with a plan that has forgotten how they were made, so that it does not grow from round to round.

    They are in the memory and on the disks of the executors. One job. An executor that is lost takes its part along: then later jobs fail,
    and none gives other rows.
    """
    with counted(frame.sparkSession.sparkContext, what):
        return unheard(frame, "localCheckpoint", storageLevel=StorageLevel.MEMORY_AND_DISK)


def let_go(*frames: Any) -> None:
    """Let Spark forget what ``kept`` gave. Its own ``unpersist`` would warn the user of it."""
    for frame in frames:
        sc = frame.sparkSession.sparkContext
        if alive(sc):
            sc._jsc.sc().unpersistRDD(frame._jdf.queryExecution().logical().rdd().id(), False)
