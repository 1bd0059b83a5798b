"""Codes of items: several of them, sorted, and looked for among others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]


def distinct(codes: Codes) -> Codes:
    """The codes, sorted, each once. (np.unique of numpy 2.4 is many times slower.)"""
    if not len(codes):
        return codes
    ordered = np.sort(codes)
    first = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def within(codes: Codes, ordered: Codes) -> NDArray[np.bool_]:
    """Whether each code is among the ordered ones."""
    if not len(ordered):
        return np.zeros(len(codes), bool)
    places = np.minimum(np.searchsorted(ordered, codes), len(ordered) - 1)
    found: NDArray[np.bool_] = ordered[places] == codes
    return found
