"""Moments: how many numbers there are, where they are, and how far apart, so that parts can be put together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np


class Moments(NamedTuple):
    """Of some numbers: how many, their mean, and their standard deviation from it. Of squares nothing is kept: those of floats may be beyond all floats."""

    size: int = 0
    mean: float = 0.0
    deviation: float = 0.0

    def with_(self, other: Moments) -> Moments:
        """Those of both together (Chan, Golub and LeVeque)."""
        size = self.size + other.size
        if not size:
            return self
        half, share = other.mean / 2 - self.mean / 2, other.size / size  # all of the distance may be beyond all floats
        mean = self.mean + half * share + half * share
        return Moments(size, mean, math.hypot(
            self.deviation * math.sqrt(1 - share), other.deviation * math.sqrt(share), half * 2 * math.sqrt(share * (1 - share)),
        ))


def moments(numbers: Iterable[float]) -> Moments:
    """The moments of those of the numbers that are finite."""
    known = np.fromiter(numbers, dtype=np.float64)
    known = known[np.isfinite(known)]
    if not len(known):
        return Moments()
    # By a power of two, so that no square is too large or too small; from one of them, so that equal ones have exactly their mean.
    power = int(np.frexp(np.abs(known).max())[1])
    known = np.ldexp(known, -power)
    away = known - known[0]
    return Moments(len(known), math.ldexp(float(known[0] + away.mean()), power), math.ldexp(float(away.std()), power))


@dataclass(frozen=True)
class Measured:
    """The moments of what a function makes of the records of a partition."""

    value: Callable[[Any], float]

    def __call__(self, split: int, incoming: Iterable[Any]) -> Iterator[Moments]:
        yield moments(map(self.value, incoming))


Measure = Callable[[Callable[[Any], float]], Moments]
"""Gives the moments of what a function makes of each output."""
