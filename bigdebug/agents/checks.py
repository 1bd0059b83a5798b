"""Checks: the tests of outputs that come with bigdebug, each of which says what outputs are to be; ``bigdebug.checks`` to those who use them.

``dbg.localize(report, checks.at_most(60) | checks.not_null())`` takes an output for wrong that violates either. ``field`` says what is looked at of an output:
an index, a name, or a function of it; of None, every field is null. What cannot be compared with a bound (null, NaN, text with a number, an array) is not
beyond it: ``not_null`` and ``schema`` are there for that. Where no field is named, it is the last number that an output holds, of rows that of the last column of
numbers; where null stands behind all numbers, it is null: of (key, None) the key is not looked at in its place. A check is called as any test is: true of an output that is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from bigdebug.agents.check import Check
from bigdebug.agents.claims import Bounds, Holds, NotNull, Schema, Sigma, Unique
from bigdebug.agents.fields import Field, Types, field_given, is_less, is_null, type_given
from bigdebug.shown import shown

__all__ = ["at_least", "at_most", "between", "constraint", "not_null", "schema", "sigma", "unique"]


def at_most(bound: Any, *, field: Field = None) -> Check:
    """Violated by more than ``bound``; of an output, the number is looked at that it holds, the last one if there are several."""
    return Bounds(field_given(field), None, _bound(bound))


def at_least(bound: Any, *, field: Field = None) -> Check:
    """Violated by less than ``bound``."""
    return Bounds(field_given(field), _bound(bound), None)


def between(low: Any, high: Any, *, field: Field = None) -> Check:
    """Violated by less than ``low`` and by more than ``high``. Raises ValueError if nothing is between them."""
    if is_less(_bound(high), _bound(low)):
        raise ValueError(f"nothing is between {shown(low)} and {shown(high)}; the lower bound comes first")
    return Bounds(field_given(field), low, high)


def sigma(k: float = 3, *, field: Field = None) -> Check:
    """Violated by numbers more than ``k`` standard deviations (those of all outputs, divided by their number) away from the mean of all.

    Mean and deviation are those of the result that is looked at, set once; what it gives on fewer records is compared with the same bounds.
    """
    if isinstance(k, bool) or not isinstance(k, int | float) or not 0 < k < math.inf:
        raise ValueError(f"sigma() takes how many standard deviations are too far, not {shown(k)}")
    return Sigma(field_given(field), k)


def not_null(*, field: Field = None) -> Check:
    """Violated by None and NaN (of floats, Decimals, numpy, pandas), also within tuples, lists and values of dicts if there is no ``field``."""
    return NotNull(field_given(field))


def unique(*, field: Field = None) -> Check:
    """Violated by outputs that are alike, or are so in a ``field``: ``unique(field=0)`` is for keys."""
    return Unique(field_given(field))


def schema(*types: Types | Mapping[Any, Types] | None, field: Field = None) -> Check:
    """Violated by other types: ``schema(str, float | None)`` of a pair, ``schema({"name": str, "sum": float})`` by name, ``schema(int)`` of an output that is no tuple.

    Types are as for isinstance, but bool is no int, and numpy's integers are ints. A part that is lacking, or too many, is wrong as well.
    """
    if len(types) == 1 and isinstance(types[0], Mapping):
        named = {name: type_given(of) for name, of in types[0].items()}
        return Schema(field_given(field), named)
    if not types:
        raise TypeError("schema() takes types: schema(str, float) for pairs of both")
    every = tuple(map(type_given, types))
    return Schema(field_given(field), every[0] if len(every) == 1 else every)


def constraint(true: Callable[[Any], Any], *, field: Field = None) -> Check:
    """Violated where ``true(output)`` is not: the other way around than a test, which is true of what is wrong."""
    if not callable(true):
        raise TypeError(f"constraint() takes a function that is true of a right output, not {shown(true)}")
    return Holds(field_given(field), true)


def _bound(bound: Any) -> Any:
    if is_null(bound):
        raise ValueError(f"{shown(bound)} bounds nothing, for nothing can be compared with it")
    return bound
