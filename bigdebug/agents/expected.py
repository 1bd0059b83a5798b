"""Expected: what outputs were to be, by their keys, and a judge of one key where the program runs on fewer records."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from bigdebug.agents.fields import is_less, is_null
from bigdebug.agents.judges import Verdict, is_number, number
from bigdebug.agents.likeness import likeness
from bigdebug.model import Outcome

CLOSE = 1e-9
"""Numbers that are not whole are alike if they differ by this part of the larger one: sums come in another order."""

TINY = 1e-12
"""And if they differ by no more than this: what cancels out comes to nothing, or next to it."""

FEW_PAIRS, MOST_PAIRS = 64, 1_000_000
"""Pairs of values that are compared as they are, and those that are compared at all for fractions that are alike."""


@dataclass(frozen=True)
class Apart:
    """Takes an output apart: the name of its key, and what is of that key. Of a tuple the first field is the key, of anything else all of it; or ``key`` says."""

    key: Callable[[Any], Any] | None = None

    def __call__(self, output: Any) -> tuple[bytes, Any]:
        if self.key is not None:
            return name(self.key(output)), output
        if isinstance(output, tuple) and len(output) > 1:
            return name(output[0]), output[1] if len(output) == 2 else tuple(output[1:])
        return name(output), output

    def is_all(self, output: Any) -> bool:
        """Whether all of an output is its key."""
        return self.key is None and not (isinstance(output, tuple) and len(output) > 1)


def name(key: Any) -> bytes:
    """Bytes that are equal for equal keys; numbers of any type are equal by their values."""
    return likeness(_by_value(key))


def alike(value: Any, other: Any) -> bool:
    """Whether a value is what was expected: numbers by their values, those with a fraction to 9 digits; NaN and None are alike; a list is like a tuple."""
    if is_null(value) or is_null(other):
        return is_null(value) and is_null(other)
    if is_number(value) and is_number(other):
        return bool(value == other) or (not (_whole(value) and _whole(other)) and math.isclose(number(value), number(other), rel_tol=CLOSE, abs_tol=TINY))
    if isinstance(value, tuple | list) and isinstance(other, tuple | list):
        return len(value) == len(other) and all(map(alike, value, other))
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return value.keys() == other.keys() and all(alike(value[key], other[key]) for key in value)
    return name(value) == name(other)


def beyond(values: Sequence[Any], others: Sequence[Any]) -> list[int]:
    """The places of those of ``values`` that are not among ``others``, of which each stands for one.

    Of many, each is compared with those that are equal, then with those that are the same to seven digits, and what is left with all others, if that comes to no more than
    MOST_PAIRS.
    """
    places, left = list(range(len(values))), list(others)
    if len(values) * len(others) > FEW_PAIRS:
        for called in (_as_it_is, lambda value: name(_roughly(value))):
            near: dict[Any, list[Any]] = defaultdict(list)
            for other in left:
                near[called(other)].append(other)
            places = [place for place in places if not _take(near.get(called(values[place]), []), values[place])]
            left = [other for some in near.values() for other in some]
        if len(places) * len(left) > MOST_PAIRS:
            return places
    return [place for place in places if not _take(left, values[place])]


def _as_it_is(value: Any) -> Any:
    """A value, or its name, if it has no hash."""
    try:
        hash(value)
    except TypeError:
        return name(value)
    return value


def _take(left: list[Any], value: Any) -> bool:
    """Whether one that is alike was left, which it is no more."""
    same = next((i for i, other in enumerate(left) if alike(value, other)), None)
    if same is None:
        return False
    del left[same]
    return True


def _roughly(value: Any) -> Any:
    """The same for numbers with a fraction that are the same to seven digits, but where the seventh one turns."""
    if is_number(value) and not _whole(value) and not is_null(value):
        return float(f"{number(value):.6e}")
    if isinstance(value, tuple | list):
        return tuple(map(_roughly, value))
    return {part: _roughly(each) for part, each in value.items()} if isinstance(value, Mapping) else value


@dataclass(frozen=True)
class Due:
    """Judges what a program gives of one key: wrong is what was not expected of it.

    That there is nothing of it says nothing, unless nothing was expected: then it is there no more, as it is to be. If something expected is ``lacking`` in the run, what is needed
    for there to be anything may be what is wrong. With a ``side``, only what is more (1) than expected is wrong, or less (-1): other records
    may have their part in a number. If it is ``missing``, that there is nothing of it is what is wrong.
    """

    apart: Apart
    name: bytes
    expected: tuple[Any, ...]
    side: int = 0
    missing: bool = False
    raises: bool = False
    lacking: bool = False

    def verdict(self, outputs: Iterable[Any]) -> Verdict:
        try:
            known = [value for name, value in map(self.apart, outputs) if name == self.name]
        except Exception:  # of the user's functions
            return Verdict(Outcome.FAIL if self.raises else Outcome.UNRESOLVED)
        if not known:
            return Verdict(self._outcome(known), math.nan if self.expected else 0.0, gone=self.lacking)
        return Verdict(self._outcome(known), number(known[0]) if len(known) == 1 else math.nan)

    def _outcome(self, known: list[Any]) -> Outcome:
        if self.missing:
            return Outcome.PASS if known else Outcome.FAIL
        if not known:
            return Outcome.UNRESOLVED if self.expected else Outcome.PASS
        if self.side and len(known) == 1:
            return Outcome.FAIL if side(known[0], self.expected[0]) in (self.side, 0) and not alike(known[0], self.expected[0]) else Outcome.PASS
        return Outcome.FAIL if beyond(known, self.expected) else Outcome.PASS


@dataclass(frozen=True)
class Among:
    """Judges what a program gives where no key says which output is which: wrong is what is not one of ``names``, those of all that was expected, nor like what is ``lacking``.

    That there is nothing says nothing, unless nothing is lacking.
    """

    names: frozenset[bytes]
    lacking: tuple[Any, ...]
    raises: bool = False

    def verdict(self, outputs: Iterable[Any]) -> Verdict:
        try:
            known = list(outputs)
        except Exception:  # of the user's functions
            return Verdict(Outcome.FAIL if self.raises else Outcome.UNRESOLVED)
        value = number(known[0]) if len(known) == 1 else math.nan
        if not known:
            return Verdict(Outcome.UNRESOLVED if self.lacking else Outcome.PASS, 0.0)
        return Verdict(Outcome.PASS if all(map(self._was_expected, known)) else Outcome.FAIL, value)

    def _was_expected(self, output: Any) -> bool:
        return name(output) in self.names or any(alike(output, other) for other in self.lacking)


def side(value: Any, expected: Any) -> int:
    """1 if a number is more than another, -1 if it is less, 0 if they are alike or one is none."""
    if not (is_number(value) and is_number(expected)) or alike(value, expected):
        return 0
    return 1 if is_less(expected, value) else -1 if is_less(value, expected) else 0


def _whole(value: Any) -> bool:
    return isinstance(value, int | np.integer)


def _by_value(key: Any) -> Any:
    if is_number(key) and not is_null(key):
        return _in_one_way(key)
    if is_null(key):
        return None if key is None else math.nan
    if isinstance(key, tuple | list):
        return tuple(map(_by_value, key))
    if isinstance(key, Mapping):
        return {part: _by_value(value) for part, value in key.items()}
    return bytes(key) if isinstance(key, bytearray) else key


def _in_one_way(number: Any) -> int | float | Fraction:
    """The same of equal numbers, whatever their types."""
    if _whole(number):
        return int(number)
    exact = Fraction(number) if isinstance(number, Decimal) and number.is_finite() else number
    if isinstance(exact, Fraction) and exact.denominator == 1:
        return int(exact)
    try:
        near = float(exact)
    except OverflowError:  # a fraction beyond all floats
        near = math.inf
    if isinstance(exact, Fraction) and near != exact:
        return exact
    return int(near) if near.is_integer() else near
