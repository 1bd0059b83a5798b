"""Outliers of a sample: Grubbs' test, modified to find several (the generalized ESD of Rosner, 1983)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from bigdebug.errors import BigdebugError

Floats = npt.NDArray[np.float64]

ALPHA = 0.05
"""The chance that a sample without outliers is said to have one."""

_FARTHEST = math.exp(300)
"""No quantile is beyond; from here on, critical values are what they are at infinity."""

_LEAST = 1e-300
"""Smaller probabilities are taken for this one."""

_LARGE = 1_000
"""Degrees of freedom from which on a series in their reciprocal is exact to ten digits."""


@dataclass(frozen=True)
class Outlier:
    """A value that is farther from the mean than chance explains: ``statistic`` standard deviations, where ``critical`` are allowed."""

    index: int
    value: float
    statistic: float
    critical: float


def outliers(sample: Any, alpha: float = ALPHA, most: int | None = None) -> list[Outlier]:
    """At most ``most`` values that do not belong to a normal sample (two-sided, at level ``alpha``), the most extreme first.

    The value farthest from the mean is taken away, and the test repeated: what it finds last decides, so that a second outlier, which
    widens the spread, does not mask the first. ``most`` is two or a tenth of the sample if nothing is said, and always less than half.

    Equal values (up to rounding, four units in the last place) stand or fall together, so one that occurs more often than ``most`` is
    none. They are tested as if there were one of them. If nothing but equal values is left beside them, there is no spread to compare
    with but their own, and all of them are counted: of 99 ones and a 7, the 7 is an outlier, of 6 ones and 4 zeros nothing is.
    So is any value, however near, if all the others are equal. Values that are not finite are left out; fewer than three, and a constant sample, have
    no outliers. Next to a deviation that is 10^154 times as large, a spread counts as none.

    ``sample`` is one-dimensional; indices are those of ``sample``. Cost: a sort. Newt 7.3.1.
    """
    if not 0 < alpha < 1:
        raise BigdebugError("The level of a test is between 0 and 1", value=alpha)
    values = np.asarray(sample, dtype=np.float64)
    if values.ndim != 1:
        raise BigdebugError("A sample is a sequence of numbers", value=sample)
    finite = np.flatnonzero(np.isfinite(values))
    half = (len(finite) - 1) // 2
    most = min(half, max(2, len(finite) // 10) if most is None else most)
    if most < 1:
        return []
    order = finite[np.argsort(values[finite], kind="stable")]
    ranked = values[order]
    with np.errstate(over="ignore"):
        rises = np.diff(ranked) > 4 * np.spacing(np.maximum(np.abs(ranked[1:]), np.abs(ranked[:-1])))
    starts = np.concatenate(([0], np.flatnonzero(rises) + 1))
    sizes = np.diff(np.concatenate((starts, [len(ranked)])))
    found = list(_beyond(list(_removals(ranked[starts], sizes, most, half)), alpha))
    return [
        Outlier(index, float(values[index]), statistic, allowed)
        for group, statistic, allowed in found
        for index in order[starts[group] : starts[group] + sizes[group]].tolist()
    ]


def _removals(levels: Floats, sizes: npt.NDArray[np.int64], most: int, middle: int) -> Iterator[tuple[int, float, int]]:
    """The groups of equal values in the order in which they are the most extreme, with the statistic and the size of what is tested.

    ``middle`` is the position of the median: less than half is taken away, so it stays. Sums run from it outwards, so that those of what is left
    are never differences of large numbers.
    """
    # By powers of two and about the median: exact, and nothing overflows.
    levels = np.ldexp(levels, -int(np.frexp(np.abs(levels).max())[1]))
    centre = int(np.searchsorted(np.cumsum(sizes), middle, side="right"))
    away = levels - levels[centre]
    away /= np.abs(away).max() or 1.0
    moments = np.stack([sizes, sizes * away, sizes * away * away])
    below = np.zeros((3, centre + 1))
    below[:, :centre] = np.cumsum(moments[:, :centre][:, ::-1], axis=1)[:, ::-1]
    above = np.cumsum(moments[:, centre:], axis=1)

    low, high, removed = 0, len(levels) - 1, 0
    while low < high:
        everything = below[:, low] + above[:, high - centre]
        mean = everything[1] / everything[0]
        down, up = mean - away[low], away[high] - mean
        upper = up > down or (up == down and sizes[high] <= sizes[low])
        group = high if upper else low
        removed += int(sizes[group])
        if removed > most:
            return
        low, high = (low, high - 1) if upper else (low + 1, high)
        tested = everything
        if low < high:
            tested = below[:, low] + above[:, high - centre] + (1.0, away[group], away[group] ** 2)
        count, total, squares = tested.tolist()
        spread = math.sqrt(max(0.0, (squares - total * total / count) / (count - 1)))
        if not spread:
            return
        yield group, abs(float(away[group]) - total / count) / spread, int(count)


def _beyond(removals: list[tuple[int, float, int]], alpha: float) -> Iterator[tuple[int, float, float]]:
    """The removals up to the last that is significant, with what would be allowed."""
    if not removals:
        return
    # Smaller samples allow less: what is below the least that is allowed need not be compared.
    least = critical(min(count for _, _, count in removals), alpha)
    last = next((
        number for number in range(len(removals), 0, -1)
        if removals[number - 1][1] > least and removals[number - 1][1] > critical(removals[number - 1][2], alpha)
    ), 0)
    for group, statistic, count in removals[:last]:
        yield group, statistic, critical(count, alpha)


def critical(count: int, alpha: float = ALPHA) -> float:
    """How many standard deviations from the mean the most extreme of ``count`` (at least 3) normal values may be: Grubbs, two-sided."""
    t = student(alpha / (2 * count), count - 2)
    return (count - 1) / math.sqrt(count) / math.sqrt(1 + (count - 2) / (t * t))


def student(tail: float, freedom: int) -> float:
    """The t that a Student variable of ``freedom`` degrees exceeds with probability ``tail``, which is below 1/2; to ten digits or so.

    Newton's method on the logarithms: there the tail falls ever faster, so that from the second step on it comes from one side only.
    """
    tail = max(tail, _LEAST)
    z = -NormalDist().inv_cdf(tail)
    t = _expanded(z, freedom)
    if freedom >= _LARGE and z < 8:
        return t
    u = before = math.log(min(max(t, 1e-9), _FARTHEST)) if z < freedom else 0.0
    for _ in range(1000):
        share, slope = _tail(math.exp(u), freedom)
        if not share:  # too far for floats: half of the way back
            u = (u + before) / 2
            continue
        u, before = min(u + math.log(share / tail) / slope, math.log(_FARTHEST)), u
        if abs(u - before) < 1e-13:
            break
    return math.exp(u)


def _expanded(z: float, freedom: int) -> float:
    """The quantile from that of the normal distribution (Abramowitz and Stegun, 26.7.5)."""
    s = z * z
    terms = (
        z * (s + 1) / 4,
        z * ((5 * s + 16) * s + 3) / 96,
        z * (((3 * s + 19) * s + 17) * s - 15) / 384,
        z * ((((79 * s + 776) * s + 1482) * s - 1920) * s - 945) / 92160,
    )
    reciprocal = 1 / freedom
    return z + reciprocal * (terms[0] + reciprocal * (terms[1] + reciprocal * (terms[2] + reciprocal * terms[3])))


def _tail(t: float, freedom: int) -> tuple[float, float]:
    """The probability of more than ``t``, and how fast its logarithm falls as that of ``t`` grows."""
    a, ratio = freedom / 2, t * t / freedom
    # What both the density and the incomplete beta function have in common, t * density.
    powers = -a * math.log1p(ratio) + 0.5 * math.log(ratio / (1 + ratio) / math.pi)
    peak = math.exp(math.lgamma(a + 0.5) - math.lgamma(a) + powers)
    if t * t > 3:
        share = 0.5 * peak / a * _fraction(a, 0.5, 1 / (1 + ratio))
    else:
        share = 0.5 - peak * _fraction(0.5, a, ratio / (1 + ratio))
    return share, peak / share if share else math.inf


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method; quick where x < (a + 1) / (a + b + 2)."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    found = d
    for m in range(1, 100_000):
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 / (1 + factor * d), 1 + factor / c
            found *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return found
