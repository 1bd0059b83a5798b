"""Kinds: what it means for values of a type to be equal. Types are written as SQL does: ``DECIMAL(12,2)``."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Context, Decimal
from math import isfinite
from typing import Any

from pyspark.sql.types import DataType

WHOLE = {"TINYINT": 7, "SMALLINT": 15, "INT": 31, "BIGINT": 63}
"""Types of whole numbers, and how many bits of them are not the sign."""

_PYTHON = {**dict.fromkeys(WHOLE, int), "DECIMAL": Decimal, "STRING": str, "BOOLEAN": bool, "DATE": date}
"""Types whose values Python compares as Spark does, and the Python type of those. Text that is collated has a longer name."""

_BITS = {*_PYTHON, "TIMESTAMP", "TIMESTAMP_NTZ"}

_FLOATING = ("FLOAT", "DOUBLE")

RELATIVE, ABSOLUTE = 1e-9, 1e-12
"""How far two sums of the same floating point numbers, in other orders, are taken to be apart."""

_EXACTLY = Context(prec=2000)
"""Rounds no number that is not longer than a line."""

_INCOMPARABLE = ("MAP<", "VARIANT", "GEOMETRY", "GEOGRAPHY")

_UNITS = {"DAY": 86_400, "HOUR": 3_600, "MINUTE": 60}
"""Seconds of what intervals may be whole numbers of."""


def kind_of(given: DataType) -> str:
    """A type of PySpark's as SQL writes it."""
    return given.simpleString().upper()


def _head(kind: str) -> str:
    return kind.split("(", 1)[0]


def is_number(kind: str) -> bool:
    return _head(kind) in {*WHOLE, "DECIMAL", *_FLOATING}


def is_floating(kind: str) -> bool:
    return kind in _FLOATING


def has_floating(kind: str) -> bool:
    """Whether values are, or may hold, zeros and NaNs of several bits."""
    return any(part in kind for part in _FLOATING)


def is_collated(kind: str) -> bool:
    """Whether values are, or hold, text of which a collation says what is equal."""
    return "COLLATE" in kind


def equal_by_bits(kind: str) -> bool:
    """Whether equal values have equal bits."""
    return _head(kind) in _BITS


def equal_in_python(kind: str) -> bool:
    """Whether values are equal in Python if they are in Spark, and only then."""
    return _head(kind) in _PYTHON


def is_of(kind: str, value: Any) -> bool:
    """Whether a value of Python's is compared with those of a type as Spark would: 1 == True, and Spark would cast '1'."""
    return value is None or type(value) is _PYTHON.get(_head(kind))


def is_usual(kind: str, value: Any) -> bool:
    """Whether a value of Python's is of such a kind that SQL has it as one of a type, whatever it is."""
    if isinstance(value, int | float | Decimal):
        return kind == "BOOLEAN" or is_number(kind)
    if isinstance(value, date):
        return kind in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ")
    return isinstance(value, str) and is_text(kind)


def is_text(kind: str) -> bool:
    return kind.startswith(("STRING", "CHAR", "VARCHAR"))


def may_hold(kind: str, value: Any) -> bool:
    """Whether a column of a type may hold what equals a value of Python's. A cast would round, or wrap around, to what does not."""
    if isinstance(value, int | float | Decimal):
        return _may_hold_number(kind, Decimal(float.__repr__(value)) if isinstance(value, float) else Decimal(value))
    if isinstance(value, str):
        return all(not "\ud800" <= c <= "\udfff" for c in value)
    if isinstance(value, datetime):
        return not getattr(value, "nanosecond", 0) and (kind != "DATE" or value.time() == time.min)
    if isinstance(value, timedelta) and kind.startswith("INTERVAL"):
        unit = timedelta(seconds=_UNITS.get(kind.rsplit(maxsplit=1)[-1], 0)) or timedelta(microseconds=1)
        return not getattr(value, "nanoseconds", 0) and not value % unit
    return True


def _may_hold_number(kind: str, number: Decimal) -> bool:
    if number.is_snan():
        return False
    if kind == "BOOLEAN":
        return number in (0, 1)
    if is_floating(kind):
        return not number.is_finite() or (number.adjusted() < 400 and isfinite(float(number)))
    if _head(kind) not in (*WHOLE, "DECIMAL"):
        return True
    if not number.is_finite() or number.adjusted() > 40:
        return False
    if kind in WHOLE:
        return number == int(number) and -(1 << WHOLE[kind]) <= number < 1 << WHOLE[kind]
    precision, scale = map(int, kind.removeprefix("DECIMAL(").removesuffix(")").split(","))
    digits = number.normalize(_EXACTLY)
    return not number or (-int(digits.as_tuple().exponent) <= scale and digits.adjusted() < precision - scale)


def is_comparable(kind: str) -> bool:
    """Whether Spark compares values at all."""
    return not any(part in kind for part in _INCOMPARABLE)


def is_map(kind: str) -> bool:
    """Whether values are maps, of which Spark compares the entries."""
    return kind.startswith("MAP<") and is_comparable(kind.removeprefix("MAP<"))


def has_name(kind: str) -> bool:
    """Whether SQL reads the name of a type again: that of decimals of a negative scale it does not."""
    return ",-" not in kind
