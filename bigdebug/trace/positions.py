"""Positions: sorted, unique places of records, and what is done with them. Costs are in numpy passes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Positions = npt.NDArray[np.int64]


def distinct(values: npt.NDArray[Any]) -> Positions:
    """Sorted and unique. (np.unique of numpy 2 hashes and is ten times slower on millions.)"""
    values = values.astype(np.int64, copy=False)
    # What comes through tables that rise is sorted already: a look costs a tenth of a sort.
    if np.any(values[1:] < values[:-1]):
        values = np.sort(values)
    rises = values[1:] != values[:-1]
    return values if rises.all() else values[np.concatenate(([True], rises))]


def members(values: npt.NDArray[Any], wanted: npt.NDArray[Any], size: int) -> npt.NDArray[np.bool_]:
    """Which of ``values`` (all below ``size``) are among ``wanted``: a comparison for each of a few, or one gather."""
    if 0 < len(wanted) <= 8:
        least, *others = wanted.tolist()  # numbers of Python's: beside one of numpy's, values of a byte each are made wide first
        found = np.asarray(values == least)
        for value in others:
            found |= values == value
        return found
    flags = np.zeros(size, dtype=bool)
    flags[wanted] = True
    return np.asarray(flags[values])


def first(positions: Positions, count: int) -> Positions:
    """Those below ``count``; all of them without a copy."""
    return positions if not len(positions) or positions[-1] < count else positions[: np.searchsorted(positions, count)]


def grouped(keys: npt.NDArray[Any], values: Positions) -> Iterator[tuple[int, Positions]]:
    """Each key with its values, in their order; one sort of the keys, however many of them differ."""
    if not len(keys):
        return
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    yield from zip(keys[starts].tolist(), np.split(values, starts[1:]))
