"""Keys: the numbers of what rows are grouped by. Nulls of all sorts are one value, as they are to ``groupby``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bigdebug.actors.exactly import places
from bigdebug.actors.plain.heard import Heard
from bigdebug.trace.positions import Positions

_LOOKED_AT = 4_096
"""Objects by which it is seen whether many cells have the same one."""


_MANY = 100_000
"""Rows of which it takes longer to number what each row has of its own than to listen to pandas, which calls thousands of functions to group them."""


def take_long(columns: Sequence[Any]) -> list[Any]:
    """Those of some columns that take milliseconds to be numbered: integers, and objects that many rows share, do not."""
    many = [column for column in columns if isinstance(column.dtype, np.dtype) and column.dtype.kind in "OfmM" and len(column) > _MANY]
    return [column for column in many if column.dtype.kind != "O" or not _shared(column.to_numpy())]


class Keys:
    """Keys of one column or more, numbered as they are learnt."""

    def __init__(self) -> None:
        self._values: list[Any] = []
        self._pairs: list[Any] = []
        self._null = False
        self.full: list[bool] = []
        """Of each column that was learnt, whether it has no nulls."""
        self._memory: list[npt.NDArray[Any] | None] = []

    def learnt(self, columns: Sequence[Any], heard: Heard | None = None) -> Positions:
        """The number of the key of each row; from now on these keys are known. For a million rows 4 ms, and 20 for texts each of which is an object of its own; 1 ms for those that were ``heard``."""
        import pandas as pd

        total = np.zeros(0, np.int64)
        for place, column in enumerate(columns):
            codes, values = (heard and heard.of(column)) or _factorized(column)
            self._values.append(values)
            self.full.append(bool(codes.all()))
            if not place:
                total, self._null = codes, not self.full[0]
                continue
            total, pairs = pd.factorize(total * (len(values) + 1) + codes)
            total = np.asarray(total, dtype=np.int64)
            self._pairs.append(pd.Index(pairs))
        return total

    def hold(self, columns: Sequence[Any]) -> None:
        """Hold the columns that were learnt as they lie in memory, whatever is done to them from now on. For a million rows 1 ms, and 10 for texts, whose objects are held."""
        self._memory = [None if memory is None else memory.copy() for memory in map(_memory, columns)]

    def same(self, columns: Sequence[Any]) -> bool:
        """Whether these are the columns that are held, row by row: 1 ms for a million. False where that is not known."""
        return len(self._memory) == len(columns) and all(_identical(memory, _memory(column)) for memory, column in zip(self._memory, columns))

    def known(self, columns: Sequence[Any]) -> Positions:
        """The number of the key of each row, -1 if it is none that was learnt; no input has a null key, unless one was. Raises Broken where keys are one in the type that they have now."""
        total = np.zeros(0, np.int64)
        for place, column in enumerate(map(_uncategorized, columns)):
            values, nulls = self._values[place], column.isna()
            codes = places(values, column) + 1
            codes = np.where(nulls, 0, np.where(codes == 0, -1, codes))
            if not place:
                total = codes if self._null else np.where(nulls, -1, codes)
                continue
            mixed = np.where((total < 0) | (codes < 0), -1, total * (len(values) + 1) + codes)
            total = np.asarray(self._pairs[place - 1].get_indexer(mixed), dtype=np.int64)
        return total


def _uncategorized(column: Any) -> Any:
    import pandas as pd

    return column.astype(object) if isinstance(column.dtype, pd.CategoricalDtype) else column


def _factorized(column: Any) -> tuple[Positions, Any]:
    """For each row the number of its value, from 1, 0 for null; and the values, each once."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return _of_categories(column)
    if column.dtype == object and _shared(values := column.to_numpy()):
        numbers, addresses = pd.factorize(np.frombuffer(values, np.intp))
        somewhere = np.zeros(len(addresses), np.int64)
        somewhere[numbers] = np.arange(len(values))
        codes, found = pd.factorize(values[somewhere])
        return (np.asarray(codes, dtype=np.int64) + 1)[numbers], pd.Index(found, dtype=object)
    table = _tabled(column)
    if table is not None:
        return table
    codes, found = _texts(column) or pd.factorize(column)
    return np.asarray(codes, dtype=np.int64) + 1, found


def _tabled(column: Any) -> tuple[Positions, Any] | None:
    """``_factorized`` of integers that are no further from each other than there are rows: a table takes a fifth of the time."""
    import pandas as pd

    if not isinstance(column.dtype, np.dtype) or column.dtype.kind not in "iu" or not len(column):
        return None
    values = column.to_numpy()
    least, most = int(values.min()), int(values.max())
    if most - least >= len(values) or most >= 2**62 or least <= -(2**62):
        return None
    at = values.astype(np.int64) - least
    there = np.bincount(at) > 0
    found = (np.flatnonzero(there) + least).astype(values.dtype)
    return at + 1 if len(found) == len(there) else np.cumsum(there)[at].astype(np.int64, copy=False), pd.Index(found)


def _texts(column: Any) -> tuple[Any, Any] | None:
    """``pd.factorize`` of nothing but texts, by the table that it takes for them. It looks first whether there is another object, which the table tells as well: that is a quarter of the time.

    None for what is not known to be that.
    """
    import pandas as pd

    if column.dtype != object or len(column) <= _LOOKED_AT:
        return None
    values = column.to_numpy()
    if set(map(type, values[:: len(values) // _LOOKED_AT])) != {str}:
        return None
    try:
        from pandas._libs.hashtable import StringHashTable
    except ImportError:  # it is pandas' own, and may be called otherwise some day
        return None
    found, codes = StringHashTable(len(values)).factorize(values)
    return None if bool((codes < 0).any()) else (codes, pd.Index(found, dtype=object))


def _memory(column: Any) -> npt.NDArray[Any] | None:
    """A column as it lies in memory; None if it is of a kind that lies in memory otherwise."""
    if not isinstance(column.dtype, np.dtype) or column.dtype.itemsize > np.dtype(np.int64).itemsize or column.nlevels > 1:
        return None
    return np.asarray(column.to_numpy())


def _identical(one: npt.NDArray[Any] | None, other: npt.NDArray[Any] | None) -> bool:
    if one is None or other is None or one.dtype != other.dtype or len(one) != len(other):
        return False
    if not len(one):
        return True
    first, second = map(np.ascontiguousarray, (one, other))
    if one.dtype == object:
        return bool((np.frombuffer(first, np.intp) == np.frombuffer(second, np.intp)).all())
    kind = np.dtype(f"u{one.dtype.itemsize}")
    return bool((first.view(kind) == second.view(kind)).all())


def _shared(values: npt.NDArray[Any]) -> bool:
    """Whether many cells have the same object, as those that were read from a file have: then objects are told apart by their addresses, and their values are looked at once."""
    if len(values) <= _LOOKED_AT or not values.flags.c_contiguous:
        return False
    some = np.frombuffer(values, np.intp)[:: len(values) // _LOOKED_AT]
    return len(np.unique(some)) < len(some) // 8


def _of_categories(column: Any) -> tuple[Positions, Any]:
    """``_factorized`` of categories: of those that are in some row."""
    import pandas as pd

    numbers = np.asarray(column.codes, dtype=np.int64) + 1
    categories = column.categories.astype(object)
    there = np.bincount(numbers, minlength=len(categories) + 1)[1:] > 0
    table = np.zeros(len(categories) + 1, np.int64)
    table[1:][there] = np.arange(1, 1 + np.count_nonzero(there))
    return table[numbers], pd.Index(categories[there], dtype=object)
