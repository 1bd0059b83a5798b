"""Rows in portions that weigh no more than a batch: by what they take once they are decoded, not by what a slice shares with the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

ROWS = 1 << 16
"""Rows of a batch."""
BATCH = 1 << 23
"""Bytes of a batch of long texts."""

_VIEWS = pd.ArrowDtype(pa.string_view())
_Some = TypeVar("_Some", pd.DataFrame, pa.RecordBatch)


def of_frame(frame: pd.DataFrame, columns: list[str]) -> Iterator[pd.DataFrame]:
    """Some rows of the columns at a time; categories are values in them."""
    for start in range(0, len(frame), ROWS):
        # Rows before columns: pandas takes rows by a view, and columns by a copy of all rows.
        part = frame.iloc[start : start + ROWS][columns]
        for name in columns:
            if isinstance(part[name].dtype, pd.CategoricalDtype):
                part = part.assign(**{name: _valued(part[name])})
            elif part[name].dtype == _VIEWS:  # which pandas cannot select from
                part = part.astype({name: object})
        yield from _light(part, lambda some: sum(_weight_of(some[name]) for name in columns), lambda some, at, to: some.iloc[at:to])


def of_batch(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Some rows at a time."""
    for start in range(0, len(batch), ROWS):
        yield from _light(batch.slice(start, ROWS), lambda some: sum(map(_weight, some.columns)), lambda some, at, to: some.slice(at, to - at))


def _light(rows: _Some, weigh: Callable[[_Some], int], cut: Callable[[_Some, int, int], _Some]) -> Iterator[_Some]:
    """The rows, in halves of halves where they weigh more than a batch does; a single row weighs what it weighs."""
    if len(rows) <= 1 or weigh(rows) <= BATCH:
        yield rows
        return
    middle = len(rows) // 2
    for start, stop in ((0, middle), (middle, len(rows))):
        yield from _light(cut(rows, start, stop), weigh, cut)


def _valued(column: pd.Series) -> pd.Series:
    """Categories as the values that they stand for: as objects, so that equal ones are one, and integers among nulls stay what they are."""
    used = column.cat.remove_unused_categories()
    return used.cat.rename_categories(used.cat.categories.astype(object)).astype(object)


def _weight_of(column: pd.Series) -> int:
    if isinstance(column.dtype, pd.ArrowDtype):
        found = pa.array(column.array)
        return sum(map(_weight, found.chunks if isinstance(found, pa.ChunkedArray) else [found]))
    return int(column.memory_usage(index=False, deep=True))


def _weight(column: pa.Array) -> int:
    """Bytes that the values take once they are decoded; Arrow counts a whole dictionary, and all texts of a view, with each slice."""
    if pa.types.is_dictionary(column.type):
        # Only of those that come: there may be many more.
        told = column.indices.drop_null().value_counts()
        return int(np.dot(_sizes(column.dictionary.take(told.field("values"))), told.field("counts").to_numpy()))
    return int(_sizes(column).sum()) if pa.types.is_string_view(column.type) else int(column.nbytes)


def _sizes(values: pa.Array) -> NDArray[np.int64]:
    """Bytes of each value; of a null, 0 or as many as a number has."""
    if pa.types.is_string_view(values.type):
        # A view has 16 bytes, and the first four are the length of its text. To cast them would copy the texts.
        lengths = np.frombuffer(values.buffers()[1], np.int32, 4 * len(values), 16 * values.offset)[::4]
        return np.where(values.is_valid().to_numpy(zero_copy_only=False), lengths, 0).astype(np.int64)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return pc.binary_length(values).fill_null(0).to_numpy().astype(np.int64)  # type: ignore[no-any-return]
    return np.full(len(values), 8)
