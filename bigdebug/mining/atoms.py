"""Atoms: what may hold of one field of a record. Each is asked of a cell, or of all distinct cells of a column at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bigdebug.mining.fields import COUNT, Cell, Long, Mark, Path, number, text

Flags = npt.NDArray[np.bool_]

TOKENS = frozenset({"NA", "N/A", "n/a", "na", "null", "NULL", "Null", "None", "NaN", "nan", "\\N", "-", "?"})
"""Texts that say that there is no value."""


class Column:
    """The distinct cells of one field, numbered as they come, with what atoms ask of all of them. The last is that of records without the field.

    ``split``: they are texts whose parts are fields of their own.
    """

    def __init__(self, path: Path, cells: list[Cell], split: bool = False) -> None:
        self.path, self.cells, self.split = path, [*cells, Mark.MISSING], split

    @cached_property
    def numbers(self) -> npt.NDArray[np.float64]:
        """NaN for what is none."""
        return np.array([math.nan if (read := number(each)) is None else read for each in self.cells])

    @cached_property
    def lengths(self) -> npt.NDArray[np.float64]:
        return np.array([_length(each) for each in self.cells])

    @cached_property
    def known(self) -> Flags:
        return np.array([each is not Mark.STRANGE for each in self.cells])


def _length(value: Cell) -> float:
    return len(value) if type(value) is str else value.length if type(value) is Long else math.nan


@dataclass(frozen=True)
class Atom:
    """Something that holds of the cell at ``path``, or not."""

    path: Path

    @property
    def order(self) -> int:
        """That of kinds: of atoms that hold for the same records, the lowest says it best."""
        return 0 if self.path[-1:] == (COUNT,) else self._order()

    def _order(self) -> int:
        raise NotImplementedError

    def holds(self, value: Cell) -> bool:
        raise NotImplementedError

    def each(self, column: Column) -> Flags:
        """What ``holds`` says of each cell."""
        return np.fromiter(map(self.holds, column.cells), dtype=bool, count=len(column.cells))

    def text(self, name: str) -> str:
        """As a reader writes it, ``name`` being that of the field."""
        raise NotImplementedError


@dataclass(frozen=True)
class Equal(Atom):
    """Is that value; or, if ``negative``, is any other."""

    value: Cell
    negative: bool = False

    def _order(self) -> int:
        nothing = self.value in (None, "", Mark.MISSING, Mark.NAN) or self.value in TOKENS
        return 7 if self.negative else 1 if nothing else 4

    def holds(self, value: Cell) -> bool:
        return value is not Mark.STRANGE and (value == self.value) is not self.negative

    def text(self, name: str) -> str:
        no = "not " if self.negative else ""
        if self.value is None:
            return f"{name} is {no}null"
        if type(self.value) is str and (self.value == "" or self.value in TOKENS):
            return f"{name} is {no}{self.value or 'empty'}"
        if self.value in (Mark.MISSING, Mark.NAN):
            return f"{name} is {no}{text(self.value)}"
        return f"{name} {'is not' if self.negative else '='} {text(self.value)}"


@dataclass(frozen=True)
class Nothing(Atom):
    """Has no value, in whatever way that is said."""

    def _order(self) -> int:
        return 2

    def holds(self, value: Cell) -> bool:
        if type(value) is str:
            return not value.strip() or value in TOKENS
        return value in (None, Mark.MISSING, Mark.NAN)

    def text(self, name: str) -> str:
        return f"{name} has no value (null, empty, NA or the like)"


@dataclass(frozen=True)
class Limit(Atom):
    """A number, or the length of a text, that is below the limit; or not below it, if ``least``."""

    limit: float
    least: bool
    length: bool = False

    def _order(self) -> int:
        return 8 if self.length else 5

    def holds(self, value: Cell) -> bool:
        of = _length(value) if self.length else number(value)
        return of is not None and (of >= self.limit if self.least else of < self.limit)

    def each(self, column: Column) -> Flags:
        of = column.lengths if self.length else column.numbers
        return np.asarray(of >= self.limit if self.least else of < self.limit)

    def text(self, name: str) -> str:
        limit = str(int(self.limit)) if self.limit == int(self.limit) and abs(self.limit) < 1e16 else repr(self.limit)
        return f"{'length of ' if self.length else ''}{name} {'>=' if self.least else '<'} {limit}"


@dataclass(frozen=True)
class Reads(Atom):
    """A text that reads as a number; or one that does not, if ``negative``."""

    negative: bool

    def _order(self) -> int:
        return 3

    def holds(self, value: Cell) -> bool:
        return type(value) is str and (number(value) is None) is self.negative

    def text(self, name: str) -> str:
        return f"{name} {'does not read' if self.negative else 'reads'} as a number"


KINDS: dict[str, Callable[[Cell], bool]] = {
    "text": lambda value: type(value) in (str, Long),
    "a number": lambda value: type(value) in (int, float, Decimal) or value is Mark.NAN,
    "true or false": lambda value: value in (Mark.TRUE, Mark.FALSE),
}


@dataclass(frozen=True)
class OfKind(Atom):
    """Of one of the KINDS."""

    kind: str

    def _order(self) -> int:
        return 2

    def holds(self, value: Cell) -> bool:
        return KINDS[self.kind](value)

    def text(self, name: str) -> str:
        return f"{name} is {self.kind}"


TRAITS: dict[str, Callable[[str], bool]] = {
    "contains a letter": lambda value: any(map(str.isalpha, value)),
    "contains a digit": lambda value: any(map(str.isdigit, value)),
    "contains a character that is not ASCII": lambda value: not value.isascii(),
    "contains a character that is not printed": lambda value: not value.isprintable(),
    "begins or ends with a blank": lambda value: value != value.strip(),
}


@dataclass(frozen=True)
class HasTrait(Atom):
    """A text of one of the TRAITS."""

    trait: str

    def _order(self) -> int:
        return 6

    def holds(self, value: Cell) -> bool:
        return type(value) is str and TRAITS[self.trait](value)

    def text(self, name: str) -> str:
        return f"{name} {self.trait}"


@dataclass(frozen=True)
class Contains(Atom):
    """A text that has the character; or one that has not, if ``negative``."""

    character: str
    negative: bool = False

    def _order(self) -> int:
        return 7 if self.negative else 6

    def holds(self, value: Cell) -> bool:
        return type(value) is str and (self.character in value) is not self.negative

    def text(self, name: str) -> str:
        return f"{name} {'does not contain' if self.negative else 'contains'} {text(self.character)}"
