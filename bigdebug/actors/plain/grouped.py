"""Groups: stand-ins for what ``groupby`` gives. What they make of a group is made of its rows alone."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any, NamedTuple

from bigdebug.actors.plain.column import Cells, ColumnStandIn, Rows
from bigdebug.actors.plain.kinds import NUMBERS, VALUES, Kind
from bigdebug.actors.plain.standin import StandIn, UnknownError, texts, told
from bigdebug.actors.plain.table import Seen, Table, Values

_COUNTS = frozenset(("count", "size", "nunique"))
_MEANS = frozenset(("mean", "std", "var", "median"))
FUNCTIONS = _COUNTS | _MEANS | {"sum", "prod", "min", "max", "first", "last", "any", "all"}
"""What is known by name."""

_OF_ANYTHING = frozenset(("count", "size", "nunique", "first", "last"))
"""What asks nothing of values but whether they are the same, or null."""


class _Grouped(NamedTuple):
    seen: Seen
    keys: tuple[Hashable, ...]
    as_index: bool
    chosen: Any = None
    """The columns that were taken: a name, or a list of some. None: all but the keys."""

    @property
    def table(self) -> Table:
        return self.seen.table


class GroupsStandIn(StandIn):
    """Stands for ``DataFrameGroupBy`` and ``SeriesGroupBy``."""

    __slots__ = ()
    _told: _Grouped

    @classmethod
    def of(cls, frame: StandIn, keys: Sequence[str], as_index: bool) -> GroupsStandIn:
        """Raises UnknownError where rows of several of the groups that were promised would come together."""
        table: Table = told(frame)
        if not table.by or not table.by.issubset(keys) or not all(table.is_input(key, VALUES) for key in keys):
            raise UnknownError
        return cls(_Grouped(Seen(frame, table), tuple(keys), as_index))

    def __getitem__(self, key: Any) -> GroupsStandIn:
        if self._told.chosen is not None or not set(texts(key)) <= self._told.table.columns.keys() - set(self._told.keys):
            raise UnknownError
        return GroupsStandIn(self._told._replace(chosen=key))

    def __getattr__(self, name: str) -> Any:
        from pandas.core.groupby import DataFrameGroupBy

        if name in FUNCTIONS:
            return partial(_of_each, self._told, name)
        if hasattr(DataFrameGroupBy, name) or self._told.chosen is not None:
            raise UnknownError
        return self[name]

    def agg(self, func: Any = None, **named: Any) -> Any:
        if func is None:
            return _named(self._told, named)
        if named:
            raise UnknownError
        if type(func) is str:
            return _of_each(self._told, func)
        if isinstance(func, list) and type(self._told.chosen) is str:
            return _named(self._told, {each: each for each in texts(func)})
        if isinstance(func, dict) and self._told.chosen is None and all(type(each) is str for each in func.values()):
            return _frame(self._told, {name: (name, each) for name, each in func.items()})
        raise UnknownError

    aggregate = agg

    def transform(self, func: Any) -> ColumnStandIn:
        """For each row, what is made of its group: without one, as of a null key, it is a null."""
        if type(self._told.chosen) is not str:
            raise UnknownError
        kind = _kind(self._told, self._told.chosen, func)
        if kind is not Kind.FLOAT and func not in _COUNTS:
            raise UnknownError
        return ColumnStandIn(Cells(self._told.table.rows, Kind.COUNT if func in _COUNTS else kind))


def _kind(groups: _Grouped, name: Hashable, function: Any) -> Kind:
    """The kind of what a function makes of a column. Raises UnknownError if it is none of those that are known."""
    if type(function) is not str or function not in FUNCTIONS:
        raise UnknownError
    kind = groups.table.kind(name, at_a_glance=function in _OF_ANYTHING)
    if kind not in VALUES:
        raise UnknownError
    if function in _COUNTS:
        return Kind.INT
    if kind not in NUMBERS:
        if function not in _OF_ANYTHING:  # pandas calls functions of Python for each group
            raise UnknownError
        return Kind.LOOSE
    if function in _MEANS:
        return Kind.FLOAT
    if function in ("any", "all"):
        return Kind.BOOL
    return kind if kind is not Kind.BOOL else Kind.LOOSE


def _of_each(groups: _Grouped, function: str) -> Any:
    """What a function makes of each column."""
    if function == "size":
        if groups.chosen is not None or not groups.as_index:
            raise UnknownError
        return _column(groups, Kind.INT, 0)
    if type(groups.chosen) is str and groups.as_index:
        return _column(groups, _kind(groups, groups.chosen, function), groups.chosen)
    names = [name for name in groups.table.columns if name not in groups.keys] if groups.chosen is None else texts(groups.chosen)
    return _frame(groups, {name: (name, function) for name in names})


def _named(groups: _Grouped, named: dict[str, Any]) -> Any:
    """What functions make of columns, by new names."""
    if type(groups.chosen) is str:
        named = {name: (groups.chosen, each) for name, each in named.items()}
    elif groups.chosen is not None:
        raise UnknownError
    if not named or any(type(each) is not tuple or len(each) != 2 for each in named.values()):
        raise UnknownError
    return _frame(groups, named)


def _column(groups: _Grouped, kind: Kind, name: Hashable) -> ColumnStandIn:
    """A column of what is made of groups, whose labels are their keys."""
    rows = Rows(keys=groups.keys)

    def framed(called: Hashable) -> Any:
        return groups.table.stands(groups.table.changed(rows=rows, columns={called: Values(kind)}).unkeyed())

    return ColumnStandIn(Cells(rows, kind, name=name, framed=framed))


def _frame(groups: _Grouped, made: dict[Any, tuple[Any, Any]]) -> Any:
    """A frame of these columns, each what a function makes of one; the keys are its labels, or columns besides."""
    if not made.keys().isdisjoint(groups.keys):
        raise UnknownError
    columns = {name: Values(_kind(groups, *each)) for name, each in made.items()}
    if groups.as_index:
        return groups.table.stands(groups.table.changed(rows=Rows(keys=groups.keys), columns=columns))
    keys = {key: groups.table.key(key) for key in groups.keys}
    return groups.table.stands(groups.table.changed(rows=Rows(counted=True), columns={**keys, **columns}))
