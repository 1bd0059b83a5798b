"""Alike: whether what a function gave of a few is what it gave of the same ones among all. What looks the same in a table, and is not, is not the same."""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose
from typing import Any

import numpy as np
import numpy.typing as npt

from bigdebug.actors.bare import arrays_of, columns_of
from bigdebug.actors.codes import library
from bigdebug.actors.shared import slots, tells
from bigdebug.outside import from_outside
from bigdebug.trace.positions import Positions

CLOSE = 4 * 2.0**-52
"""How much floats may differ, relatively: four units in the last place, for processors compute several numbers at once otherwise than one."""

_CLOSE_ARRAYS = 16
"""How much more those in an array in a cell may, measured by its largest: products of matrices add up in another order."""

_UNORDERED = 2_000
"""Rows that are looked for among others, each by each."""


@dataclass(frozen=True, eq=False)
class Close:
    """How much floats may differ, relatively, of 64 bits; of others it is some units in the last place. What was ``given`` is never close to something else."""

    relative: float
    given: npt.NDArray[np.float64]

    def same(self, one: Any, other: Any, epsilon: float) -> bool:
        """Whether arrays of floats are the same, null by null."""
        differ = ~((one == other) | ((one != one) & (other != other)))
        if not differ.any():
            return True
        one, other = one[differ], other[differ]
        if not epsilon or not np.isfinite(one).all() or not np.isfinite(other).all() or np.isin(one, self.given).any():
            return False
        most = max(self.relative, 4 * epsilon)
        return bool((np.abs(one - other) <= most * np.maximum(np.abs(one), np.abs(other))).all())


def same(one: Any, other: Any, close: Close) -> bool:
    """Whether two frames hold the same, row by row: types may differ as they do when other rows have nulls, and the order of rows was looked at."""
    if one.ndim != other.ndim or _names(one) != _names(other):
        return False
    mine, others = _labels(one), _labels(other)
    if len(mine) != len(others) or not all(_seen_same(*each) or _same_values(*each, close) for each in zip(mine, others)):
        return False
    unlike = [place for place, each in enumerate(zip(arrays_of(one), arrays_of(other))) if not _seen_same(*each)]
    if not unlike:
        return True
    first, second = columns_of(one), columns_of(other)
    return all(_same_values(first[place], second[place], close) for place in unlike)


def _seen_same(one: Any, other: Any) -> bool:
    """Whether arrays, or labels, are seen at once to hold the same: numbers that are equal, and the very same objects, which is what a function hands on. Of others, pandas asks them themselves.

    By numpy, column by column: for a few rows, what pandas does to compare frames takes ten times as long.
    """
    kind = one.dtype
    if not isinstance(kind, np.dtype) or kind.kind not in "ObiufmM" or kind != other.dtype or len(one) != len(other):
        return False
    given = (each if isinstance(each, np.ndarray) else each.to_numpy() for each in (one, other))
    first, second = (_addresses(values) if kind.kind == "O" else values for values in given)
    equal = first == second
    return bool(equal.all() or (equal | ((first != first) & (second != second))).all())


