"""Accessors: what ``.str`` of a column of texts gives, and ``.dt`` of one of times, cell by cell."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from bigdebug.actors.plain.kinds import TEXTS, Kind
from bigdebug.actors.plain.standin import ATOMS, StandIn, UnknownError, constant

TEXT_METHODS: dict[str, Kind] = {
    **dict.fromkeys((
        "upper", "lower", "title", "capitalize", "swapcase", "casefold", "strip", "lstrip", "rstrip", "zfill", "pad", "center", "ljust", "rjust", "slice", "replace", "repeat",
        "removeprefix", "removesuffix", "normalize",
    ), Kind.TEXT),
    **dict.fromkeys((
        "startswith", "endswith", "contains", "match", "fullmatch", "isdigit", "isalpha", "isnumeric", "isalnum", "isspace", "isupper", "islower", "istitle", "isdecimal",
    ), Kind.MAYBE),
    **dict.fromkeys(("len", "count", "find", "rfind"), Kind.COUNT),
    "get": Kind.PART,
    "split": Kind.LISTS,
    "rsplit": Kind.LISTS,
}
"""What methods of texts make. Numbers of them are floats where there are nulls."""

TIME_PARTS = frozenset((
    "year", "month", "day", "hour", "minute", "second", "microsecond", "dayofweek", "day_of_week", "weekday", "dayofyear", "day_of_year", "quarter",
))

TIME_METHODS = frozenset(("floor", "ceil", "round"))

Made = Callable[[Kind], Any]


class Texts(StandIn):
    """Stands for ``Series.str``."""

    __slots__ = ()

    def __init__(self, kind: Kind, made: Made) -> None:
        if kind not in TEXTS | {Kind.LISTS}:
            raise UnknownError
        super().__init__((kind, made))

    def __getattr__(self, name: str) -> Any:
        kind, made = self._told
        if name not in TEXT_METHODS or (kind is Kind.LISTS and name not in ("get", "len")):
            raise UnknownError
        return partial(_method, made, TEXT_METHODS[name])

    def __getitem__(self, key: Any) -> Any:
        kind, made = self._told
        if type(key) is slice:
            constant((key.start, key.stop, key.step))
            return made(kind if kind is Kind.LISTS else Kind.TEXT)
        if type(key) is not int:
            raise UnknownError
        return made(Kind.PART)


def _method(made: Made, kind: Kind, *args: Any, **options: Any) -> Any:
    """What a method of texts makes. Each of its options is one for all rows: in a list, each would be for a row."""
    if not ATOMS.issuperset(map(type, (*args, *options.values()))) or "expand" in options:
        raise UnknownError
    if kind is not Kind.MAYBE:
        return made(kind)
    if len(args) > 1 or type(options.get("na")) not in (bool, type(None)):
        raise UnknownError
    return made(kind if options.get("na") is None else Kind.BOOL)


class Times(StandIn):
    """Stands for ``Series.dt``."""

    __slots__ = ()

    def __init__(self, kind: Kind, made: Made) -> None:
        if kind is not Kind.TIME:
            raise UnknownError
        super().__init__(made)

    def __getattr__(self, name: str) -> Any:
        if name in TIME_PARTS:
            return self._told(Kind.COUNT)
        if name not in TIME_METHODS:
            raise UnknownError
        return partial(_cut, self._told)


def _cut(made: Made, unit: Any) -> Any:
    """Times that are cut to a unit. (What else can be said of that is read off the order of rows.)"""
    if type(unit) is not str:
        raise UnknownError
    return made(Kind.TIME)
