"""Captured RDDs: PySpark's own RDDs that also remember their operator, so that an action can be run with agents.

Each method calls PySpark's method of the same name and then adopts what it returned. Without capture nothing else ever
runs. Methods that are not in one of the bases are PySpark's: they are made of those that are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark import RDD
from pyspark.core.rdd import PipelinedRDD

from bigdebug.spark.rdd.actions import Actions
from bigdebug.spark.rdd.chains import freeze, freeze_feeding
from bigdebug.spark.rdd.compiler import Compiled
from bigdebug.spark.rdd.definition import Definition
from bigdebug.spark.rdd.narrow import NarrowOperators
from bigdebug.spark.rdd.storage import Storage
from bigdebug.spark.rdd.wide import WideOperators

if TYPE_CHECKING:
    from bigdebug.spark.rdd.recorder import Recorder


class Captured(NarrowOperators, WideOperators, Storage, Actions):
    """What a captured RDD can do beyond an RDD. ``into_captured`` gives an RDD one of the two classes below."""


class CapturedRDD(Captured, RDD[Any]):  # type: ignore[misc]  # toLocalIterator is PySpark's with self of any type
    """A captured RDD that PySpark reads from the JVM: a source, or what a shuffle or a union gave."""

    # What type() shows in a user's notebook is what it shows without bigdebug; PySpark's doctests look at it.
    __module__, __qualname__ = RDD.__module__, RDD.__qualname__

    def _plain_jrdd(self) -> Any:
        return self.__dict__["_jrdd"]


class CapturedPipelinedRDD(Captured, PipelinedRDD[Any, Any]):  # type: ignore[misc]
    """A captured RDD that PySpark computes in a Python worker."""

    __module__, __qualname__ = PipelinedRDD.__module__, PipelinedRDD.__qualname__

    def _plain_jrdd(self) -> Any:
        if self._jrdd_val is None:
            freeze(self)
        return PipelinedRDD._jrdd.fget(self)  # type: ignore[attr-defined]


def into_captured(rdd: RDD[Any], recorder: Recorder, definition: Definition) -> Any:
    """A captured RDD with the state of ``rdd``, which PySpark just made and nobody else has seen."""
    captured: Any = object.__new__(CapturedPipelinedRDD if isinstance(rdd, PipelinedRDD) else CapturedRDD)
    captured.__dict__.update(rdd.__dict__)  # not the dict itself: Python 3.13 empties what is in it when it collects the object that had it first
    captured._recorder = recorder
    captured._definition = definition
    captured._compiled = Compiled()
    freeze_feeding(captured)
    return captured
