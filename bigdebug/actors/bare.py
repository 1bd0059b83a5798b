"""Bare: a frame without what its user wrote on it, and its types. Whenever a column or a few rows are taken, pandas copies its ``attrs`` whole, with all that they hold, or fails to."""

from __future__ import annotations

from typing import Any

import numpy as np


def bare(frame: Any) -> Any:
    """A frame or a column over the same memory and labels; the very one if nothing is written on it."""
    import pandas as pd

    if not frame.attrs:
        return frame
    return pd.DataFrame(frame, copy=False) if frame.ndim > 1 else pd.Series(frame, copy=False)


def columns_of(frame: Any) -> list[Any]:
    """Its columns, one by one, over the same memory. By all of them at once: to take one by its place takes pandas as long as three of these."""
    return [column for _, column in bare(frame).copy(deep=False).items()] if frame.ndim > 1 else [frame]


def arrays_of(frame: Any) -> list[Any]:
    """What its columns are, one by one, over the same memory: arrays of numpy, or of pandas. In a fiftieth of the time of ``columns_of``: a frame may have thousands."""
    each = getattr(frame, "_iter_column_arrays", None)  # pandas' own: a column has none, and it may be called otherwise some day
    return [*map(_array, columns_of(frame))] if each is None else list(each())


def _array(column: Any) -> Any:
    return column.to_numpy() if isinstance(column.dtype, np.dtype) else column.array


def types_of(frame: Any) -> list[Any]:
    """The types of its columns. (pandas' ``dtypes`` changes the filters of warnings for a moment, as a type by its name does: so Python tells anew what it had told once.)"""
    return [each.dtype for each in arrays_of(frame)]
