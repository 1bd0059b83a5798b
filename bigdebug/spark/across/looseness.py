"""Looseness: columns that each execution may give a little otherwise, as it adds floats in another order. They tell no rows apart, and yet show whether a frame was changed in place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from bigdebug.spark.across.rowkeys import Keys

Numbers = dict[int, npt.NDArray[np.float64]]
"""By the position of a column, its values, null being NaN."""

_CLOSE = 1e-6
"""Of a value: what orders of addition differ by, and more. Of the largest in its column a millionth of that, for sums may come to nothing."""


def numbers_in(frame: Any, columns: Iterable[int]) -> Numbers:
    """The values of some columns of a pandas frame, copied. Raises ValueError or TypeError where they are no numbers."""
    return {i: np.array(frame.iloc[:, i].to_numpy(dtype=np.float64, na_value=np.nan)) for i in columns}


def unlike(keys: Keys, values: npt.NDArray[np.float64], now: Keys, given: npt.NDArray[np.float64]) -> int:
    """How many rows have a value to which none is close of those that are ``given`` ``now`` for rows with their key."""
    every = np.concatenate((keys, now))
    numbers = np.concatenate((values, given))
    null = np.isnan(numbers)
    numbers = np.where(null, 0.0, numbers)
    there = np.arange(len(every)) >= len(keys)
    order = np.lexsort((numbers, null, every))
    places = np.arange(len(order))
    theirs = there[order]
    before = np.maximum.accumulate(np.where(theirs, places, -1))
    behind = np.minimum.accumulate(np.where(theirs, places, len(order))[::-1])[::-1]
    finite = np.abs(numbers[np.isfinite(numbers)])
    least = _CLOSE * _CLOSE * float(finite.max(initial=0.0))
    fits = np.zeros(len(order), bool)
    for nearest in (before, behind):
        at = np.clip(nearest, 0, len(order) - 1)
        one, other = order, order[at]
        alike = (nearest == at) & (every[one] == every[other]) & (null[one] == null[other])
        with np.errstate(invalid="ignore", over="ignore"):
            close = np.isfinite(numbers[one]) & np.isfinite(numbers[other])
            close &= np.abs(numbers[one] - numbers[other]) <= np.maximum(_CLOSE * np.maximum(np.abs(numbers[one]), np.abs(numbers[other])), least)
        fits |= alike & (close | (numbers[one] == numbers[other]))
    return int((~fits & ~theirs).sum())
