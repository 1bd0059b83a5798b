"""Columns of totals: a number for each mark, gathered from links, so that totals can be put together and, where they can, taken apart.

Gray's data cube calls such functions distributive. What is exact gives the same totals in any order, so an answer does not tell by which way it was found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bigdebug.trace.crossfilter.associations import Some, chunks

Array = npt.NDArray[Any]
Marks = npt.NDArray[np.intp]

OF_FLOATS = {np.minimum, np.maximum, np.fmin, np.fmax}
"""Their totals hang on no order, whatever the numbers."""
OF_INTEGERS = {np.add, *OF_FLOATS, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.logical_and, np.logical_or, np.logical_xor, np.gcd}


class Column(Protocol):
    mergeable: bool
    """Whether the totals of two sets of rows make those of both."""
    reversible: bool
    """Whether the totals of a set, without those of a part, are those of the rest. Then it is mergeable, too."""

    @property
    def cells(self) -> int:
        """How many numbers the totals are."""
        ...

    def start(self) -> Array:
        """The totals of no links. Their last place in the last dimension is for links of no mark."""
        ...

    def take(self, totals: Array, links: Some, marks: Marks) -> None:
        """Count these links, of these marks, in, one after the other."""
        ...

    def joined(self, totals: Array, more: Array) -> Array: ...

    def apart(self, totals: Array, less: Array) -> Array: ...


class Reduction:
    """``ufunc`` over the values of each mark's links; commutative and associative, as in ``reduceByKey``.

    Where its result hangs on the order in spite of that (sums of floats), links are taken one after the other, and all anew for each answer: it is repeatable.
    """

    def __init__(self, ufunc: np.ufunc, values: Array | None, identity: Any, marks: int, owners: Array | None = None) -> None:
        """``values`` by link, 1 if None. ``owners``, if given, stand by link in the place of marks."""
        self._ufunc, self._values, self._identity, self._size, self._owners = ufunc, values, identity, marks + 1, owners
        self._dtype = np.dtype(np.int64) if values is None else values.dtype
        self.mergeable = ufunc in (OF_FLOATS if self._dtype.kind == "f" else OF_INTEGERS)
        self.reversible = self.mergeable and ufunc is np.add

    @property
    def cells(self) -> int:
        return self._size

    def start(self) -> Array:
        return np.full(self._size, self._identity, dtype=self._dtype)

    def take(self, totals: Array, links: Some, marks: Marks) -> None:
        at = marks if self._owners is None else self._owners[links].astype(np.intp)
        with np.errstate(all="ignore"):  # what is infinite, or no number, is shown as that
            self._ufunc.at(totals, at, 1 if self._values is None else self._values[links])

    def joined(self, totals: Array, more: Array) -> Array:
        with np.errstate(all="ignore"):
            both: Array = self._ufunc(totals, more)
        return both

    def apart(self, totals: Array, less: Array) -> Array:
        rest: Array = totals - less
        return rest


@dataclass(frozen=True)
class Limbs:
    """Sums of integers as limbs: no sum overflows, however large (``Values.limbs``)."""

    limbs: list[Array]
    marks: int

    mergeable = True
    reversible = True

    @property
    def cells(self) -> int:
        return len(self.limbs) * (self.marks + 1)

    def start(self) -> Array:
        return np.zeros((len(self.limbs), self.marks + 1), dtype=np.int64)

    def take(self, totals: Array, links: Some, marks: Marks) -> None:
        for total, limb in zip(totals, self.limbs):
            np.add.at(total, marks, limb[links])

    def joined(self, totals: Array, more: Array) -> Array:
        return totals + more

    def apart(self, totals: Array, less: Array) -> Array:
        return totals - less

    def exact(self, totals: Array) -> list[int]:
        """The sum of each mark."""
        return _whole(totals, 32)


class Floats:
    """Sums of floating-point numbers, exact: each is cut into limbs of one size, from the highest bit of all values to the lowest (as in Demmel & Nguyen's
    reproducible sums, but with all bits). NaN and infinities are counted beside.

    Values so far apart that it would take more than ``MOST`` limbs do not fit; ``Reduction`` adds them in order instead.
    """

    MOST = 6

    mergeable = True
    reversible = True

    def __init__(self, values: Array, marks: int) -> None:
        self._values, self._size = values, marks + 1
        high, low, self._strange = _reach(values)
        width = max(62 - max(len(values), 1).bit_length(), 1)
        self._count = max(-(-(high - low) // width), 1)
        self._width = width
        self._units = [high - width * (number + 1) for number in range(self._count)]

    @property
    def fits(self) -> bool:
        return self._count <= self.MOST

    @property
    def cells(self) -> int:
        return (self._count + 3 * self._strange) * self._size

    def start(self) -> Array:
        return np.zeros((self._count + 3 * self._strange, self._size), dtype=np.int64)

    def take(self, totals: Array, links: Some, marks: Marks) -> None:
        rest = self._values[links].astype(np.float64)
        if self._strange:
            for total, which in zip(totals[self._count:], (np.isnan(rest), np.isposinf(rest), np.isneginf(rest))):
                np.add.at(total, marks[which], 1)
            rest[~np.isfinite(rest)] = 0.0
        for total, unit in zip(totals, self._units):
            limb = np.trunc(np.ldexp(rest, -unit))
            np.add.at(total, marks, limb.astype(np.int64))
            rest -= np.ldexp(limb, unit)

    def joined(self, totals: Array, more: Array) -> Array:
        return totals + more

    def apart(self, totals: Array, less: Array) -> Array:
        return totals - less

    def rounded(self, totals: Array, counts: Array | None = None) -> Array:
        """The sum of each mark, divided by ``counts`` if given, rounded once."""
        sums = _whole(totals[: self._count][::-1], self._width)
        dividers = [1] * len(sums) if counts is None else counts.tolist()
        found = np.array([_quotient(total, self._units[-1], divider) for total, divider in zip(sums, dividers)], dtype=np.float64)
        if self._strange:
            nan, high, low = (totals[self._count:, :] > 0)
            found[high], found[low] = np.inf, -np.inf
            found[nan | (high & low)] = np.nan
        return found


def _whole(limbs: Array, width: int) -> list[int]:
    """Integers of their limbs, the lowest first, each ``width`` bits above the one before."""
    found = limbs[-1].astype(object)
    for limb in limbs[-2::-1]:
        found = (found << width) + limb.astype(object)
    whole: list[int] = found.tolist()
    return whole


def _quotient(total: int, unit: int, divider: int) -> float:
    """total * 2**unit / divider, rounded once; 0 where nothing was added up."""
    if not total or not divider:
        return 0.0
    try:
        return total / (divider << -unit) if unit < 0 else (total << unit) / divider
    except OverflowError:
        return float("inf") if total > 0 else float("-inf")


def _reach(values: Array) -> tuple[int, int, bool]:
    """Powers of two: all values are below 2**high and multiples of 2**low; and whether some are NaN or infinite."""
    highest, lowest, strange = -1075, 1024, False
    for chunk in chunks(len(values)):
        here = values[chunk].astype(np.float64)
        usual = np.isfinite(here)
        strange |= not usual.all()
        mantissas, exponents = np.frexp(here[usual & (here != 0)])
        if len(mantissas):
            bits = np.ldexp(mantissas, 53).astype(np.int64)
            zeros = np.frexp((bits & -bits).astype(np.float64))[1] - 1
            highest = max(highest, int(exponents.max()))
            lowest = min(lowest, int((exponents - 53 + zeros).min()))
    return (highest, lowest, strange) if highest > -1075 else (0, 0, strange)
