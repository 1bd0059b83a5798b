"""Alike: whether two values are the same to a user, whatever their types: what is expected of a program, and what two results have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from bigdebug.agents.fields import is_null, is_number
from bigdebug.agents.judges import number
from bigdebug.agents.likeness import likeness

CLOSE = Fraction(1, 10**9)
"""Numbers that are not whole are alike if they differ by this part of the larger one: sums come in another order."""

TINY = 1e-12
"""And 0 is like what is no farther from it than this: what cancels out comes to nothing, or next to it."""

CANCELLED = 1e-15
"""Floats are alike that are both next to 0 by so much: of sums that cancel out, in two orders, neither need be 0."""


def name(key: Any) -> bytes:
    """Bytes that are equal for equal keys; numbers of any type are equal by their values."""
    return likeness(_by_value(key))


def alike(value: Any, other: Any) -> bool:
    """Whether a value is what was expected: numbers by their values, those with a fraction to 9 digits, of 0 to TINY; NaN and None are alike; a list is like a tuple."""
    if is_null(value) or is_null(other):
        return is_null(value) and is_null(other)
    if is_number(value) and is_number(other):
        return bool(value == other) or (not (is_whole(value) and is_whole(other)) and _close(value, other))
    if isinstance(value, tuple | list) and isinstance(other, tuple | list):
        return len(value) == len(other) and all(map(alike, value, other))
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return value.keys() == other.keys() and all(alike(value[key], other[key]) for key in value)
    return name(value) == name(other)


def _close(value: Any, other: Any) -> bool:
    """Whether numbers differ by no more than sums that come in another order do."""
    if not value or not other:
        return abs(number(other or value)) <= TINY
    if isinstance(value, float) and isinstance(other, float):
        return math.isclose(value, other, rel_tol=float(CLOSE), abs_tol=CANCELLED)
    try:
        one, two = _exactly(value), _exactly(other)
    except OverflowError:  # infinity is like itself alone
        return False
    return abs(one - two) <= max(abs(one), abs(two)) * CLOSE


def _exactly(number: Any) -> Fraction:
    """A number as it is: floats know nothing of decimals beyond 10^308 or below 10^-324."""
    return Fraction(int(number)) if is_whole(number) else Fraction(*number.as_integer_ratio())


def is_whole(value: Any) -> bool:
    """Whether a number is of a type that has no fractions."""
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
    if is_whole(number):
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
