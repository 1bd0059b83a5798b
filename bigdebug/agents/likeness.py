"""Likeness: when two records are the same record, whichever process holds them and however it came by them."""

from __future__ import annotations

import copyreg
import struct
from collections import OrderedDict
from collections.abc import Iterable
from hashlib import blake2b
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from bigdebug.errors import ReplayError

_FLOAT = struct.Struct("!d")
_NAN = float("nan")
_LONG = 64
"""Parts of more bytes than this go on as a digest: what is nested deep stays as short as what is not."""


def likeness(record: Any) -> bytes:
    """Bytes that are equal for equal records, in the driver as in any worker.

    Sets and dicts have no order; 1, 1.0 and True are three records; NaN equals NaN. Objects are compared by the name of
    their class and by what they would be pickled from, so equal objects of a class without ``__eq__`` are equal.
    Raises ReplayError for what has no value to compare: a generator, a lock, a function without a name.
    """
    try:
        return _Reading().of(record)
    except RecursionError:
        raise ReplayError(
            f"A record of type {type(record).__name__} is nested too deep to be compared with others"
        ) from None


class HasKey:
    """True of the pairs that have one of some keys, whichever process holds them."""

    def __init__(self, keys: Iterable[Any]) -> None:
        self._keys = frozenset(map(likeness, keys))

    def __call__(self, record: Any) -> bool:
        return isinstance(record, (tuple, list)) and len(record) > 0 and likeness(record[0]) in self._keys


class _Reading:
    """One record on its way to bytes: ``path`` are the containers around the part that is being read."""

    def __init__(self) -> None:
        self._path: list[int] = []

    def of(self, part: Any) -> bytes:
        kind = type(part)
        if kind is str:
            return _tagged("str", part.encode("utf-8", "surrogatepass"))
        if kind is int:
            return _tagged("int", b"%d" % part)
        if kind is float:
            return _tagged("float", _FLOAT.pack(_NAN if part != part else part + 0.0))
        if part is None or kind is bool or part is Ellipsis or part is NotImplemented:
            return _tagged("constant", repr(part).encode())
        if kind is bytes:
            return _tagged("bytes", part)
        if id(part) in self._path:  # a record that contains itself does so at a distance
            return _tagged("above", b"%d" % (len(self._path) - self._path.index(id(part))))
        self._path.append(id(part))
        try:
            return self._inside(part, kind)
        finally:
            self._path.pop()

    def _inside(self, part: Any, kind: type) -> bytes:
        if kind is tuple or kind is list:
            return _tagged(kind.__name__, *map(self.of, part))
        if kind is dict:
            return _tagged("dict", *self._unordered(part.items()))
        if kind is set or kind is frozenset:
            return _tagged(kind.__name__, *sorted(map(self.of, part)))
        if kind is np.ndarray:
            return self._array(part)
        if isinstance(part, np.generic):
            return _tagged("scalar", self._array(np.asarray(part)))
        if isinstance(part, (type, FunctionType, BuiltinFunctionType, ModuleType)):
            return self._named(part)
        return self._object(part, kind)

    def _unordered(self, items: Iterable[tuple[Any, Any]]) -> list[bytes]:
        return sorted(_tagged("item", self.of(key), self.of(value)) for key, value in items)

    def _array(self, part: Any) -> bytes:
        shape = repr((part.dtype.str, part.dtype.names, part.shape)).encode()
        if part.dtype.hasobject or part.dtype.names:  # what stands between the fields of a structure is not its value
            return _tagged("array", shape, self.of(part.tolist()))
        if part.dtype.kind in "fc":
            part = np.where(np.isnan(part), np.array(np.nan, part.dtype), part + np.array(0, part.dtype))
        return _tagged("array", shape, np.ascontiguousarray(part).tobytes())

    def _named(self, part: Any) -> bytes:
        """What pickle, too, takes by its name."""
        name = getattr(part, "__qualname__", part.__name__)
        if isinstance(part, FunctionType) and "<" in name:
            raise _incomparable(part)
        owner = getattr(part, "__self__", None)
        bound = b"" if owner is None or isinstance(owner, ModuleType) else self.of(owner)
        return _tagged("name", str(getattr(part, "__module__", "")).encode(), name.encode(), bound)

    def _object(self, part: Any, kind: type) -> bytes:
        """Any other object, as pickle would take it apart."""
        reduced = _reduced(part, kind)
        if isinstance(reduced, str):
            return _tagged("global", self._named(kind), reduced.encode())
        make, arguments, state, listed, items = (*reduced, None, None, None, None)[:5]
        parts = [self._named(kind), self.of(state)]
        if isinstance(part, (set, frozenset)):
            return _tagged("object", *parts, *sorted(map(self.of, part)))
        if isinstance(part, dict) and not isinstance(part, OrderedDict):
            return _tagged("object", *parts, *self._unordered(part.items()))
        parts += [self.of(make), self.of(arguments), *map(self.of, listed or ())]
        return _tagged("object", *parts, *(self.of(pair) for pair in items or ()))


def _reduced(part: Any, kind: type) -> Any:
    reduce = copyreg.dispatch_table.get(kind)
    try:
        return part.__reduce_ex__(4) if reduce is None else reduce(part)
    except RecursionError:
        raise
    except Exception as problem:
        raise _incomparable(part) from problem


def _incomparable(part: Any) -> ReplayError:
    kind = type(part)
    return ReplayError(
        f"A record holds a {kind.__module__}.{kind.__qualname__}, which cannot be compared with another",
        remedy="Map it to its value first.",
    )


def _tagged(kind: str, *parts: bytes) -> bytes:
    """The parts behind their kind and lengths, so that no other parts give the same bytes."""
    found = b"".join((kind.encode(), *(b"(%d:%b)" % (len(part), part) for part in parts)))
    return found if len(found) <= _LONG else b"#" + blake2b(found, digest_size=32).digest()
