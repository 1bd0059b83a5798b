"""Ranges of numbers, many at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def spread(starts: npt.NDArray[Any], counts: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The numbers of the ranges [start, start + count), one range behind the other."""
    ends = np.cumsum(counts)
    found: npt.NDArray[np.int64] = np.arange(int(counts.sum()), dtype=np.int64) + np.repeat(starts - (ends - counts), counts)
    return found
