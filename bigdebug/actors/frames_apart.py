"""Frames apart: copies of arrays and of what pandas has, in which nothing is shared that may change."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from bigdebug.actors.bare import types_of
from bigdebug.actors.codes import Untried
from bigdebug.actors.fixed import ATOMS

Charge = Callable[[int], None]
Copy = Callable[[Any], Any]
"""A copy, the same each time; the value itself if nobody can change it."""


def array_apart(array: npt.NDArray[Any], charge: Charge, copy: Copy) -> npt.NDArray[Any]:
    """A copy of an array; of a view, a view of the copy. Raises Untried for one over memory that is no array's."""
    charge(array.nbytes)
    if array.base is None or not array.flags.writeable:
        return objects_apart(array.copy(), copy)
    base = array.base
    if type(base) is not np.ndarray or not base.flags.forc or array.dtype.hasobject:
        raise Untried("an array looks into memory of something else")
    under = copy(base)
    offset = array.ctypes.data - base.ctypes.data
    return np.ndarray(array.shape, array.dtype, under.reshape(-1, order="A").data, offset, array.strides)


def objects_apart(array: npt.NDArray[Any], copy: Copy) -> npt.NDArray[Any]:
    """The array, with copies of the objects in it."""
    if not array.dtype.hasobject:
        return array
    if array.dtype != object:
        raise Untried("records hold objects")
    flat = array.reshape(-1)
    if not ATOMS.issuperset(map(type, flat.tolist())):
        for n, each in enumerate(flat.tolist()):
            flat[n] = copy(each)
    return flat.reshape(array.shape)


def pandas_apart(value: Any, charge: Charge, copy: Copy) -> Any | None:
    """A copy of a frame, a column, an index or an array of pandas; None for what is none of them."""
    pd = sys.modules.get("pandas")
    if pd is None or not type(value).__module__.startswith("pandas."):
        return None
    if type(value) is pd.DataFrame:
        return _frame_apart(value, charge, copy)
    if type(value) is pd.Series:
        return _frame_apart(value.to_frame(), charge, copy).iloc[:, 0].rename(value.name)
    if isinstance(value, pd.Index):
        charge(int(value.memory_usage(deep=False)))
        if value.nlevels == 1 and value.dtype == object and not ATOMS.issuperset(map(type, value.tolist())):
            return pd.Index(objects_apart(value.to_numpy(copy=True), copy), dtype=object, name=value.name)
        return value.copy(deep=True)
    if isinstance(value, pd.api.extensions.ExtensionArray):
        charge(int(value.nbytes))
        return value.copy()
    return None


def _frame_apart(value: Any, charge: Charge, copy: Copy) -> Any:
    charge(int(value.memory_usage(index=True, deep=False).sum()))
    made = value.copy(deep=True)
    for n, kind in enumerate(types_of(value)):
        if kind == np.dtype(object):
            _put_column(made, n, value.iloc[:, n].to_numpy(), copy)
    return made


def _put_column(frame: Any, number: int, cells: npt.NDArray[Any], copy: Copy) -> None:
    if not ATOMS.issuperset(map(type, cells.tolist())):
        frame.isetitem(number, objects_apart(cells.copy(), copy))
