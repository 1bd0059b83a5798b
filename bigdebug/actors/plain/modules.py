"""Modules: stand-ins for what functions over frames mostly take of numpy and pandas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from bigdebug.actors.plain import computed
from bigdebug.actors.plain.column import ColumnStandIn, combined, made
from bigdebug.actors.plain.kinds import Kind
from bigdebug.actors.plain.standin import StandIn, UnknownError, told


class Module(StandIn):
    """Stands for a module, by what it has of it."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name not in self._told:
            raise UnknownError
        return self._told[name]


def module(value: Any) -> Module | None:
    """The stand-in of numpy and pandas; None for anything else."""
    import pandas as pd

    return Module(NUMPY) if value is np else Module(PANDAS) if value is pd else None


def _column(value: Any) -> ColumnStandIn:
    if type(value) is not ColumnStandIn:
        raise UnknownError
    return value


def _where(flags: Any, one: Any, other: Any) -> ColumnStandIn:
    if told(_column(flags)).kind is not Kind.BOOL:
        raise UnknownError
    found = combined(computed.either, flags, one, other)
    return ColumnStandIn(replace(told(found), labelled=False))


def _float(column: Any) -> ColumnStandIn:
    """Of numbers, floats."""
    computed.rounded(told(_column(column)).kind)
    return made(column, Kind.FLOAT)


def _rounded(column: Any) -> ColumnStandIn:
    """Floats without their fractions."""
    if told(_column(column)).kind is not Kind.FLOAT:
        raise UnknownError
    return made(column, Kind.FLOAT)


def _abs(column: Any) -> ColumnStandIn:
    return abs(_column(column))


def _is_null(column: Any) -> ColumnStandIn:
    return _column(column).isna()


NUMPY: dict[str, Callable[..., Any] | float] = {
    "nan": np.nan, "where": _where, "isnan": lambda column: _is_null(_rounded(column)), "abs": _abs, "absolute": _abs,
    **dict.fromkeys(("floor", "ceil", "rint", "trunc"), _rounded), **dict.fromkeys(("sqrt", "exp", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan"), _float),
}

PANDAS: dict[str, Callable[..., Any]] = dict.fromkeys(("isna", "notna", "isnull", "notnull"), _is_null)
