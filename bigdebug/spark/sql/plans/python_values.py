"""Python's values: those of Spark that Python has none for, as text. It has no text of other bytes than UTF-8's, and no day after the year 9999."""

from __future__ import annotations

from datetime import date, datetime, timezone

import pyarrow as pa
import pyarrow.compute as pc

from bigdebug.shown import shown

_FIRST, _LAST = date.min, date.max
_MOMENTS = datetime(1, 1, 2, tzinfo=timezone.utc), datetime(9999, 12, 30, tzinfo=timezone.utc)
"""Between these, also on a clock of another zone."""


def has_all(values: pa.Array) -> bool:
    """Whether Python has each of the values. Those that are nested are made to see."""
    kind = values.type
    if pa.types.is_date32(kind) or pa.types.is_timestamp(kind):
        ends = pc.min_max(values.cast(pa.int32() if pa.types.is_date32(kind) else pa.int64()))
        low, high = (_FIRST, _LAST) if pa.types.is_date32(kind) else _MOMENTS
        first, last = (pa.scalar(each, pa.date32() if pa.types.is_date32(kind) else pa.timestamp(kind.unit, "UTC")).value for each in (low, high))
        return ends["min"].as_py() is None or bool(first <= ends["min"].as_py() and ends["max"].as_py() <= last)
    try:
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            values.validate(full=True)
        elif pa.types.is_nested(kind):
            values.to_pylist()
    except (pa.ArrowInvalid, UnicodeDecodeError, OverflowError, ValueError):
        return False
    return True


def shown_as_text(values: pa.Array) -> pa.Array:
    """The values as they are; where Python has some of them not, the text of all: of other bytes these, by their numbers."""
    if has_all(values):
        return values
    kind = values.type
    if pa.types.is_nested(kind):
        return pa.array([_text_of(value) for value in values], pa.string())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        read = values.cast(pa.large_binary()).to_pylist()
        return pa.array([None if each is None else each.decode("utf-8", "backslashreplace") for each in read], pa.string())
    return values.cast(pa.string())


def _text_of(value: pa.Scalar) -> str | None:
    try:
        return None if not value.is_valid else shown(value.as_py())
    except (UnicodeDecodeError, OverflowError, ValueError):
        return f"a {value.type} with values that Python does not have"
