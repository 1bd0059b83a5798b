"""Tables: what is known of a frame: its rows, and of each column which kind it is, and whether it is one of the input."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from bigdebug.actors.fixed import ATOMS
from bigdebug.actors.plain.column import Cells, Column, Rows
from bigdebug.actors.plain.kinds import Kind, kind_of_constant
from bigdebug.actors.plain.standin import UnknownError, texts


class Known:
    """What is known of a column of a frame, whichever of its rows there are. A column of the input is looked at once somebody asks."""

    def __init__(self, kind: Kind | Callable[[], Kind], of: Hashable = None) -> None:
        self._kind = kind
        self.of = of

    @cached_property
    def kind(self) -> Kind:
        return self._kind if isinstance(self._kind, Kind) else self._kind()


@dataclass(frozen=True)
class Table:
    """What is known of a frame."""

    rows: Rows
    columns: Mapping[Hashable, Known]
    by: frozenset[Hashable]
    """The columns whose values make a group; none: each row is one."""
    stands: Callable[[Table], Any]
    """What gives its stand-in."""
    own: bool = True
    """Whether the function made it, and may change it: the frame that it was given is its caller's."""

    def column(self, name: Hashable) -> Cells:
        if name not in self.columns:
            raise UnknownError
        found = self.columns[name]
        return Cells(self.rows, found.kind, found.of, name=name)

    def changed(self, **what: Any) -> Table:
        """A frame that pandas makes of it."""
        return replace(self, **what, own=True)

    def some(self, names: Any) -> Table:
        """These columns of it."""
        if not self.columns.keys() >= set(texts(names)):
            raise UnknownError
        return self.changed(columns={name: self.columns[name] for name in names})

    def other_rows(self) -> Table:
        """Some of its rows, or all of them in another order."""
        return self.changed(rows=replace(self.rows))

    def where(self, flags: Any) -> Table:
        if type(flags) is not Column or flags._told.rows is not self.rows or flags._told.kind not in (Kind.BOOL, Kind.MAYBE):
            raise UnknownError
        return self.other_rows()

    def holding(self, name: Hashable, value: Any) -> Table:
        """With a column more, or another one by this name."""
        return self.changed(columns={**self.columns, name: Known(self._kind(value))})

    def unkeyed(self) -> Table:
        """With the keys that its labels are as columns before the others."""
        keys = self.rows.keys
        if keys is None or not self.columns.keys().isdisjoint(keys):
            raise UnknownError
        return self.changed(rows=Rows(counted=True), columns={**{key: Known(Kind.LOOSE, key) for key in keys}, **self.columns})

    def _kind(self, value: Any) -> Kind:
        if type(value) is Column:
            if value._told.rows is not self.rows:
                raise UnknownError
            return value._told.kind
        if type(value) not in ATOMS:
            raise UnknownError
        return kind_of_constant(value) if type(value) in (bool, int, float, str) else Kind.LOOSE
