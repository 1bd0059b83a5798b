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

import numpy as np

from bigdebug.actors.codes import library
from bigdebug.errors import ActorError

SIZE = 16
"""Bytes of a digest: of 10**12 items two are taken for one once in 10**14 times."""

_DOUBLE = struct.Struct("<d").pack
_NAN = _DOUBLE(float("nan"))
_SHORT = 2_000
"""Bits of an integer that Python writes out whatever its limit is."""


def digest_of(value: Any, own: Callable[[Any], bytes] | None = None) -> bytes:
    """The digest of a value: of ``own(value)``, if that is given, else of its type and all that it holds.

    Texts, bytes, numbers, dates, None, and collections and dataclasses of them, have the same digest in every process. 1 and 1.0 are two values, and so are
    0.0 and -0.0; NaN is one. An object of a class of the user's that is made of one of these types is what that holds, whatever its own code says. Raises ActorError for others: what they
    print may change, or hide what they hold.
    """
    try:
        told = _told(own, value) if own else canonical(value)
    except RecursionError:
        raise ActorError(f"A {type(value).__name__} that holds itself, or much within each other, is no value", remedy="Give what tells it apart: a text, a number, a tuple of these.") from None
    return blake2b(told, digest_size=SIZE).digest()


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
        if value.bit_length() > _SHORT:
            return b"I" + int.to_bytes(value, value.bit_length() // 8 + 1, "big", signed=True)
        return b"%c%d" % (b"?i"[kind is int], value)
    if kind is float:
        return b"f" + (_DOUBLE(value) if value == value else _NAN)
    return _collection(value)


def _collection(value: Any) -> bytes:
    if isinstance(value, dict):
        return _joined(b"{", sorted(_joined(b":", map(canonical, pair)) for pair in dict.items(value)))
    if isinstance(value, set):
        return _joined(b"<", sorted(map(canonical, set.__iter__(value))))
    if isinstance(value, frozenset):
        return _joined(b"<", sorted(map(canonical, frozenset.__iter__(value))))
    if isinstance(value, list):
        return _joined(b"[", map(canonical, list.__iter__(value)))
    if isinstance(value, tuple):  # a Row of Spark's is one, and its names are those of its columns
        names = getattr(value, "__fields__", None) or getattr(value, "_fields", None) or ()
        held = _joined(b"(", map(canonical, tuple.__iter__(value)))
        return _joined(b"#", [held, *(canonical(str(name)) for name in names)]) if names else held
    return _other(value)


def _other(value: Any) -> bytes:
    kind = type(value)
    if isinstance(value, Enum):
        name = value._name_  # flags that are several, or none, have none
        return _joined(b"e", [kind.__qualname__.encode(), *([name.encode()] if name is not None else [b"", canonical(value._value_)])])
    if isinstance(value, (Decimal, UUID, timedelta)):
        return _joined(b"r", [kind.__name__.encode(), _class(kind).__str__(value).encode()])
    if isinstance(value, (date, datetime, time)):
        return _joined(b"d", [kind.__name__.encode(), _class(kind).isoformat(value).encode()])
    if is_dataclass(kind):
        return _joined(b"@", [kind.__qualname__.encode(), *(_joined(b":", [each.name.encode(), canonical(getattr(value, each.name))]) for each in fields(kind))])
    if isinstance(value, (np.ndarray, np.generic)) and kind.__module__ == "numpy" and not isinstance(value, _LONG):
        return _joined(b"u", [str(value.dtype).encode(), canonical(value.tolist()), *_shape(value)])
    if isinstance(value, str):
        return canonical(str.__str__(value))
    if isinstance(value, bytes):
        return canonical(bytes.__getitem__(value, slice(None)))
    if isinstance(value, int):
        return canonical(int.__int__(value))
    if isinstance(value, float):
        return canonical(float.__float__(value))
    raise ActorError(
        f"A {kind.__name__} is no value that another process would know again",
        remedy="Give its type a digest: register(..., takes=DataType(name, digest=function that gives bytes)), or tell where it stands: actors.Place.line(path, n).",
    )


_LONG = (np.longdouble, np.clongdouble)
"""Numbers that lie in memory otherwise on other machines; they give themselves as a list."""


_SAYING = (Decimal, UUID, timedelta, date, time)
"""Types whose texts say all that they hold."""


def _class(kind: type[Any]) -> Any:
    """The class that says what an object of ``kind`` holds: the first that is none of the user's, for his may hide it. (pandas' times hold more than Python's.)"""
    return next(each for each in kind.__mro__ if issubclass(each, _SAYING) and (each in _SAYING or library(each.__module__)))


def _shape(array: Any) -> list[bytes]:
    """The shape of an array that its list does not tell: of one without cells, and of one whose cells may be lists themselves."""
    told = array.ndim == 1 or (array.size > 0 and not array.dtype.hasobject)
    return [] if told else [canonical(array.shape)]


def _joined(mark: bytes, parts: Iterable[bytes]) -> bytes:
    """The parts, each behind its length, so that no two lists of them are alike."""
    return mark + b"".join(b"%d:%b" % (len(part), part) for part in parts)