def _addresses(objects: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    return np.frombuffer(np.ascontiguousarray(objects), np.intp) if objects.size else np.zeros(0, np.intp)


def same_unordered(one: Any, other: Any, owners: Positions) -> bool:
    """Whether two frames hold the same rows of each owner, in any order: rows that a sort finds equal come in another one among others."""
    if len(owners) > _UNORDERED or one.ndim != other.ndim or _names(one) != _names(other):
        return False
    left = [list(zip(owners.tolist(), *(column.astype(np.dtype(object)) for column in _columns(each)))) for each in (one, other)]
    for row in left[0]:
        found = next((n for n, each in enumerate(left[1]) if len(row) == len(each) and all(same_cell(*cells, close=0.0) for cells in zip(row, each))), None)
        if found is None:
            return False
        del left[1][found]
    return not left[1]


def _names(frame: Any) -> list[str]:
    return list(map(repr, frame.columns)) if frame.ndim > 1 else []


def _columns(frame: Any) -> list[Any]:
    """The columns, and the labels of rows if they say something."""
    return [*_labels(frame), *columns_of(frame)]


def _labels(frame: Any) -> list[Any]:
    """The labels of rows that say something: numbers without a name are those of rows, and other ones among others."""
    import pandas as pd

    levels = [frame.index.get_level_values(level) for level in range(frame.index.nlevels)]
    return [each for each in levels if not (pd.api.types.is_integer_dtype(each.dtype) and (each.name is None or isinstance(each, pd.RangeIndex)))]


def _same_values(one: Any, other: Any, close: Close) -> bool:
    import pandas as pd

    floats, integers = ([of(each.dtype) for each in (one, other)] for of in (pd.api.types.is_float_dtype, pd.api.types.is_integer_dtype))
    if any(floats) and all(map(max, floats, integers)):  # integers are floats where others are null: the same ones then, and no close ones
        first, second = (each.to_numpy(dtype=float, na_value=np.nan) for each in (one, other))
        return close.same(first, second, max(map(_epsilon, (one.dtype, other.dtype))) if all(floats) else 0.0)
    return all(map(same_cell, one.astype(np.dtype(object)).tolist(), other.astype(np.dtype(object)).tolist()))


def _epsilon(kind: Any) -> float:
    """The unit in the last place, of a type of floats."""
    kind = kind if isinstance(kind, np.dtype) else getattr(kind, "numpy_dtype", np.dtype(np.float64))
    return float(np.finfo(kind).eps)


def same_cell(one: Any, other: Any, close: float = CLOSE) -> bool:
    """Whether two values are the same: nulls are, and floats that are close; collections and objects by what is in them. Raises what their own code does, and RecursionError."""
    if one is other:
        return True
    kind = type(one)
    if kind is type(other):
        if kind in (str, bytes, int, bool):
            return bool(one == other)
        if kind is float:
            return isclose(one, other, rel_tol=close) or (one != one and other != other)
        if kind in (tuple, list):
            return len(one) == len(other) and all(same_cell(*cells, close=close) for cells in zip(one, other))
        if kind is dict:
            return one.keys() == other.keys() and all(same_cell(value, other[key], close) for key, value in one.items())
        if kind is np.ndarray:
            return _same_arrays(one, other, close)
    return _same_others(one, other, close)


def _same_arrays(one: npt.NDArray[Any], other: npt.NDArray[Any], close: float) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.dtype == object:
        return all(same_cell(*cells, close=close) for cells in zip(one.ravel().tolist(), other.ravel().tolist()))
    if one.dtype.kind not in "fc" or not one.size:
        return bool((one == other).all())
    finite = np.abs(one[np.isfinite(one)])
    most = _CLOSE_ARRAYS * max(close, 4 * float(np.finfo(one.dtype).eps)) * float(finite.max(initial=0.0)) if close else 0.0
    return bool(np.isclose(one, other, rtol=0.0, atol=most, equal_nan=True).all())


def _same_others(one: Any, other: Any, close: float) -> bool:
    """The same of what pandas and numpy know, and of objects."""
    import pandas as pd

    if pd.api.types.is_scalar(one) and pd.api.types.is_scalar(other):
        if pd.isna(one) or pd.isna(other):
            return bool(pd.isna(one) and pd.isna(other))
        return bool(one == other)
    if type(one) is type(other):
        if isinstance(one, (pd.DataFrame, pd.Series)):
            return one.shape == other.shape and same(one, other, Close(close, np.zeros(0))) and same_cell(one.index, other.index, close)
        if isinstance(one, pd.Index):
            return len(one) == len(other) and one.names == other.names and same_cell(one.tolist(), other.tolist(), close)
        return _same_objects(one, other, close)
    several = (list, tuple, np.ndarray)
    return isinstance(one, several) and isinstance(other, several) and len(one) == len(other) and all(same_cell(*cells, close=close) for cells in zip(one, other))


def _same_objects(one: Any, other: Any, close: float) -> bool:
    """Of a library, if they say so; else, and the user's always, piece by piece: what finds two equal may look at their names alone."""
    if library(type(one).__module__):
        try:
            if bool(one == other):
                return True
        except Exception as error:  # arrays of other libraries say it of each number
            if from_outside(error):
                raise
            return _same_pieces(one, other, close)
    return _same_pieces(one, other, close)


def _same_pieces(one: Any, other: Any, close: float) -> bool:
    try:
        pieces = [_pieces(each) for each in (one, other)]
    except TypeError:  # nobody tells what is in them
        return False
    return same_cell(pieces[0], pieces[1], close)


def _pieces(value: Any) -> Any:
    """What makes an object what it is: what ``pickle`` is told by Python or a library, and of the user's classes the attributes, for what they tell may do something else besides."""
    if tells(type(value)):
        return getattr(value, "__dict__", {}), [getattr(value, each.__name__, None) for each in slots(type(value))]
    found = value.__reduce_ex__(4)
    return found if isinstance(found, str) else tuple(list(each) if hasattr(each, "__next__") else each for each in found)
