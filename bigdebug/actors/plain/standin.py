"""Stand-ins: what a function is called with to learn what it does. They hold no values, and whoever asks for one, or does anything that is not known, hears that it is not known."""

from __future__ import annotations

from typing import Any, NoReturn

from bigdebug.actors.fixed import ATOMS


class UnknownError(Exception):
    """Something is done that is not known to keep a promise: the function is tried then."""


class StandIn:
    """What stands for a value. All that it has hangs on the one name ``_told``, for any other may be a column's."""

    __slots__ = ("_told",)

    def __getattr__(self, name: str) -> Any:
        raise UnknownError


def _unknown(*_: Any, **__: Any) -> NoReturn:
    raise UnknownError


for _name in ("bool", "len", "iter", "contains", "call", "str", "repr", "format", "hash", "eq", "ne", "lt", "le", "gt", "ge", "getitem", "setitem"):
    setattr(StandIn, f"__{_name}__", _unknown)  # what Python would do by itself, or say in words of its own


class _FixedList(list[Any]):
    """A list that the function finds: whatever changes it is not known."""

    append = extend = insert = pop = remove = clear = sort = reverse = __setitem__ = __delitem__ = __iadd__ = __imul__ = _unknown


class _FixedDict(dict[Any, Any]):
    """The same of a dictionary."""

    pop = popitem = clear = update = setdefault = __setitem__ = __delitem__ = __ior__ = _unknown


def constant(value: Any) -> Any:
    """A value that nobody can change, or a collection of such, copied so that it cannot be changed. Raises UnknownError for any other."""
    kind = type(value)
    if kind in ATOMS:
        return value
    if kind in (tuple, frozenset):
        return kind(map(constant, value))
    if kind in (list, _FixedList):
        return _FixedList(map(constant, value))
    if kind in (dict, _FixedDict):
        return _FixedDict(zip(map(constant, value), map(constant, value.values())))
    raise UnknownError


def unchanging(value: Any) -> bool:
    """Whether nobody can change a value."""
    return type(value) in ATOMS or (type(value) in (tuple, frozenset) and all(map(unchanging, value)))


def texts(value: Any) -> list[str]:
    """A text, or a list of texts, as a list. Raises UnknownError for anything else."""
    found = value if isinstance(value, list) else [value]
    if not found or not all(type(each) is str for each in found) or len(set(found)) < len(found):
        raise UnknownError
    return found
