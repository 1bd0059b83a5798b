"""Orders: other orders in which the same records may come, by number: 0 is the one they came in, 1 the other way around, 2 one in which those that were neighbours
are far apart, and from 3 on each is as good as drawn.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_STEP, _FIRST, _SECOND = (np.uint64(each) for each in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def arranged(numbers: npt.NDArray[np.int64], order: int) -> npt.NDArray[np.intp]:
    """The places of ascending numbers in an order; equal ones stay as they are. Which of two comes first does not hang on what others there are."""
    if not order:
        return np.arange(len(numbers))
    if order == 1:
        return np.argsort(-numbers, kind="stable")
    if order == 2:
        return np.argsort((numbers.astype(np.uint64) + np.uint64(1)) * _STEP, kind="stable")  # the first one does not stay it; by the golden ratio (Fibonacci hashing; Knuth, 6.4)
    mixed = numbers.astype(np.uint64) + np.array([order], dtype=np.uint64) * _STEP  # splitmix64 (Steele, Lea and Flood, 2014)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * _FIRST
    mixed = (mixed ^ (mixed >> np.uint64(27))) * _SECOND
    return np.argsort(mixed ^ (mixed >> np.uint64(31)), kind="stable")


def ranks(count: int, order: int) -> npt.NDArray[np.intp]:
    """At which place each of so many comes in an order."""
    return np.argsort(arranged(np.arange(count, dtype=np.int64), order), kind="stable")
