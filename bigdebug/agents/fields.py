"""Fields: what is looked at of an output, and what is said of a value whatever it is: null, a number, less than another, of a type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from types import UnionType
from typing import Any

import numpy as np

from bigdebug.shown import shown

Field = int | str | Callable[[Any], Any] | None
"""An index, a name, or a function of an output; None: all of it."""

Types = type | UnionType

_NUMBERS = (int, float, Decimal, Fraction, np.number)


def looked_at(output: Any, field: Field) -> Any:
    """A field of an output; None of None, and of a dict that lacks it. Raises LookupError for an index or a name that there is none of."""
    if callable(field):
        return field(output)
    if output is None or field is None:
        return output
    if isinstance(output, Mapping):
        return output.get(field)
    try:
        return output[field]
    except (TypeError, LookupError, ValueError):  # an object; too short a tuple; a Row
        if isinstance(field, str) and hasattr(output, field):
            return getattr(output, field)
        raise LookupError(f"{shown(output)} has no field {shown(field)}") from None


def is_null(value: Any) -> bool:
    """Whether a value is None, NaN, or something else that is not like itself: NaT, pandas.NA."""
    if value is None:
        return True
    if isinstance(value, Decimal):  # one that signals raises where it is compared
        return value.is_nan()
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA; an array
        return type(value).__name__ == "NAType"


def holds_null(value: Any) -> bool:
    """Whether a value is null, or anything in it, where it is a tuple, a list, a dict or an array."""
    if isinstance(value, tuple | list | Mapping):
        return any(map(holds_null, value.values() if isinstance(value, Mapping) else value))
    return bool(np.any(value != value)) if isinstance(value, np.ndarray) else is_null(value)


def is_number(value: Any) -> bool:
    """Whether a value is a real number, or NaN; a bool is none."""
    return isinstance(value, _NUMBERS) and not isinstance(value, bool | np.complexfloating)


def is_less(value: Any, other: Any) -> bool:
    """Whether one value is less than another; false for what cannot be compared."""
    try:
        return bool(value < other)
    except (TypeError, ValueError, ArithmeticError):  # None, text; an array; Decimal("NaN")
        return False


def is_of_type(value: Any, of: Types | None) -> bool:
    """Whether a value is of a type, as isinstance has it, but that a bool is no int, and numpy's are what Python's are."""
    kinds = (type(None),) if of is None else of.__args__ if isinstance(of, UnionType) else (of,)
    if isinstance(value, bool):
        return any(kind is not int and isinstance(value, kind) for kind in kinds)
    return isinstance(value, kinds) or (int in kinds and isinstance(value, np.integer)) or (bool in kinds and isinstance(value, np.bool_))


def field_given(field: Any) -> Field:
    """What the user says is looked at. Raises TypeError."""
    if field is None or callable(field) or (isinstance(field, int | str) and not isinstance(field, bool)):
        return field  # type: ignore[no-any-return]
    raise TypeError(f"field is an index, a name, or a function of an output, not {shown(field)}")


def type_given(of: Any) -> Any:
    """A type that the user asks for. Raises TypeError for what isinstance does not take."""
    try:
        isinstance(0, type(None) if of is None else of)
    except TypeError:
        of = ()
    if of is None or isinstance(of, type | UnionType):
        return of
    raise TypeError("schema() takes types as isinstance does: str, float, int | None")


def named(value: Any) -> str:
    """A value as it is written: functions and types by their names."""
    if isinstance(value, UnionType):
        return str(value)
    return getattr(value, "__qualname__", None) or shown(value) if callable(value) else shown(value)
