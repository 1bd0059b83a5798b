"""Values: items by what is in them. Newt names items by hashes (3.1): equal bytes, or equal fields, are one item wherever they are met."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from hashlib import blake2b
from typing import Any
from uuid import UUID

from bigdebug.errors import ActorError

SIZE = 16
"""Bytes of a digest: of 10**12 items two are taken for one once in 10**14 times."""

_DOUBLE = struct.Struct("<d").pack
_NAN = _DOUBLE(float("nan"))


def digest_of(value: Any, own: Callable[[Any], bytes] | None = None) -> bytes:
    """The digest of a value: of ``own(value)``, if that is given, else of its type and all that it holds.

    Texts, bytes, numbers, dates, None, and collections and dataclasses of them, have the same digest in every process. 1 and 1.0 are two values, and so are
    0.0 and -0.0; NaN is one. Raises ActorError for others: what they print may change, or hide what they hold.
    """
    return blake2b(_told(own, value) if own else canonical(value), digest_size=SIZE).digest()


def _told(own: Callable[[Any], bytes], value: Any) -> bytes:
    told = own(value)
    if not isinstance(told, (bytes, bytearray, memoryview)):
        raise ActorError("The digest of a DataType gives bytes", value=told)
    return bytes(told)


def canonical(value: Any) -> bytes:
    """The value in bytes, such that two have the same if and only if they are equal and of one type."""
    kind = type(value)
    if kind is str:
        return b"s" + str.encode(value, errors="surrogatepass")
    if kind in (bytes, bytearray, memoryview):
        return b"b" + bytes(value)
    if value is None:
        return b"n"
    if kind is bool or kind is int:
        return b"%c%d" % (b"?i"[kind is int], value)
    if kind is float:
        return b"f" + (_DOUBLE(value) if value == value else _NAN)
    return _collection(value)


def _collection(value: Any) -> bytes:
    if isinstance(value, dict):
        return _joined(b"{", sorted(_joined(b":", map(canonical, pair)) for pair in value.items()))
    if isinstance(value, (set, frozenset)):
        return _joined(b"<", sorted(map(canonical, value)))
    if isinstance(value, list):
        return _joined(b"[", map(canonical, value))
    if isinstance(value, tuple):  # a Row of Spark's is one, and its names are those of its columns
        names = getattr(value, "__fields__", None) or getattr(value, "_fields", None) or ()
        return _joined(b"(", [*map(canonical, value), *(canonical(str(name)) for name in names)])
    return _other(value)


def _other(value: Any) -> bytes:
    kind = type(value)
    if isinstance(value, Enum):
        return _joined(b"e", [kind.__qualname__.encode(), value.name.encode()])
    if isinstance(value, (Decimal, UUID, timedelta)):
        return _joined(b"r", [kind.__name__.encode(), str(value).encode()])
    if isinstance(value, (date, datetime, time)):
        return _joined(b"d", [kind.__name__.encode(), value.isoformat().encode()])
    if is_dataclass(value):
        return _joined(b"@", [kind.__qualname__.encode(), *(canonical(getattr(value, each.name)) for each in fields(value))])
    if kind.__module__ == "numpy":
        return _joined(b"u", [str(getattr(value, "dtype", kind.__name__)).encode(), canonical(value.tolist())])
    for base in (str, bytes, int, float):
        if isinstance(value, base):
            return canonical(base(value))  # type: ignore[arg-type]
    raise ActorError(
        f"A {kind.__name__} is no value that another process would know again",
        remedy="Give its type a digest: register(..., takes=DataType(name, digest=function that gives bytes)), or tell where it stands: actors.Place.line(path, n).",
    )


def _joined(mark: bytes, parts: Iterable[bytes]) -> bytes:
    """The parts, each behind its length, so that no two lists of them are alike."""
    return mark + b"".join(b"%d:%b" % (len(part), part) for part in parts)
