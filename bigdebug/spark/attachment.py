"""Attachment: what changes in a SparkSession while bigdebug is attached, and how it is undone.

Two things: ``spark.sparkContext`` is the LineageContext, which shares its state with the context it stands for, and
``df.rdd`` gives a captured RDD. Sessions without bigdebug see neither.
"""

from __future__ import annotations

import sys
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.classic.dataframe import DataFrame

from bigdebug.spark.rdd.context import LineageContext
from bigdebug.spark.rdd.sources import adopt_source

_plain_rdd = DataFrame.rdd


def running_session() -> Any:
    """The SparkSession that is active in this process, or None. Never starts one."""
    return SparkSession.getActiveSession() if "pyspark.sql" in sys.modules and SparkContext._active_spark_context else None


def install(spark: SparkSession, context: LineageContext) -> None:
    spark._sc = context
    DataFrame.rdd = property(_rdd, doc=_plain_rdd.__doc__)  # type: ignore[method-assign]


def uninstall(spark: SparkSession, context: LineageContext) -> None:
    spark._sc = plain_context(context)


def plain_context(context: LineageContext) -> SparkContext:
    """The SparkContext that ``context`` stands for."""
    return context._bigdebug.sc


def _rdd(frame: DataFrame) -> Any:
    """The DataFrame as an RDD of rows, a captured one if its session is attached."""
    made = _plain_rdd.fget(frame)  # type: ignore[attr-defined]
    recorder = getattr(made.ctx, "_bigdebug", None)
    if recorder is None or recorder.defining or not isinstance(made.ctx, LineageContext):
        return made
    return adopt_source(recorder, made, "df.rdd", "df.rdd", {"type": "rdd"})
