"""Columns: stand-ins for a column of a frame, or an array that is as long. Each cell is made of its own row, or of the group of that."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from bigdebug.actors.plain import computed
from bigdebug.actors.plain.accessors import Texts, Times
from bigdebug.actors.plain.kinds import Kind
from bigdebug.actors.plain.standin import StandIn, UnknownError, constant, texts, told


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that stand in an order. Columns of the same ones go together cell by cell; of others, pandas looks which labels they share, and nobody knows what comes of it."""

    keys: tuple[Hashable, ...] | None = None
    """The columns that their labels are: of groups, mostly those by which they were made. None: they have the labels of the rows that they were made of."""
    counted: bool = False
    """Whether their labels count up anew."""
    all: bool = False
    """Whether they are all the input rows, in the same order."""

    @property
    def of_input(self) -> bool:
        """Whether they have the labels of the input rows that they were made of."""
        return self.keys is None and not self.counted


@dataclass(frozen=True)
class Cells:
    """What is known of a column."""

    rows: Rows
    kind: Kind
    of: Hashable = None
    """The input column that it is, unchanged; None for any other."""
    labelled: bool = True
    """Whether it has the labels of its rows: arrays have none."""
    name: Hashable = None
    """What it is called, where that is known."""
    framed: Callable[[Hashable], Any] | None = None
    """What gives a frame of it, by this name, with the keys of its groups besides; None where that is not known."""


class ColumnStandIn(StandIn):
    """Stands for ``pandas.Series``, and for arrays of numpy that are as long."""

    __slots__ = ()
    _told: Cells

    # ---- operators --------------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> ColumnStandIn:
        return combined(computed.total, self, other)

    def __radd__(self, other: Any) -> ColumnStandIn:
        return combined(computed.total, other, self)

    def __sub__(self, other: Any) -> ColumnStandIn:
        return combined(computed.product, self, other)

    def __rsub__(self, other: Any) -> ColumnStandIn:
        return combined(computed.product, other, self)

    def __mul__(self, other: Any) -> ColumnStandIn:
        return combined(computed.product, self, other)

    def __rmul__(self, other: Any) -> ColumnStandIn:
        return combined(computed.product, other, self)

    def __truediv__(self, other: Any) -> ColumnStandIn:
        return combined(computed.quotient, self, other)

    def __rtruediv__(self, other: Any) -> ColumnStandIn:
        return combined(computed.quotient, other, self)

    def __floordiv__(self, other: Any) -> ColumnStandIn:
        return combined(computed.integral(type(other) is int and other != 0), self, other)

    def __mod__(self, other: Any) -> ColumnStandIn:
        return combined(computed.integral(type(other) is int and other != 0), self, other)

    def __pow__(self, other: Any) -> ColumnStandIn:
        return combined(computed.integral(type(other) is int and other >= 0), self, other)

    def __eq__(self, other: object) -> ColumnStandIn:  # type: ignore[override]
        return combined(computed.compared, self, other)

    def __ne__(self, other: object) -> ColumnStandIn:  # type: ignore[override]
        return combined(computed.compared, self, other)

    def __lt__(self, other: Any) -> ColumnStandIn:
        return combined(computed.compared, self, other)

    __le__ = __gt__ = __ge__ = __lt__

    def __and__(self, other: Any) -> ColumnStandIn:
        return combined(computed.both, self, other)

    __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __and__

    def __invert__(self) -> ColumnStandIn:
        return made(self, computed.inverted(self._told.kind))

    def __neg__(self) -> ColumnStandIn:
        return made(self, computed.rounded(self._told.kind))

    __pos__ = __abs__ = __neg__

    def __round__(self, decimals: Any = 0) -> ColumnStandIn:
        return self.round(decimals)

    def __hash__(self) -> int:
        raise UnknownError

    # ---- methods of pandas ------------------------------------------------------------------------------------

    @property
    def str(self) -> Texts:
        return Texts(self._told.kind, partial(made, self))

    @property
    def dt(self) -> Times:
        return Times(self._told.kind, partial(made, self))

    def isna(self) -> ColumnStandIn:
        return made(self, computed.null(self._told.kind))

    notna = isnull = notnull = isna

    def isin(self, values: Any) -> ColumnStandIn:
        if not isinstance(values, (list, tuple, set, frozenset)):
            raise UnknownError
        return made(self, computed.among(self._told.kind, values))

    def between(self, left: Any, right: Any, inclusive: Any = "both") -> ColumnStandIn:
        constant(inclusive)
        return combined(computed.both, self >= left, self <= right)

    def abs(self) -> ColumnStandIn:
        return abs(self)

    def copy(self) -> ColumnStandIn:
        return self

    def round(self, decimals: Any = 0) -> ColumnStandIn:
        constant(decimals)
        return made(self, computed.rounded(self._told.kind))

    def clip(self, lower: Any = None, upper: Any = None) -> ColumnStandIn:
        return made(self, computed.cut(self._told.kind, [each for each in (lower, upper) if each is not None]))

    def fillna(self, value: Any) -> ColumnStandIn:
        return made(self, computed.filled(self._told.kind, value))

    def astype(self, dtype: Any) -> ColumnStandIn:
        return made(self, computed.converted(dtype, self._told.kind, self._told.of is not None))

    def where(self, cond: Any, other: Any = None) -> ColumnStandIn:
        """What is put in the place of others is of the same kind, or one value that is."""
        if type(cond) is not ColumnStandIn or cond._told.kind is not Kind.BOOL or (type(other) is ColumnStandIn and other._told.kind not in (Kind.FLOAT, Kind.TEXT)):
            raise UnknownError
        return combined(computed.chosen, self, cond, *([] if other is None else [other]))

    mask = where

    def map(self, arg: Any) -> ColumnStandIn:
        if not isinstance(arg, dict):
            raise UnknownError
        return made(self, computed.mapped(self._told.kind, constant(arg)))

    def rename(self, index: Any) -> ColumnStandIn:
        return ColumnStandIn(replace(self._told, name=texts(index)[0]))

    def reset_index(self, *, name: Any = None) -> Any:
        framed = self._told.framed
        if framed is None:
            raise UnknownError
        return framed(self._told.name if name is None else texts(name)[0])


def made(column: ColumnStandIn, kind: Kind) -> ColumnStandIn:
    """A column of the same rows, made cell by cell of this one."""
    return ColumnStandIn(replace(told(column), kind=kind, of=None, name=None, framed=None))


def combined(kinds: Callable[..., Kind], *operands: Any) -> ColumnStandIn:
    """What is made cell by cell of columns of the same rows, and of constants. ``kinds`` says of which kind it is."""
    columns = [told(each) for each in operands if type(each) is ColumnStandIn]
    if not columns or any(each.rows is not columns[0].rows for each in columns):
        raise UnknownError
    known = {each.kind for each in columns}
    kind = kinds(*(told(each).kind if type(each) is ColumnStandIn else computed.kind_beside(known, each) for each in operands))
    return ColumnStandIn(Cells(columns[0].rows, kind, labelled=any(each.labelled for each in columns)))
