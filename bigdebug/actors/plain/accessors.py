"""Accessors: what ``.str`` of a column of texts gives, and ``.dt`` of one of times, cell by cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bigdebug.actors.plain.kinds import TEXTS, Kind
from bigdebug.actors.plain.standin import StandIn, UnknownError, constant

TEXT_METHODS: dict[str, Kind] = {
    **dict.fromkeys((
        "upper", "lower", "title", "capitalize", "swapcase", "casefold", "strip", "lstrip", "rstrip", "zfill", "pad", "center", "ljust", "rjust", "slice", "replace", "repeat",
        "removeprefix", "removesuffix", "normalize",
    ), Kind.TEXT),
    **dict.fromkeys((
        "startswith", "endswith", "contains", "match", "fullmatch", "isdigit", "isalpha", "isnumeric", "isalnum", "isspace", "isupper", "islower", "istitle", "isdecimal",
    ), Kind.MAYBE),
    **dict.fromkeys(("len", "count", "find", "rfind"), Kind.LOOSE),
    "get": Kind.PART,
    "split": Kind.LISTS,
    "rsplit": Kind.LISTS,
}
"""What methods of texts make. Numbers of them are floats where there are nulls."""

TIME_PARTS: dict[str, Kind] = dict.fromkeys((
    "year", "month", "day", "hour", "minute", "second", "microsecond", "dayofweek", "day_of_week", "weekday", "dayofyear", "day_of_year", "quarter", "date", "time",
), Kind.LOOSE)

TIME_METHODS: dict[str, Kind] = {**dict.fromkeys(("floor", "ceil", "round", "normalize"), Kind.TIME), "strftime": Kind.LOOSE, "day_name": Kind.LOOSE, "month_name": Kind.LOOSE}

Made = Callable[[Kind], Any]


class Texts(StandIn):
    """Stands for ``Series.str``."""

    __slots__ = ()

    def __init__(self, kind: Kind, made: Made) -> None:
        if kind not in (*TEXTS, Kind.LISTS):
            raise UnknownError
        object.__setattr__(self, "_told", (kind, made))

    def __getattr__(self, name: str) -> Any:
        kind, made = self._told
        found = TEXT_METHODS.get(name)
        if found is None or (kind is Kind.LISTS and name not in ("get", "len")):
            raise UnknownError

        def method(*args: Any, **options: Any) -> Any:
            constant((args, options))
            if "expand" in options:
                raise UnknownError
            if found is Kind.MAYBE and type(options.get("na")) is bool:
                return made(Kind.BOOL)
            return made(found)

        return method

    def __getitem__(self, key: Any) -> Any:
        kind, made = self._told
        if type(key) is slice:
            constant((key.start, key.stop, key.step))
            return made(kind if kind is Kind.LISTS else Kind.TEXT)
        if type(key) is not int:
            raise UnknownError
        return made(Kind.PART)


class Times(StandIn):
    """Stands for ``Series.dt``."""

    __slots__ = ()

    def __init__(self, kind: Kind, made: Made) -> None:
        if kind is not Kind.TIME:
            raise UnknownError
        object.__setattr__(self, "_told", made)

    def __getattr__(self, name: str) -> Any:
        if name in TIME_PARTS:
            return self._told(TIME_PARTS[name])
        found = TIME_METHODS.get(name)
        if found is None:
            raise UnknownError

        def method(*args: Any) -> Any:
            constant(args)
            return self._told(found)

        return method
