"""Frozen functions: as they were when PySpark pickled them for its workers, kept for capture and for questions.

PySpark pickles the functions of a stage once: when a shuffle, a union or a cache behind it is defined, or when an
action first runs it. Variables that change later (a loop's, a cell's) do not reach them any more, nor a captured job.
"""

from __future__ import annotations

import io
import os
import pickle
import tempfile
import threading
import weakref
import zlib
from pathlib import Path
from typing import Any, Generic, TypeVar

from pyspark import RDD, Accumulator, SparkContext
from pyspark import cloudpickle as _cloudpickle
from pyspark.core.broadcast import Broadcast

from bigdebug.errors import NondeterminismError

T = TypeVar("T")

cloudpickle: Any = _cloudpickle

LARGE = 1 << 20
"""Functions that carry more bytes than this wait on disk, in a file that goes with them."""

LARGEST = 64 << 20
"""Functions that carry more bytes than this are not kept twice: of them it is only known whether they have changed."""

_OURS = (RDD, Accumulator, Broadcast, SparkContext)
"""What a copy would not be: Spark knows these objects by their identity in this process."""


class Ignoring:
    """An accumulator's way of adding that adds nothing."""

    def zero(self, value: Any) -> Any:
        return value

    def addInPlace(self, left: Any, right: Any) -> Any:
        return left


class Frozen(Generic[T]):
    """``functions`` with the globals and closures that they have now. Costs one pickling, as PySpark's own."""

    def __init__(self, functions: T) -> None:
        self._live: T | None = None
        self._sum: int | None = None
        self._kept: list[Any] = []
        self._data = b""
        self._file = ""
        try:
            self._data, self._kept = _pickled(functions)
        except Exception:  # then PySpark cannot pickle them either, and says so when it tries
            self._live = functions
        if len(self._data) > LARGEST:
            self._live, self._sum, self._data = functions, zlib.crc32(self._data), b""
        elif len(self._data) > LARGE:
            try:
                self._file, self._data = _spilled(self, self._data), b""
            except OSError:  # no room: then they stay in memory, for the user's definition must not fail of it
                self._file = ""

    def thaw(self, waste: Any = None) -> T:
        """A copy of the functions as they were. With ``waste``, what they add to accumulators goes there.

        Raises NondeterminismError for functions too large to keep that have changed since.
        """
        if self._live is not None:
            if self._sum is not None and zlib.crc32(_pickled(self._live)[0]) != self._sum:
                raise NondeterminismError(
                    f"Functions that carry more than {LARGEST >> 20} MB have changed since PySpark pickled them",
                    remedy="Give large values to them as broadcast variables, which stay what they are.",
                )
            return self._live
        _thawing.kept = self._kept if waste is None else [_wasting(value, waste) for value in self._kept]
        try:
            copied: T = pickle.loads(Path(self._file).read_bytes() if self._file else self._data)
        finally:
            del _thawing.kept
        return copied


def _spilled(owner: Any, data: bytes) -> str:
    handle, path = tempfile.mkstemp(prefix="bigdebug-functions-")
    with os.fdopen(handle, "wb") as file:
        file.write(data)
    weakref.finalize(owner, Path(path).unlink, missing_ok=True)
    return path


_thawing = threading.local()


def _held(number: int) -> Any:
    return _thawing.kept[number]


def _pickled(functions: Any) -> tuple[bytes, list[Any]]:
    buffer = io.BytesIO()
    pickler = _Pickler(buffer)
    pickler.dump(functions)
    return buffer.getvalue(), pickler.kept


def _wasting(value: Any, waste: Any) -> Any:
    """``value``; in place of an accumulator one that adds on its own, and whose sums Spark brings to ``waste``."""
    if not isinstance(value, Accumulator):
        return value
    twin: Any = Accumulator.__new__(Accumulator)
    twin.__dict__.update(value.__dict__, aid=waste.aid)
    twin._value = value.accum_param.zero(value._value)
    return twin


class _Pickler(cloudpickle.CloudPickler):  # type: ignore[misc]
    def __init__(self, file: Any) -> None:
        super().__init__(file)
        self.kept: list[Any] = []

    def reducer_override(self, value: Any) -> Any:
        # Not persistent_id, which is asked for every string and number as well.
        if isinstance(value, _OURS):
            self.kept.append(value)
            return _held, (len(self.kept) - 1,)
        return super().reducer_override(value)
