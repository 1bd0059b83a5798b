"""Owners: by which input row, or which group of them, each row of a result was made. Read off the index, or off the columns that rows are grouped by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bigdebug.actors.columns import Column
from bigdebug.actors.keys import Keys
from bigdebug.actors.promises import Broken
from bigdebug.store.arrays import narrowest
from bigdebug.trace.positions import Positions, members

if TYPE_CHECKING:
    import pandas as pd

_FEW = (16, 256, 4_096)
"""Rows that a function is tried on: more, if nothing came of few."""


_ALL, _ALONE = 24, 6
"""Each row is tried alone, of so few; else so many."""

_MANY, _ALONE_OF_MANY = 100_000, 2
"""Of so many rows, so many rows or groups are tried alone: a function of a few rows takes pandas as long as one of a hundred thousand."""

_DENSE = 4
"""Entries of a table of labels, for each label."""


class RowOwners:
    """Each row has the label of the one that it was made of: filters, explode, sort, new columns and merges by ``map`` keep it, and ``reset_index`` does not."""

    def __init__(self, frame: pd.DataFrame | pd.Series) -> None:
        """Raises Broken where labels name several rows."""
        self._index = frame.index
        _ = self._index.is_monotonic_increasing  # of one that is, pandas knows then whether it is unique, and makes no table of it
        if not self._index.is_unique:
            raise Broken("some of its rows have the same label in the index; reset_index before the step")
        self._counts_up = _counts_up(self._index)

    def of(self, result: Any) -> Column:
        labels = _index_of(result)
        if labels is self._index or (self._counts_up and _counts_up(labels) and len(labels) == len(self._index)):
            return Column.steps(len(labels))
        if self._counts_up and labels.dtype.kind in "iu" and labels.nlevels == 1:
            places = np.asarray(labels, dtype=np.int64)
            outside = bool(len(places)) and (int(places.min()) < 0 or int(places.max()) >= len(self._index))
        else:
            places = self._places(labels)
            outside = bool((places < 0).any())
        if outside:
            raise Broken("it gave rows with labels in the index that no input row has")
        return Column.of(places)

    def _places(self, labels: Any) -> Positions:
        """Which row has each label, -1: none has it."""
        if self._table is None or not _whole(labels):
            return np.asarray(self._index.get_indexer(labels), dtype=np.int64)
        least, table = self._table
        at = np.asarray(labels, dtype=np.int64) - least
        outside = (at < 0) | (at >= len(table))
        at[outside] = 0
        return np.where(outside, -1, table[at])

    @cached_property
    def _table(self) -> tuple[int, Positions] | None:
        """The least label, and for each integer from there on which row has it; None if labels are no integers, or few of many. pandas' own takes three times as long."""
        if not _whole(self._index) or not len(self._index):
            return None
        labels = np.asarray(self._index, dtype=np.int64)
        least, most = int(labels.min()), int(labels.max())
        if most - least >= _DENSE * len(labels):
            return None
        table = np.full(most - least + 1, -1, np.int64)
        table[labels - least] = np.arange(len(labels))
        return least, table

    @property
    def one(self) -> bool:
        return len(self._index) < 2

    def alone(self) -> Positions:
        count = len(self._index)
        return _few_of(count, count) if count > 1 else np.zeros(0, np.int64)

    def together(self) -> Iterator[Positions]:
        """Rows at the end, of which a function that numbers its rows anew makes others; and some of all places."""
        count = len(self._index)
        if count < 2:
            return
        yield np.arange(max(1, count - _FEW[0]), count)
        for few in _FEW:
            yield np.unique(np.random.default_rng(few).integers(1, count, min(few, count)))

    def rows(self, owners: Positions) -> Positions:
        return owners


class GroupOwners:
    """Each row was made of the rows that have the same values in the columns ``by``; a result has these as columns or as levels of its index."""

    def __init__(self, frame: pd.DataFrame, by: Sequence[str]) -> None:
        """Raises Broken where the frame has no such columns."""
        missing = [name for name in by if name not in frame.columns and name not in frame.index.names]
        if missing:
            raise Broken(f"its input has no column {missing[0]!r}")
        _check_once(frame, by)
        self._by = list(by)
        self._keys = Keys()
        self.codes = narrowest(self._keys.learnt(_columns(frame, self._by)))

    def of(self, result: Any) -> Column:
        names = [*getattr(result, "columns", ()), *_index_of(result).names]
        missing = [name for name in self._by if name not in names]
        if missing:
            raise Broken(f"its result has no {missing[0]!r} among its columns or the levels of its index")
        _check_once(result, self._by)
        found = self._keys.known(_columns(result, self._by))
        if bool((found < 0).any()):
            raise Broken(f"it gave rows with other values of {', '.join(map(str, self._by))} than any input row has")
        return Column.of(found)

    @property
    def one(self) -> bool:
        return not len(self.codes) or bool((self.codes == self.codes[0]).all())

    def alone(self) -> Positions:
        smallest = self._smallest(max(_FEW[-1], len(self.codes) // 32))
        if len(smallest) < 2:  # one may be as it is among others by chance
            smallest = self._smallest(len(self.codes) // 8)[:2]
        return smallest[_few_of(len(smallest), len(self.codes))] if len(smallest) else smallest

    def together(self) -> Iterator[Positions]:
        """The smallest groups, but not all, and no more rows than a few thousand."""
        smallest = self._smallest(_FEW[-1])
        for few in _FEW[:-1]:
            chosen = smallest[: min(few, len(smallest) - 1)]
            if len(chosen):
                yield np.sort(chosen)

    def _smallest(self, most: int) -> Positions:
        """The groups, smallest first, which have so many rows together at most; none, if that is all of them and they are one."""
        smallest, sizes = self._by_size
        return smallest[np.cumsum(sizes) <= most] if len(smallest) > 1 else smallest[:0]

    @cached_property
    def _by_size(self) -> tuple[Positions, Positions]:
        """The groups, smallest first, and how many rows each has."""
        sizes = np.bincount(self.codes)
        smallest = np.argsort(sizes, kind="stable").astype(np.int64)
        smallest = smallest[sizes[smallest] > 0]
        return smallest, sizes[smallest].astype(np.int64)

    def rows(self, owners: Positions) -> Positions:
        return np.flatnonzero(members(self.codes, owners, int(self.codes.max(initial=0)) + 1))


def _few_of(count: int, rows: int) -> Positions:
    """A few of so many owners, from the first to the last; all of few."""
    few = _ALONE_OF_MANY if rows >= _MANY else count if count <= _ALL else _ALONE
    return np.unique(np.linspace(0, count - 1, min(few, count)).astype(np.int64))


def _whole(index: Any) -> bool:
    """Whether labels are integers."""
    return index.nlevels == 1 and isinstance(index.dtype, np.dtype) and index.dtype.kind == "i"


def _index_of(result: Any) -> Any:
    if not hasattr(result, "iloc") or not hasattr(result, "index"):
        raise Broken(f"it gave a {type(result).__name__}, and no frame")
    return result.index


def _counts_up(index: Any) -> bool:
    import pandas as pd

    return isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1


def _check_once(frame: Any, by: Sequence[str]) -> None:
    several = [name for name in by if list(getattr(frame, "columns", ())).count(name) > 1]
    if several:
        raise Broken(f"several columns are called {several[0]!r}")


def _columns(frame: Any, by: Sequence[str]) -> list[Any]:
    """The values that rows are grouped by, column by column."""
    import pandas as pd

    columns = getattr(frame, "columns", ())
    return [pd.Index(frame[name], dtype=frame[name].dtype) if name in columns else frame.index.get_level_values(name) for name in by]
