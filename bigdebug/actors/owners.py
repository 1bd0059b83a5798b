"""Owners: by which input row, or which group of them, each row of a result was made. Read off the index, or off the columns that rows are grouped by."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bigdebug.actors.alike import CLOSE
from bigdebug.actors.bare import bare
from bigdebug.actors.columns import Column
from bigdebug.actors.exactly import places
from bigdebug.actors.keys import Keys, take_long
from bigdebug.actors.odd import Odd
from bigdebug.actors.plain.heard import Heard
from bigdebug.actors.promises import Broken
from bigdebug.actors.scattered import SomeGroups, more_rows, rows_alone, rows_together
from bigdebug.store.arrays import narrowest
from bigdebug.trace.positions import Positions, members

if TYPE_CHECKING:
    import pandas as pd

_DENSE = 4
"""Entries of a table of labels, for each label."""


class RowOwners:
    """Each row has the label of the one that it was made of: filters, explode, sort, new columns and merges by ``map`` keep it, and ``reset_index`` does not."""

    close = CLOSE

    def __init__(self, frame: pd.DataFrame | pd.Series) -> None:
        """Raises Broken where labels name several rows."""
        self._frame = frame  # the very one: another over its memory makes pandas copy that where the function changes it, if it copies on writes
        self._index = frame.index
        _ = self._index.is_monotonic_increasing  # of one that is, pandas knows then whether it is unique, and makes no table of it
        if not self._index.is_unique:
            raise Broken("some of its rows have the same label in the index; let a step before it do nothing but reset_index(drop=True)")
        self._counts_up = _counts_up(self._index)

    def expect_all(self) -> None:
        """Its labels, which nobody can change, are held from the beginning."""

    def of(self, result: Any) -> Column:
        labels = _index_of(result)
        if labels is self._index or (self._counts_up and _counts_up(labels) and len(labels) == len(self._index)):
            return Column.steps(len(labels))
        if self._counts_up and labels.dtype.kind in "iu" and labels.nlevels == 1:
            found = np.asarray(labels, dtype=np.int64)
            outside = bool(len(found)) and (int(found.min()) < 0 or int(found.max()) >= len(self._index))
        else:
            found = self._places(labels)
            outside = bool((found < 0).any())
        if outside:
            raise Broken("it gave rows with labels in the index that no input row has")
        return Column.of(found)

    def _places(self, labels: Any) -> Positions:
        """Which row has each label, -1: none has it."""
        if self._table is None or not _whole(labels):
            return places(self._index, labels)
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

    @cached_property
    def _odd(self) -> Odd:
        return Odd.of(bare(self._frame))

    def alone(self) -> Positions:
        return rows_alone(self._odd, len(self._index))

    def together(self) -> Iterator[Positions]:
        return rows_together(self._odd, len(self._index))

    def more(self) -> Iterator[Positions]:
        return more_rows(len(self._index))

    def rows(self, owners: Positions) -> Positions:
        return owners


class GroupOwners:
    """Each row was made of the rows that have the same values in the columns ``by``; a result has these as columns or as levels of its index."""

    close = 1e-13
    """Sums of the same numbers may round differently among others."""

    def __init__(self, frame: pd.DataFrame, by: Sequence[Hashable], heard: Heard | None = None) -> None:
        """Raises Broken where the frame has no such columns. Keys that were ``heard`` when pandas numbered them are not numbered once more."""
        _check_once(frame, by)
        missing = [name for name in by if name not in frame.index.names and _column(bare(frame), name) is None]
        if missing:
            raise Broken(f"its input has no column {missing[0]!r}")
        self._frame = frame  # as above
        self._by = list(by)
        self._keys = Keys()
        codes = self._keys.learnt(_columns(bare(frame), self._by), heard)
        self._sizes = np.bincount(codes).astype(np.int64, copy=False)  # how many rows each group has
        self.codes = narrowest(codes)

    @staticmethod
    def heard_of(frame: pd.DataFrame, by: Sequence[Hashable]) -> Heard:
        """What hears how pandas numbers these columns, if it would take long to number them once more."""
        return Heard(take_long([column for column in (_column(bare(frame), name) for name in by) if column is not None]))

    def expect_all(self) -> None:
        self._keys.hold(_columns(bare(self._frame), self._by))

    def of(self, result: Any) -> Column:
        _check_once(result, self._by)
        missing = [name for name in self._by if name not in _index_of(result).names and _column(result, name) is None]
        if missing:
            raise Broken(f"its result has no {missing[0]!r} among its columns or the levels of its index")
        columns = _columns(result, self._by)
        if self._keys.same(columns):
            return Column.of(self.codes)
        found = self._keys.known(columns)
        if bool((found < 0).any()):
            raise Broken(f"it gave rows with other values of {', '.join(map(str, self._by))} than any input row has")
        return Column.of(found)

    def of_labelled(self, result: Any) -> Column:
        """As ``of``, of a result whose rows are known to have the labels of rows of their groups, and to have kept their keys: a number is looked up in less time than a key."""
        try:
            rows = RowOwners(self._frame).of(result)
        except Broken:  # labels name several rows, or pandas cannot tell them apart
            return self.of(result)
        return Column.of(self.codes[rows.array])

    @cached_property
    def _some(self) -> SomeGroups:
        odd = Odd.of(bare(self._frame), frozenset(name for name, full in zip(self._by, self._keys.full) if full))
        rows = np.concatenate((odd.nulls, odd.extremes))
        return SomeGroups(self._sizes, self.codes[rows].astype(np.int64), np.unique(self.codes[odd.first]).astype(np.int64))

    @property
    def one(self) -> bool:
        return int(np.count_nonzero(self._sizes)) < 2

    def alone(self) -> Positions:
        return self._some.alone()

    def together(self) -> Iterator[Positions]:
        return self._some.together()

    def more(self) -> Iterator[Positions]:
        return self._some.more()

    @cached_property
    def _near(self) -> tuple[Positions, Positions]:
        """The groups that are tried in any case, and their rows: one pass for all of them."""
        groups = np.unique(np.concatenate((self.alone(), *self.together())))
        return groups, np.flatnonzero(members(self.codes, groups, len(self._sizes)))

    def rows(self, owners: Positions) -> Positions:
        groups, near = self._near
        if not bool(np.isin(owners, groups).all()):
            return np.flatnonzero(members(self.codes, owners, len(self._sizes)))
        return near[members(self.codes[near], owners, len(self._sizes))]


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


def _check_once(frame: Any, by: Sequence[Hashable]) -> None:
    several = [name for name in by if list(getattr(frame, "columns", ())).count(name) > 1]
    if several:
        raise Broken(f"several columns are called {several[0]!r}")


def _columns(frame: Any, by: Sequence[Hashable]) -> list[Any]:
    """The values that rows are grouped by, column by column."""
    import pandas as pd

    found = [_column(frame, name) for name in by]
    return [frame.index.get_level_values(name) if each is None else pd.Index(each, dtype=each.dtype) for name, each in zip(by, found)]


def _column(frame: Any, name: Hashable) -> Any:
    """The column of a name; of columns of several levels, the one that has nothing below it. None if there is none."""
    if name not in getattr(frame, "columns", ()):
        return None
    found = frame[name]
    return found if found.ndim == 1 else None
