"""Kinds: what the cells of a column may be, as far as that hangs on no other row. Where it does, as integers are floats once there is a null among them, little is known of what is made of them."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from bigdebug.actors.plain.standin import UnknownError

_LOOKED_AT = 4_096
"""Objects of a column that are looked at, from all places."""

_MOST = 2**31
"""Integers beyond are of other types in some columns."""


class Kind(enum.Enum):
    BOOL = "flags"
    INT = "integers"
    FLOAT = "floats"
    TEXT = "texts, and nulls"
    PART = "texts, and nulls, which are floats where there is nothing else"
    TIME = "times, and nulls"
    LISTS = "lists of texts, and nulls"
    MAYBE = "flags, and nulls, which make objects of them"
    LOOSE = "values whose type hangs on those of other rows"
    OPAQUE = "anything"


NUMBERS = frozenset((Kind.BOOL, Kind.INT, Kind.FLOAT))

TEXTS = frozenset((Kind.TEXT, Kind.PART))

VALUES = NUMBERS | {Kind.TEXT, Kind.TIME}
"""Of which it is known what they are, and that nobody can change them."""


def kind_of(array: Any) -> Kind:
    """The kind of a column of a frame. Of objects it is seen on some whether they are texts."""
    import pandas as pd

    kind = array.dtype
    if isinstance(kind, np.dtype):
        if kind == np.dtype(object):
            some = set(map(type, array[:: max(1, len(array) // _LOOKED_AT)]))
            return Kind.TEXT if some <= {str, type(None), float} else Kind.OPAQUE
        return {"b": Kind.BOOL, "i": Kind.INT, "u": Kind.INT, "f": Kind.FLOAT, "M": Kind.TIME}.get(kind.kind, Kind.OPAQUE)
    return Kind.TIME if isinstance(kind, pd.DatetimeTZDtype) else Kind.OPAQUE


def kind_of_constant(value: Any) -> Kind:
    """The kind of a value that nobody can change, if it is one that columns are computed with. Raises UnknownError for others."""
    found = {bool: Kind.BOOL, int: Kind.INT, float: Kind.FLOAT, str: Kind.TEXT}.get(type(value))
    if found is None or (found is Kind.INT and not -_MOST < value < _MOST):
        raise UnknownError
    return found


def number(*kinds: Kind) -> Kind:
    """What numbers of these kinds are together. Raises UnknownError if one is none."""
    if not NUMBERS.issuperset(kinds):
        raise UnknownError
    return Kind.FLOAT if Kind.FLOAT in kinds else Kind.INT if Kind.INT in kinds else Kind.BOOL
