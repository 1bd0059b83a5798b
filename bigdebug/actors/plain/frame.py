"""Frames: stand-ins for a frame, which know of their rows and columns what each operation says of them."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from types import FunctionType
from typing import Any

from bigdebug.actors.bare import arrays_of
from bigdebug.actors.fixed import ATOMS
from bigdebug.actors.plain.column import Column, Rows
from bigdebug.actors.plain.computed import filled
from bigdebug.actors.plain.grouped import Groups
from bigdebug.actors.plain.kinds import Kind, kind_of, kind_of_constant
from bigdebug.actors.plain.standin import StandIn, UnknownError, constant, texts
from bigdebug.actors.plain.table import Known, Table


def table_of(frame: Any, by: frozenset[Hashable]) -> Table:
    """What is known of the frame that a function is called with. Raises UnknownError if it has other columns than frames mostly have."""
    if frame.columns.nlevels > 1 or not frame.columns.is_unique or frame.attrs or not set(frame.columns).isdisjoint(vars(frame)):
        raise UnknownError
    columns = {name: Known(partial(kind_of, array), name) for name, array in zip(frame.columns, arrays_of(frame))}
    return Table(Rows(), columns, by, Frame, own=False)


class Frame(StandIn):
    """Stands for ``pandas.DataFrame``."""

    __slots__ = ()
    _told: Table

    def __init__(self, told: Table) -> None:
        object.__setattr__(self, "_told", told)

    def __getitem__(self, key: Any) -> Any:
        if type(key) in ATOMS:
            return Column(self._told.column(key))
        return Frame(self._told.some(key) if isinstance(key, list) else self._told.where(key))

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
        return _Located(self._told)

    def copy(self) -> Frame:
        return Frame(self._told.changed())

    def assign(self, **columns: Any) -> Frame:
        found = self._told
        for name, value in columns.items():
            found = found.holding(name, value(Frame(found)) if type(value) is FunctionType else value)
        return Frame(found.changed())

    def drop(self, labels: Any = None, *, axis: Any = 0, columns: Any = None) -> Frame:
        dropped = texts(labels if columns is None and axis in (1, "columns") else columns)
        return Frame(self._told.changed(columns={name: each for name, each in self._told.columns.items() if name not in dropped}))

    def rename(self, *, columns: Any) -> Frame:
        names = {name: columns.get(name, name) for name in self._told.columns} if isinstance(columns, dict) and constant(columns) else {}
        if not names or len(set(names.values())) < len(names):
            raise UnknownError
        return Frame(self._told.changed(columns={names[name]: each for name, each in self._told.columns.items()}))

    def dropna(self, *, how: Any = "any", subset: Any = None) -> Frame:
        constant((how, subset))
        return Frame(self._told.other_rows())

    def sort_values(self, by: Any, *, ascending: Any = True, kind: Any = "quicksort", na_position: Any = "last") -> Frame:
        """Which of equal rows comes first hangs on all rows, unless it is told otherwise: rows of a group may be in another order then."""
        constant((ascending, na_position))
        self._told.some(by)
        if self._told.by and self._told.rows.of_input and kind not in ("stable", "mergesort"):
            raise UnknownError
        return Frame(self._told.other_rows())

    def fillna(self, value: Any) -> Frame:
        values = value if isinstance(value, dict) else dict.fromkeys(self._told.columns, value)
        for each in values.values():
            kind_of_constant(each)
        changed = {name: Known(partial(_filled, each, values[name])) for name, each in self._told.columns.items() if name in values}
        return Frame(self._told.changed(columns={**self._told.columns, **changed}))

    def astype(self, dtype: Any) -> Frame:
        if not isinstance(dtype, dict) or not set(dtype) <= self._told.columns.keys():
            raise UnknownError
        found = self._told
        for name, each in dtype.items():
            found = found.holding(name, Column(found.column(name)).astype(each))
        return Frame(found)

    def set_index(self, keys: Any) -> Frame:
        names = tuple(texts(keys))
        if any(name not in self._told.columns or self._told.columns[name].of != name for name in names):
            raise UnknownError
        rest = {name: each for name, each in self._told.columns.items() if name not in names}
        return Frame(self._told.changed(rows=Rows(keys=names), columns=rest))

    def reset_index(self) -> Frame:
        return Frame(self._told.unkeyed())

    def groupby(self, by: Any, *, as_index: Any = True, sort: Any = True, observed: Any = True, dropna: Any = True, group_keys: Any = True) -> Groups:
        constant((sort, observed, dropna, group_keys))
        if type(as_index) is not bool:
            raise UnknownError
        return Groups.of(self._told, texts(by), as_index)


def _filled(known: Known, value: Any) -> Kind:
    return filled(known.kind, value)


class _Located(StandIn):
    """Stands for ``DataFrame.loc``."""

    __slots__ = ()
    _told: Table

    def __init__(self, told: Table) -> None:
        object.__setattr__(self, "_told", told)

    def __getitem__(self, key: Any) -> Any:
        which, names = key if type(key) is tuple and len(key) == 2 else (key, None)
        found = self._told if type(which) is slice and which == slice(None) and names is not None else self._told.where(which)
        return Frame(found) if names is None else Frame(found)[names]
