"""Fixed: values that nobody can change, so that a copy of what holds them may have the very ones."""

from __future__ import annotations

import enum
import re
import sys
from collections.abc import Collection
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from pathlib import PurePath
from types import CodeType
from typing import Any
from uuid import UUID

import numpy as np

from bigdebug.actors.codes import library
from bigdebug.actors.loggers import plain_logger

ATOMS = frozenset((type(None), bool, int, float, complex, str, bytes, Decimal, date, datetime, time, timedelta))
"""Types of which there are many, and that nobody can change."""

_FIXED = (
    Decimal, Fraction, date, time, timedelta, timezone, UUID, PurePath, range, re.Pattern, CodeType, np.dtype, np.ufunc, enum.Enum,
    type(...), type(NotImplemented), type(str.upper), type(str.__len__), type(dict.__dict__["fromkeys"]),
)
_FIXED_TYPES = ATOMS | {"zoneinfo.ZoneInfo", "typing.TypeVar"}
_FIXED_MODULES = frozenset(("dataclasses", "pandas._libs.missing", "pandas._libs.interval", "typing"))
_FIXED_PACKAGE = "pandas._libs.tslibs."
_ARROW = ("Array", "ChunkedArray", "Table", "RecordBatch", "Schema", "Field", "DataType", "Scalar")


def fixed(value: Any) -> bool:
    """Whether nobody can change a value, so that it may be shared. (Loggers are: what is logged is sent, not remembered, and how they are set is put back.)"""
    kind = type(value)
    if kind in ATOMS or f"{kind.__module__}.{kind.__qualname__}" in _FIXED_TYPES:
        return True
    if isinstance(value, np.ufunc) and "(vectorized)" in value.__name__:  # of a function of somebody's
        return False
    if isinstance(value, _FIXED) or plain_logger(value) or (isinstance(value, np.generic) and not isinstance(value, (np.void, np.object_))):
        return library(kind.__module__) or isinstance(value, enum.Enum)
    if kind is object or kind.__module__ in _FIXED_MODULES or kind.__module__.startswith(_FIXED_PACKAGE):
        return True
    arrow, pandas = sys.modules.get("pyarrow"), sys.modules.get("pandas")
    if arrow is not None and kind.__module__.startswith("pyarrow") and isinstance(value, tuple(getattr(arrow, name) for name in _ARROW)):
        return True
    return pandas is not None and library(kind.__module__) and isinstance(value, pandas.api.extensions.ExtensionDtype)


def all_atoms(values: Collection[Any]) -> bool:
    """Whether nobody can change these values, which are atoms or tuples of atoms. Takes 20 ms for a million."""
    kinds = set(map(type, values))
    if tuple in kinds:
        kinds.remove(tuple)
        kinds.update(map(type, chain.from_iterable(each for each in values if type(each) is tuple)))
    return kinds <= ATOMS
