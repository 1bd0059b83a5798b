"""Odd rows: those of a frame by which it shows that a function looks at other rows. Means and neighbours fill nulls, quantiles and deviations say what is an outlier."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bigdebug.trace.positions import Positions

_COLUMNS = 64
"""Columns that are looked at: the first."""

_OBJECTS = 1 << 14
"""Objects of a column that are looked at for a null, from all places: of numbers, all are."""


class Odd(NamedTuple):
    """Places of rows, of each column those that there are; column by column."""

    nulls: Positions
    """One behind the middle, the first and the last."""
    extremes: Positions
    """The most and the least."""

    @classmethod
    def of(cls, frame: Any, full: frozenset[Hashable] = frozenset()) -> Odd:
        """For a million rows half a millisecond for each column of numbers, 3 if some are null; 2 of objects. Of columns that are ``full`` it is known that they have no nulls."""
        nulls: list[int] = []
        extremes: list[int] = []
        for name, column in islice(frame.copy(deep=False).items(), _COLUMNS) if frame.ndim > 1 else ((None, frame),):
            if not len(column):
                continue
            numbers = _numbers(column)
            if numbers is None:
                nulls += [] if name in full else _nulls(column)
            else:
                found = [int(numbers.argmax()), int(numbers.argmin())]
                if not bool(numbers[found[0]] == numbers[found[0]]):  # the first null comes before all that are more
                    nulls += _three(numbers != numbers)
                    found = _ends_of_others(numbers)
                extremes += found
        return cls(_once(nulls), _once(extremes))

    @property
    def first(self) -> Positions:
        """The oddest: a null, and the most, of the first columns that have such."""
        return np.unique(np.concatenate((self.nulls[:1], self.extremes[:1])))

    @property
    def all(self) -> Positions:
        """Ascending."""
        return np.unique(np.concatenate((self.nulls, self.extremes)))


def _numbers(column: Any) -> npt.NDArray[Any] | None:
    """A column as an array that compares: times as they lie in memory, where their null is NaT; None if it holds no numbers."""
    import pandas as pd

    kind = column.dtype
    if isinstance(kind, np.dtype):
        return np.asarray(column.to_numpy()) if kind.kind in "biufmM" else None
    if isinstance(kind, pd.DatetimeTZDtype):
        return np.asarray(column.array.tz_localize(None))
    if pd.api.types.is_integer_dtype(kind) or pd.api.types.is_float_dtype(kind):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return None


def _ends_of_others(numbers: npt.NDArray[Any]) -> list[int]:
    """The most and the least of those that are no nulls."""
    ends = np.fmax.reduce(numbers), np.fmin.reduce(numbers)
    return [int((numbers == end).argmax()) for end in ends if end == end]


def _nulls(column: Any) -> list[int]:
    """Nulls of a column of another kind. Objects are looked at one by one."""
    step = max(1, len(column) // _OBJECTS) if column.dtype == object else 1
    return [place * step for place in _three(column.iloc[::step].isna().to_numpy())]


def _three(flags: npt.NDArray[np.bool_]) -> list[int]:
    """The first that is set behind the middle, the first and the last of all."""
    middle, first = len(flags) // 2, int(flags.argmax())
    if not flags[first]:
        return []
    behind = middle + int(flags[middle:].argmax())
    return [behind if flags[behind] else first, first, len(flags) - 1 - int(flags[::-1].argmax())]


def _once(places: list[int]) -> Positions:
    return np.array(list(dict.fromkeys(places)), np.int64)
