"""Saved values: records as JSON where they are made of plain values, so that who reads them runs nothing of theirs. Others have a text, and a pickle beside it."""

from __future__ import annotations

import base64
import datetime
import json
import math
from decimal import Decimal
from typing import Any

from bigdebug.trace.rows import SavedRow

_DEEPEST = 50
_LONGEST = 1 << 20
"""Characters of a record that is written in full."""


def written(record: Any) -> str | None:
    """The record as JSON, from which ``read`` makes an equal one; None where it is made of more than plain values, or too long."""
    try:
        text = json.dumps(_plain(record, 0), allow_nan=False, ensure_ascii=False)
        text.encode()
    except (TypeError, ValueError, RecursionError):
        return None
    return text if len(text) <= _LONGEST else None


def read(text: str) -> Any:
    """The record of what ``written`` gave. Raises ValueError, LookupError, TypeError or ArithmeticError for what is none of it."""
    return _value(json.loads(text))


def _plain(value: Any, depth: int) -> Any:
    """Exactly these types, and no class derived from them: such a value may be equal and something else."""
    if depth > _DEEPEST:
        raise ValueError("nested too deep")
    kind: Any = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if kind in _SEQUENCES:
        return {_SEQUENCES[kind]: [_plain(item, depth + 1) for item in value]}
    if kind is dict:
        return {"dict": [[_plain(key, depth + 1), _plain(item, depth + 1)] for key, item in value.items()]}
    if kind in (bytes, bytearray):
        return {kind.__name__: base64.b64encode(value).decode()}
    if kind is Decimal:
        return {"decimal": str(value)}
    if kind in (datetime.date, datetime.datetime) and getattr(value, "tzinfo", None) is None and not getattr(value, "fold", 0):
        return {kind.__name__: value.isoformat()}
    fields = getattr(value, "__fields__", None) if kind.__name__ == "Row" else None  # others may answer with any exception
    if isinstance(fields, list):
        return {"row": [[str(name) for name in fields], [_plain(item, depth + 1) for item in value]]}
    raise TypeError(f"{kind} is not plain")


_SEQUENCES: dict[Any, str] = {list: "list", tuple: "tuple", set: "set", frozenset: "frozenset"}


def _value(data: Any) -> Any:
    if not isinstance(data, dict):
        if isinstance(data, list):
            raise ValueError("a list that says not of what")
        return data
    [(kind, held)] = data.items()
    return _READ[kind](held)


_READ: dict[str, Any] = {
    "float": float,
    "list": lambda held: [_value(item) for item in held],
    "tuple": lambda held: tuple(_value(item) for item in held),
    "set": lambda held: {_value(item) for item in held},
    "frozenset": lambda held: frozenset(_value(item) for item in held),
    "dict": lambda held: {_value(key): _value(item) for key, item in held},
    "bytes": base64.b64decode,
    "bytearray": lambda held: bytearray(base64.b64decode(held)),
    "decimal": Decimal,
    "date": datetime.date.fromisoformat,
    "datetime": datetime.datetime.fromisoformat,
    "row": lambda held: SavedRow.of(tuple(map(str, held[0])), (_value(item) for item in held[1])),
}
