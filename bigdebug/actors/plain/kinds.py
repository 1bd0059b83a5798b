"""Kinds: what the cells of a column may be, as far as that hangs on no other row. Where it does, as integers are floats once there is a null among them, little is known of what is made of them."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from bigdebug.actors.cells import all_texts
from bigdebug.actors.plain.standin import UnknownError

_LOOKED_AT = 4_096
"""Objects of a column whose classes are looked at, from all places."""

_ZONES = frozenset(("datetime", "zoneinfo", "pytz", "dateutil"))
"""Whose zones ask nothing of the user's."""

_MOST = 2**31
"""Integers beyond are of other types in some columns."""


class Kind(enum.Enum):
    """Of a column. ``astype``, comparisons and arithmetic give of a cell the same, whatever others there are, for those that have a rule in ``computed``."""

    BOOL = "flags"
    INT = "integers of 64 bits"
    FLOAT = "floats of 64 bits"
    TEXT = "texts, and nulls"
    PART = "texts, and nulls, which are floats where there is nothing else"
    TIME = "times, and nulls"
    LISTS = "lists of texts, and nulls"
    MAYBE = "flags, and nulls, which make objects of them"
    COUNT = "small integers, and nulls, which make floats of them"
    LOOSE = "values that are handed on, for their type hangs on other rows"
    OPAQUE = "values of other types, also numbers of fewer bits: they get more where one is put in, or summed up, that has no room"
    FOREIGN = "objects of any class"


NUMBERS = frozenset((Kind.BOOL, Kind.INT, Kind.FLOAT))

TEXTS = frozenset((Kind.TEXT, Kind.PART))

VALUES = NUMBERS | {Kind.TEXT, Kind.TIME}
"""Of which it is known what they are, and that nobody can change them."""


def kind_at_a_glance(array: Any) -> Kind:
    """The kind of a column of a frame. Of objects it is seen on some whether they are texts."""
    import pandas as pd

    kind = array.dtype
    if isinstance(kind, np.dtype):
        if kind == np.dtype(object):
            some = set(map(type, array[:: max(1, len(array) // _LOOKED_AT)]))
            return Kind.TEXT if some <= {str, type(None), float} else Kind.FOREIGN
        if kind.kind == "M":
            return Kind.TIME
        return {np.dtype(bool): Kind.BOOL, np.dtype(np.int64): Kind.INT, np.dtype(np.float64): Kind.FLOAT}.get(kind, Kind.OPAQUE)
    if isinstance(kind, pd.DatetimeTZDtype):
        return Kind.TIME if type(kind.tz).__module__.split(".")[0] in _ZONES else Kind.FOREIGN
    return Kind.OPAQUE


def kind_of(array: Any) -> Kind:
    """The same; of objects it is seen on all that they are texts and nulls, which takes 5 ms for a million. Whether these are of a class that is made of texts is seen on some."""
    found = kind_at_a_glance(array)
    return found if found is not Kind.TEXT or all_texts(array) else Kind.FOREIGN


def kind_of_constant(value: Any) -> Kind:
    """The kind of a value that nobody can change, if it is one that columns are computed with. Raises UnknownError for others."""
    found = {bool: Kind.BOOL, int: Kind.INT, float: Kind.FLOAT, str: Kind.TEXT}.get(type(value))
    if found is None or (found is Kind.INT and not -_MOST < value < _MOST):
        raise UnknownError
    return found
