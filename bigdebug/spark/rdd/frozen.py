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
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from pyspark import RDD, Accumulator, SparkContext
from pyspark import cloudpickle as _cloudpickle
from pyspark.core.broadcast import Broadcast

from bigdebug.errors import IncompleteLineageError, NondeterminismError

T = TypeVar("T")

cloudpickle: Any = _cloudpickle
_classes: Any = _cloudpickle.cloudpickle
_MAKING = ("_make_skeleton_class", "_make_skeleton_enum")

LARGE = 1 << 20
"""Functions that carry more bytes than this wait on disk, in a file that goes with them."""

LARGEST = 64 << 20
"""Functions that carry more bytes than this are not kept twice: of them it is only known whether they have changed."""

_OURS = (RDD, Accumulator, Broadcast, SparkContext)
"""What a copy would not be: Spark knows these objects by their identity in this process."""


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

    def thaw(self, quiet: bool = False) -> T:
        """A copy of the functions as they were; if ``quiet``, nobody hears of what they add to accumulators.

        Raises NondeterminismError for functions too large to keep that have changed since, IncompleteLineageError where their file is gone.
        """
        if self._live is not None:
            if self._sum is None:
                return self._live
            data, kept = _pickled(self._live)
            if zlib.crc32(data) != self._sum:
                raise NondeterminismError(
                    f"Functions that carry more than {LARGEST >> 20} MB have changed since PySpark pickled them",
                    remedy="Give large values to them as broadcast variables, which stay what they are.",
                )
            if not quiet:
                return self._live
        else:
            data, kept = _unspilled(self._file) if self._file else self._data, self._kept
        copied: T = _copied(data, kept, quiet)
        return copied


def _spilled(owner: Any, data: bytes) -> str:
    handle, path = tempfile.mkstemp(prefix="bigdebug-functions-")
    remove = weakref.finalize(owner, _removed, Path(path), os.getpid())
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
    except OSError:
        remove()
        raise
    return path


def _removed(path: Path, process: int) -> None:
    if os.getpid() == process:  # not by a fork, which ends before
        path.unlink(missing_ok=True)


def _unspilled(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as problem:
        raise IncompleteLineageError(
            f"Functions of this program waited in a temporary file, which cannot be read any more: {problem}", value=path,
            remedy="Define the RDD again, and run the job under capture; TMPDIR names a directory that nobody empties meanwhile.",
        ) from problem


def _copied(data: bytes, kept: list[Any], quiet: bool) -> Any:
    _thawing.kept = [_unheard(value) for value in kept] if quiet else kept
    try:
        return _Unpickler(io.BytesIO(data)).load()
    finally:
        del _thawing.kept


_thawing = threading.local()


def _held(number: int) -> Any:
    return _thawing.kept[number]


def _pickled(functions: Any) -> tuple[bytes, list[Any]]:
    buffer = io.BytesIO()
    pickler = _Pickler(buffer)
    pickler.dump(functions)
    return buffer.getvalue(), pickler.kept


def _unheard(value: Any) -> Any:
    return _Unheard(value) if isinstance(value, Accumulator) else value


class _Unheard:
    """Stands for an accumulator; in a worker it is one, but none of those whose sums the worker reports."""

    def __init__(self, accumulator: Any) -> None:
        self._accumulator = accumulator

    def __reduce__(self) -> Any:
        mine = self._accumulator
        zero = mine.accum_param.zero(mine._value)
        state = {**mine.__dict__, "_value": zero, "_deserialized": True}
        return object.__new__, (Accumulator,), state


class _Unpickler(pickle.Unpickler):
    """Makes anew the classes that are pickled by value, where cloudpickle would find the user's and set them back.

    Pickled again they are the same class as the user's: so workers take them, and so their records come back.
    """

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        return partial(_apart, found) if module == _classes.__name__ and name in _MAKING else found


def _apart(make: Any, *arguments: Any) -> Any:
    *definition, tracked, extra = arguments
    made = make(*definition, None, extra)
    with _classes._DYNAMIC_CLASS_TRACKER_LOCK:
        _classes._DYNAMIC_CLASS_TRACKER_BY_CLASS[made] = tracked
    return made


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
