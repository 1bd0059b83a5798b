"""Frames: stand-ins for a frame, which know of their rows and columns what each operation says of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from bigdebug.actors.bare import arrays_of
from bigdebug.actors.plain.column import ColumnStandIn, Rows
from bigdebug.actors.plain.computed import filled
from bigdebug.actors.plain.grouped import GroupsStandIn
from bigdebug.actors.plain.kinds import VALUES, Kind
from bigdebug.actors.plain.standin import ATOMS, StandIn, UnknownError, constant, texts, unchanging
from bigdebug.actors.plain.table import Seen, Table, Values


def table_of(frame: Any, by: frozenset[Hashable]) -> Table:
    """What is known of the frame that a function is called with. Raises UnknownError if it has other columns than frames mostly have, or something was put on it. Takes 1 us for each column."""
    import pandas as pd

    if type(frame.columns) not in (pd.Index, pd.RangeIndex) or not all(unchanging(name) or type(name) is pd.Timestamp for name in frame.columns) or not frame.columns.is_unique:
        raise UnknownError  # an index of times finds what a text says
    arrays, remembered = arrays_of(frame), getattr(frame, "_item_cache", {}).values()
    if not (_is_bare(frame) and all(_is_bare(column) and type(column) is pd.Series and column.index.is_(frame.index) for column in remembered)):
        raise UnknownError
    if not all(map(_is_pandas, (*arrays, *_parts(frame.index)))) or any(_is_backwards(array) for array in arrays):
        raise UnknownError
    columns = {name: Values(None, name, array) for name, array in zip(frame.columns, arrays)}
    return Table(Rows(all=True), columns, by, FrameStandIn, own=False)


def _is_bare(made: Any) -> bool:
    """Whether nobody has set attributes of a frame, or of a column of it that is remembered, but pandas, which remembers what gives their methods: others may be asked for a method, or stand before a column."""
    return not made.attrs and all(name.startswith("_") or (type(value).__module__.startswith("pandas.") and name not in made) for name, value in vars(made).items())


def _parts(index: Any) -> Iterator[Any]:
    """What the labels of rows are made of."""
    yield index
    if index.nlevels == 1:
        yield index.array
    else:
        for level in index.levels:
            yield from _parts(level)


def _is_pandas(made: Any) -> bool:
    return type(made).__module__.startswith(("pandas.", "numpy"))


def _is_backwards(array: Any) -> bool:
    """Whether an array is a view that begins at the end: numpy computes it number by number, and others several at once, which may round otherwise."""
    return type(array) is np.ndarray and array.strides[0] < 0


class FrameStandIn(StandIn):
    """Stands for ``pandas.DataFrame``."""

    __slots__ = ()
    _told: Table

    def __getitem__(self, key: Any) -> Any:
        if type(key) in ATOMS:
            return ColumnStandIn(self._told.column(key))
        return FrameStandIn(self._told.some(key) if isinstance(key, list) else self._told.where(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self._told.own or type(key) is not str:
            raise UnknownError
        object.__setattr__(self, "_told", self._told.holding(key, value))

    def __getattr__(self, name: str) -> Any:
        import pandas as pd

        if hasattr(pd.DataFrame, name):
            raise UnknownError
        return self[name]

    @property
    def loc(self) -> _Located:
        return _Located(Seen(self, self._told))

    def copy(self) -> FrameStandIn:
        return FrameStandIn(self._told.changed())

    def assign(self, **columns: Any) -> FrameStandIn:
        """A function is given the very frame that is made, and may set columns of it."""
        made = self.copy()
        for name, value in columns.items():
            made[name] = value(made) if type(value) is FunctionType else value
        return made

    def drop(self, labels: Any = None, *, axis: Any = 0, columns: Any = None) -> FrameStandIn:
        dropped = texts(labels if columns is None and axis in (1, "columns") else columns)
        return FrameStandIn(self._told.changed(columns={name: each for name, each in self._told.columns.items() if name not in dropped}))

    def rename(self, *, columns: Any) -> FrameStandIn:
        names = {name: columns.get(name, name) for name in self._told.columns} if isinstance(columns, dict) and constant(columns) else {}
        if not names or len(set(names.values())) < len(names):
            raise UnknownError
        return FrameStandIn(self._told.changed(columns={names[name]: each for name, each in self._told.columns.items()}))

    def dropna(self, *, how: Any = "any", subset: Any = None) -> FrameStandIn:
        constant(how)
        looked_at = self._told if subset is None else self._told.some(subset)
        if any(each.kind is Kind.FOREIGN for each in looked_at.columns.values()):
            raise UnknownError
        return FrameStandIn(self._told.other_rows())

    def sort_values(self, by: Any, *, ascending: Any = True, kind: Any = "quicksort", na_position: Any = "last") -> FrameStandIn:
        """Which of equal rows comes first hangs on all rows, unless it is told otherwise: nothing is known of groups then, whose first row may be another one."""
        constant((ascending, na_position))
        if not {each.kind for each in self._told.some(by).columns.values()} <= VALUES | {Kind.COUNT}:
            raise UnknownError
        found = self._told.other_rows()
        return FrameStandIn(found if kind in ("stable", "mergesort") else found.changed(by=frozenset()))

    def fillna(self, value: Any) -> FrameStandIn:
        values = value if isinstance(value, dict) else dict.fromkeys(self._told.columns, value)
        changed = {name: Values(filled(each.kind, values[name])) for name, each in self._told.columns.items() if name in values}
        return FrameStandIn(self._told.changed(columns={**self._told.columns, **changed}))

    def astype(self, dtype: Any) -> FrameStandIn:
        if not isinstance(dtype, dict):
            raise UnknownError
        return self.assign(**{name: ColumnStandIn(self._told.column(name)).astype(each) for name, each in dtype.items()})

    def set_index(self, keys: Any) -> FrameStandIn:
        names = tuple(texts(keys))
        if not all(self._told.is_input(name, VALUES) for name in names):
            raise UnknownError
        return FrameStandIn(self._told.changed(rows=Rows(keys=names), columns={name: each for name, each in self._told.columns.items() if name not in names}))

    def reset_index(self, *, drop: Any = False) -> FrameStandIn:
        """Labels that are dropped count up anew, and say no more which rows these are, but of all of them."""
        if drop is True:
            return FrameStandIn(self._told.changed(rows=Rows(counted=True, all=self._told.rows.all)))
        if drop is not False:
            raise UnknownError
        return FrameStandIn(self._told.unkeyed())

    def groupby(self, by: Any, *, as_index: Any = True, sort: Any = True, observed: Any = True, dropna: Any = True, group_keys: Any = True) -> GroupsStandIn:
        constant((sort, observed, dropna, group_keys))
        if type(as_index) is not bool:
            raise UnknownError
        return GroupsStandIn.of(self, texts(by), as_index)


class _Located(StandIn):
    """Stands for ``DataFrame.loc``."""

    __slots__ = ()
    _told: Seen

    def __getitem__(self, key: Any) -> Any:
        which, names = key if type(key) is tuple and len(key) == 2 else (key, None)
        table = self._told.table
        found = table if type(which) is slice and which == slice(None) and names is not None else table.where(which)
        if names is None:
            return FrameStandIn(found)
        return ColumnStandIn(found.column(names)) if type(names) is str else FrameStandIn(found.some(names))
