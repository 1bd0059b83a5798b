"""Snapshots of functions, for questions asked later: as they were in the run, and without effect on accumulators."""

from __future__ import annotations

import io
import pickle
from typing import Any, TypeVar

from pyspark import RDD, Accumulator, SparkContext
from pyspark import cloudpickle as _cloudpickle
from pyspark.core.broadcast import Broadcast

T = TypeVar("T")

cloudpickle: Any = _cloudpickle

LARGEST = 64 << 20
"""Functions that carry more bytes than this are not copied: a job may not need twice their memory."""

_OURS = (RDD, Accumulator, Broadcast, SparkContext)
"""What a copy would not be: Spark knows these objects by their identity in this process."""


class Ignoring:
    """An accumulator's way of adding that adds nothing."""

    def zero(self, value: Any) -> Any:
        return value

    def addInPlace(self, left: Any, right: Any) -> Any:
        return left


def snapshot(functions: T, waste: Any) -> T:
    """A copy of ``functions`` with the globals and closures that they have now, adding to ``waste`` what they accumulate.

    Globals and closures are what Spark's workers get: PySpark pickles a function when its job starts. What cannot be
    pickled is given back as it is: then PySpark cannot run it either.
    """
    kept: list[Any] = []
    buffer = io.BytesIO()
    try:
        _Pickler(buffer, kept).dump(functions)
        if buffer.tell() > LARGEST:
            return functions
        buffer.seek(0)
        copied: T = _Unpickler(buffer, [_wasting(value, waste) for value in kept]).load()
    except Exception:
        return functions
    return copied


def _wasting(value: Any, waste: Any) -> Any:
    """``value``; in place of an accumulator one that adds on its own, and whose sums Spark brings to ``waste``."""
    if not isinstance(value, Accumulator):
        return value
    twin: Any = Accumulator.__new__(Accumulator)
    twin.__dict__.update(value.__dict__, aid=waste.aid)
    twin._value = value.accum_param.zero(value._value)
    return twin


class _Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]
    def __init__(self, file: Any, kept: list[Any]) -> None:
        super().__init__(file)
        self._kept = kept

    def persistent_id(self, value: Any) -> int | None:
        if not isinstance(value, _OURS):
            return None
        self._kept.append(value)
        return len(self._kept) - 1


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: Any, kept: list[Any]) -> None:
        super().__init__(file)
        self._kept = kept

    def persistent_load(self, number: int) -> Any:
        return self._kept[number]
