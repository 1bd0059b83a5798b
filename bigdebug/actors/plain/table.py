"""Tables: what is known of a frame: its rows, and of each column which kind it is, and whether it is one of the input."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from bigdebug.actors.plain.column import Cells, ColumnStandIn, Rows
from bigdebug.actors.plain.kinds import Kind, kind_at_a_glance, kind_of, kind_of_constant
from bigdebug.actors.plain.standin import ATOMS, StandIn, UnknownError, texts, told


class Values:
    """What is known of a column of a frame, whichever of its rows there are. A column of the input is looked at once somebody asks."""

    def __init__(self, kind: Kind | None, of: Hashable = None, array: Any = None) -> None:
        self._kind = kind
        self._array = array
        self.of = of

    @cached_property
    def kind(self) -> Kind:
        return kind_of(self._array) if self._kind is None else self._kind

    @cached_property
    def kind_at_a_glance(self) -> Kind:
        """The same, of whose cells nothing is asked but whether they are the same."""
        return kind_at_a_glance(self._array) if self._kind is None else self._kind


@dataclass(frozen=True)
class Table:
    """What is known of a frame."""

    rows: Rows
    columns: Mapping[Hashable, Values]
    by: frozenset[Hashable]
    """The columns whose values make a group; none: each row is one, or the order of rows hangs on others."""
    stands: Callable[[Table], Any]
    """What gives its stand-in."""
    own: bool = True
    """Whether the function made it, and may change it: the frame that it was given is its caller's."""

    def column(self, name: Hashable) -> Cells:
        found = self._values(name)
        return Cells(self.rows, found.kind, found.of, name=name)

    def kind(self, name: Hashable, at_a_glance: bool = False) -> Kind:
        found = self._values(name)
        return found.kind_at_a_glance if at_a_glance else found.kind

    def is_input(self, name: Hashable, kinds: frozenset[Kind]) -> bool:
        """Whether a column is that of the input, and of such a kind."""
        found = self._values(name)
        return found.of == name and found.kind_at_a_glance in kinds

    def key(self, name: Hashable) -> Values:
        """A column as the key of groups: of floats, a zero has the sign of the first one among all."""
        found = self._values(name)
        return Values(Kind.LOOSE, name) if found.kind_at_a_glance is Kind.FLOAT else found

    def _values(self, name: Hashable) -> Values:
        if name not in self.columns:
            raise UnknownError
        return self.columns[name]

    def changed(self, **what: Any) -> Table:
        """A frame that pandas makes of it."""
        return replace(self, **what, own=True)

    def some(self, names: Any) -> Table:
        """These columns of it."""
        return self.changed(columns={name: self._values(name) for name in texts(names)})

    def other_rows(self) -> Table:
        """Some of its rows, or all of them in another order."""
        return self.changed(rows=replace(self.rows, all=False))

    def where(self, flags: Any) -> Table:
        if type(flags) is not ColumnStandIn or told(flags).rows is not self.rows or told(flags).kind not in (Kind.BOOL, Kind.MAYBE):
            raise UnknownError
        return self.other_rows()

    def holding(self, name: Hashable, value: Any) -> Table:
        """With a column more, or another one by this name."""
        return replace(self, columns={**self.columns, name: Values(self._kind_of(value))})

    def unkeyed(self) -> Table:
        """With the keys that its labels are as columns before the others."""
        keys = self.rows.keys
        if keys is None or not self.columns.keys().isdisjoint(keys):
            raise UnknownError
        return self.changed(rows=Rows(counted=True), columns={**{key: Values(Kind.LOOSE, key) for key in keys}, **self.columns})

    def _kind_of(self, value: Any) -> Kind:
        if type(value) is ColumnStandIn:
            cells: Cells = told(value)
            if cells.rows is not self.rows:
                raise UnknownError
            return cells.kind
        if type(value) not in ATOMS:
            raise UnknownError
        return kind_of_constant(value) if type(value) in (bool, int, float, str) else Kind.LOOSE


@dataclass(frozen=True)
class Seen:
    """A frame that something looks at: some of that sees what is set of the frame later, and some does not."""

    frame: StandIn
    as_it_was: Table

    @property
    def table(self) -> Table:
        """Raises UnknownError where the frame is another one by now."""
        now: Table = told(self.frame)
        if now is not self.as_it_was:
            raise UnknownError
        return now
