"""Stand-ins: what a function is called with to learn what it does. They hold no values, and whoever asks for one, or does anything that is not known, hears that it is not known."""

from __future__ import annotations

from typing import Any, NoReturn

ATOMS = frozenset((type(None), bool, int, float, str, bytes))
"""Types of values that nobody can change, and whose methods ask for nothing else: times ask for the clock, and for the code of their zones."""

MOST = 10_000
"""Values of constants that are copied, for reading is to take no time that is felt."""


class UnknownError(Exception):
    """Something is done that is not known to keep a promise: the function is tried then."""


class StandIn:
    """What stands for a value. All that it has hangs on the one name ``_told``, for any other may be a column's."""

    __slots__ = ("_told",)

    def __init__(self, told: Any) -> None:
        object.__setattr__(self, "_told", told)

    def __getattr__(self, name: str) -> Any:
        raise UnknownError


def told(stands: Any) -> Any:
    """What is known of what a stand-in stands for."""
    return stands._told


def _unknown(*_: Any, **__: Any) -> NoReturn:
    raise UnknownError


_SAID_BY_PYTHON = ("bool", "len", "iter", "contains", "call", "str", "repr", "format", "hash", "eq", "ne", "lt", "le", "gt", "ge", "getitem", "setitem", "delitem")

_IN_PLACE = ("iadd", "isub", "imul", "imatmul", "itruediv", "ifloordiv", "imod", "ipow", "ilshift", "irshift", "iand", "ixor", "ior")
"""pandas writes into the memory of the column then, which may be the caller's."""

for _name in _SAID_BY_PYTHON + _IN_PLACE:
    setattr(StandIn, f"__{_name}__", _unknown)


class _FixedList(list[Any]):
    """A list that the function finds: whatever changes it is not known."""

    append = extend = insert = pop = remove = clear = sort = reverse = __setitem__ = __delitem__ = __iadd__ = __imul__ = _unknown


class _FixedDict(dict[Any, Any]):
    """The same of a dictionary."""

    pop = popitem = clear = update = setdefault = __setitem__ = __delitem__ = __ior__ = _unknown


class Constants:
    """Copies of values that nobody can change then, up to ``MOST`` in all."""

    def __init__(self) -> None:
        self._room = MOST

    def of(self, value: Any) -> Any:
        """A value that nobody can change, or a copy of a collection of such. Raises UnknownError for any other, and where there are too many."""
        kind = type(value)
        if kind in ATOMS or kind in (_FixedList, _FixedDict):
            return value
        if kind not in (tuple, frozenset, list, dict):
            raise UnknownError
        self._room -= len(value)
        if self._room < 0:
            raise UnknownError
        if kind is frozenset:  # a copy might be in another order
            if not all(map(unchanging, value)):
                raise UnknownError
            return value
        if kind is dict:
            return _FixedDict(zip(map(self.of, value), map(self.of, value.values())))
        return _FixedList(map(self.of, value)) if kind is list else tuple(map(self.of, value))


def unchanging(value: Any) -> bool:
    """Whether nobody can change a value."""
    return type(value) in ATOMS or (type(value) in (tuple, frozenset) and all(map(unchanging, value)))


def constant(value: Any) -> Any:
    """The same of one value."""
    return Constants().of(value)


def texts(value: Any) -> list[str]:
    """A text, or a list of texts, as a list. Raises UnknownError for anything else."""
    found = value if isinstance(value, list) else [value]
    if not found or not all(type(each) is str for each in found) or len(set(found)) < len(found):
        raise UnknownError
    return found
