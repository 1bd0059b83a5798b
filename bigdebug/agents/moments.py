"""Moments: how many numbers there are, where they are, and how far apart, so that parts can be put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np


class Moments(NamedTuple):
    """Of some numbers: how many, their mean, and the sum of the squares of their distances from it."""

    size: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def with_(self, other: Moments) -> Moments:
        """Those of both together (Chan, Golub and LeVeque)."""
        size = self.size + other.size
        if not size:
            return self
        apart = other.mean - self.mean
        mean = self.mean + apart * other.size / size
        return Moments(size, mean, self.squares + other.squares + apart * apart * self.size * other.size / size)


def moments(numbers: Iterable[float]) -> Moments:
    """The moments of those of the numbers that are finite."""
    known = np.fromiter(numbers, dtype=np.float64)
    known = known[np.isfinite(known)]
    if not len(known):
        return Moments()
    mean = float(known.mean())
    return Moments(len(known), mean, float(np.square(known - mean).sum()))


Measure = Callable[[Callable[[Any], float]], Moments]
"""Gives the moments of what a function makes of each output."""
