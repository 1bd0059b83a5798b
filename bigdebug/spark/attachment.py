"""Attachment: what changes in a SparkSession while bigdebug is attached, and how it is undone.

``spark.sparkContext`` and ``SparkContext.getOrCreate()`` give the LineageContext, which shares its state with the
context it stands for; ``df.rdd`` gives a captured RDD; and workers for the plain context run the Python that those of
the LineageContext do. Actions of DataFrames pass by the session's recorder. Sessions without bigdebug see none of it.
"""

from __future__ import annotations

import functools
from typing import Any

from pyspark import RDD, SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.classic.dataframe import DataFrame

from bigdebug.errors import NotCapturedError
from bigdebug.shown import shown
from bigdebug.spark import masks
from bigdebug.spark.executors import send_agents
from bigdebug.spark.process import RESTART, alive, gone
from bigdebug.spark.rdd.captured import Captured
from bigdebug.spark.rdd.context import LineageContext
from bigdebug.spark.rdd.sources import adopt_source
from bigdebug.spark.sql import actions
from bigdebug.spark.sql.lineage_frame import lineage_of
from bigdebug.spark.sql.recorder import FrameRecorder

# A property in PySpark 4.0, a cached_property in 4.3.
_plain_rdd: Any = DataFrame.__dict__["rdd"]
_rdd_doc = DataFrame.rdd.__doc__


_plain_create: Any = SparkSession.createDataFrame

_PYTHON = "_bigdebug_python"
"""Where a SparkContext keeps what PySpark chose for its workers."""


def running_session() -> Any:
    """The SparkSession that runs in this process, or None. Never starts one; a Spark Connect session is none."""
    session = SparkSession._instantiatedSession
    if session is None or session._sc._jsc is None:
        # Another program may have made one in the JVM.
        active = SparkContext._active_spark_context
        session = SparkSession.getActiveSession() if active is not None and alive(active) else None
    return session if isinstance(session, SparkSession) and alive(session._sc) else None


def check_session(spark: Any) -> None:
    """See that ``spark`` is a SparkSession that runs; else TypeError or ValueError."""
    again = "spark = SparkSession.builder.getOrCreate()"
    if isinstance(spark, SparkContext):
        raise TypeError(f"bigdebug.attach takes the SparkSession, not its SparkContext {spark!r}; {again} gives it")
    if is_remote(spark):
        raise TypeError(f"bigdebug.attach takes a SparkSession of this process, not {spark!r}; Spark Connect has no RDDs")
    if not isinstance(spark, SparkSession):
        raise TypeError(f"bigdebug.attach takes a SparkSession, not {spark!r}; {again} makes one")
    if spark._sc._jsc is None:
        raise ValueError(f"this SparkSession has been stopped; {again} makes a new one")
    if gone(spark._sc):
        raise ValueError(f"Spark's process has ended. {RESTART}")


def lineage(frame: DataFrame) -> Any:
    """The trace over all rows of this DataFrame, in its latest captured action; as it is now, if there is none."""
    recorder = vars(frame.sparkSession).get(actions.RECORDER)
    if recorder is None:
        raise NotCapturedError("bigdebug is not attached to the session of this DataFrame", remedy="bigdebug.attach(spark) does so.")
    return lineage_of(recorder.asked(frame))


def is_remote(what: Any) -> bool:
    """Whether it is a session, or a DataFrame, of Spark Connect."""
    return type(what).__module__.startswith("pyspark.sql.connect")


def is_frame(what: Any) -> bool:
    """Whether it is a DataFrame, of whichever session."""
    return isinstance(what, DataFrame)


def check_frame(frame: Any, spark: SparkSession) -> None:
    """See that ``frame`` is a DataFrame of this session; else TypeError or NotCapturedError."""
    if is_remote(frame):
        raise NotCapturedError(
            "This DataFrame is of a Spark Connect session, and its plans are on a server", value=type(frame),
            remedy="Lineage needs a SparkSession of this process, for now.",
        )
    if not is_frame(frame):
        raise TypeError(f"this takes a DataFrame, not {shown(frame)}")
    if frame.sparkSession is not spark:
        raise NotCapturedError(
            "This DataFrame is of another session", value=frame, remedy="Attach bigdebug to that one: bigdebug.attach(df.sparkSession).",
        )


def install(spark: SparkSession, context: LineageContext, frames: FrameRecorder) -> None:
    spark._sc = context
    vars(spark)[actions.RECORDER] = frames
    actions.install()
    DataFrame.getLineage = lineage  # type: ignore[attr-defined]
    plain = plain_context(context)
    send_agents(plain)
    masks.pass_on(context)
    vars(plain).setdefault(_PYTHON, plain.pythonExec)
    plain.pythonExec = context.pythonExec
    if SparkContext._active_spark_context is plain_context(context):
        SparkContext._active_spark_context = context
    SparkSession.createDataFrame = create_frame  # type: ignore[method-assign]
    DataFrame.rdd = property(rdd, doc=_rdd_doc)  # type: ignore[assignment, method-assign]


def uninstall(spark: SparkSession, context: LineageContext, last: bool) -> None:
    """``last`` says that no other session is attached."""
    spark._sc = plain_context(context)
    if last:
        masks.keep_back(context)
    vars(spark).pop(actions.RECORDER, None)
    if SparkContext._active_spark_context is context:
        SparkContext._active_spark_context = plain_context(context)
    if last:
        actions.uninstall()
        if "getLineage" in vars(DataFrame):
            del DataFrame.getLineage  # type: ignore[attr-defined]
        plain = plain_context(context)
        plain.pythonExec = vars(plain).pop(_PYTHON, plain.pythonExec)
        SparkSession.createDataFrame = _plain_create  # type: ignore[method-assign]
        DataFrame.rdd = _plain_rdd  # type: ignore[method-assign]


def plain_context(context: LineageContext) -> SparkContext:
    """The SparkContext that ``context`` stands for."""
    return context._bigdebug.sc


def rdd(frame: DataFrame) -> Any:
    """The DataFrame as an RDD of rows, a captured one if its session is attached: the same one each time."""
    made = _plain_rdd.__get__(frame, DataFrame)
    context = frame.sparkSession._sc
    if not isinstance(context, LineageContext) or context._bigdebug.defining:
        return made
    known = made.__dict__.get("_captured_as")
    if known is None or known._recorder is not context._bigdebug:
        known = made.__dict__["_captured_as"] = adopt_source(context._bigdebug, made, "rdd", "df.rdd", {"type": "rdd"})
        known.__dict__["_rows_number"] = made.id()
        context._bigdebug.crossing.seams.taken(known, frame)
    return known


@functools.wraps(_plain_create)
def create_frame(self: SparkSession, data: Any, *args: Any, **kwargs: Any) -> Any:
    made = _plain_create(self, data, *args, **kwargs)
    recorder = vars(self).get(actions.RECORDER)
    if recorder is not None and isinstance(data, Captured):
        recorder.crossing.seams.made(made, data)
    elif recorder is not None and not isinstance(data, RDD):
        recorder.crossing.seams.gave(made, data)
    return made
