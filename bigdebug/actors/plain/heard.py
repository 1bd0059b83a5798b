"""Heard: how pandas numbers the keys of groups while a function is called. What it has computed need not be computed once more (Smoke, section 3.2: a group by's table is reused)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import numpy as np
import numpy.typing as npt

from bigdebug.trace.positions import Positions


class Heard:
    """What ``factorize`` of pandas was asked for of some columns, and gave. Python tells of calls, as it tells a profiler; where this thread has one, nothing is heard."""

    def __init__(self, columns: Sequence[Any] = ()) -> None:
        """These columns, if it takes long to number them: none, and nobody listens."""
        self._arrays = [column.to_numpy() for column in columns]
        self._asked: dict[FrameType, Any] = {}
        self._given: list[tuple[npt.NDArray[Any], Any]] = []

    def of_call(self, call: Callable[[], Any]) -> Any:
        """What a call gives. Each call that is made within takes 0.1 us more."""
        if not self._arrays or sys.getprofile() is not None:
            return call()
        from pandas.core import algorithms

        code = getattr(algorithms.factorize, "__code__", None)

        def told(frame: FrameType, event: str, given: Any) -> None:
            if frame.f_code is not code:
                return
            if event == "call":
                self._asked[frame] = frame.f_locals.get("values")
            elif event == "return":
                self._gives(self._asked.pop(frame, None), given)

        try:
            sys.setprofile(told)  # not before: a signal may come between
            return call()
        finally:
            if sys.getprofile() is told:
                sys.setprofile(None)

    def of(self, column: Any) -> tuple[Positions, Any] | None:
        """For each row of a column the number of its value, from 1, 0 for null; and the values, each once. None if nobody asked for that."""
        import pandas as pd

        array = column.to_numpy() if self._given and isinstance(column.dtype, np.dtype) else None
        for values, (codes, found) in self._given:
            if array is not None and _same_memory(array, values) and not pd.isna(found).any():
                return codes.astype(np.int64, copy=False) + 1, pd.Index(found, dtype=found.dtype)
        return None

    def _gives(self, values: Any, given: Any) -> None:
        if type(values) is np.ndarray and type(given) is tuple and all(type(each) is np.ndarray for each in given) and any(_same_memory(values, each) for each in self._arrays):
            self._given.append((values, given))


def _same_memory(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    return one.ctypes.data == other.ctypes.data and one.dtype == other.dtype and one.shape == other.shape and one.strides == other.strides
