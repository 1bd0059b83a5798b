"""Modules: stand-ins for what functions over frames mostly take of numpy and pandas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from bigdebug.actors.plain.column import Column, combined
from bigdebug.actors.plain.kinds import Kind, number
from bigdebug.actors.plain.standin import StandIn, UnknownError

_FLOATS = frozenset(("sqrt", "exp", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan"))
_ROUNDED = frozenset(("floor", "ceil", "rint", "trunc"))
_SAME = frozenset(("abs", "absolute", "negative"))
"""Functions of numpy that give of each number one number."""


class Module(StandIn):
    """Stands for a module."""

    __slots__ = ()

    def __init__(self, known: Callable[[str], Any]) -> None:
        object.__setattr__(self, "_told", known)

    def __getattr__(self, name: str) -> Any:
        return self._told(name)


def module(value: Any) -> Module | None:
    """The stand-in of numpy and pandas; None for anything else."""
    import pandas as pd

    if value is np:
        return Module(_numpy)
    return Module(_pandas) if value is pd else None


def _numpy(name: str) -> Any:
    if name == "nan":
        return np.nan
    if name == "where":
        return _where
    if name == "isnan":
        return lambda column: _of(column, {Kind.FLOAT}, Kind.BOOL)
    if name in _FLOATS:
        return lambda column: _of(column, {Kind.INT, Kind.FLOAT}, Kind.FLOAT)
    if name in _ROUNDED:
        return lambda column: _of(column, {Kind.FLOAT}, Kind.FLOAT)
    if name in _SAME:
        return abs
    raise UnknownError


def _pandas(name: str) -> Any:
    if name in ("isna", "notna", "isnull", "notnull"):
        return lambda column: _of(column, Kind, Kind.BOOL)
    raise UnknownError


def _of(column: Any, known: Any, kind: Kind) -> Column:
    if type(column) is not Column:
        raise UnknownError
    return column._as(kind, known)


def _where(flags: Any, one: Any, other: Any) -> Column:
    if type(flags) is not Column or flags._told.kind is not Kind.BOOL:
        raise UnknownError
    return _unlabelled(combined(_either, flags, one, other))


def _either(_: Kind, one: Kind, other: Kind) -> Kind:
    """numpy finds one type for both, by their types."""
    return one if one is other is Kind.TEXT else number(one, other)


def _unlabelled(column: Column) -> Column:
    return Column(replace(column._told, labelled=False))
