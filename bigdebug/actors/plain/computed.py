"""Computed: of which kind is what pandas computes cell by cell, by the kinds of the cells. What it does of kinds that are not here is not known: it hangs on other rows, or on code of the user's."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Any

from bigdebug.actors.plain.kinds import NUMBERS, TEXTS, VALUES, Kind, kind_of_constant
from bigdebug.actors.plain.standin import UnknownError

_ALIKE = {
    Kind.INT: frozenset((Kind.INT,)), Kind.COUNT: frozenset((Kind.INT,)), Kind.FLOAT: frozenset((Kind.INT, Kind.FLOAT)), Kind.TEXT: frozenset((Kind.TEXT,)), Kind.PART: frozenset((Kind.TEXT,)),
}
"""Of which kinds constants are that cells are looked for among."""

_DAY = re.compile(r"\d{4}-\d{1,2}-\d{1,2}")


def number(*kinds: Kind) -> Kind:
    """What numbers of these kinds are together. Raises UnknownError if one is none."""
    if not NUMBERS.issuperset(kinds):
        raise UnknownError
    return next(kind for kind in (Kind.FLOAT, Kind.INT, Kind.BOOL) if kind in kinds)


def kind_beside(columns: Collection[Kind], value: Any) -> Kind:
    """The kind of a constant beside columns: a text that is a day is a time beside times."""
    found = kind_of_constant(value)
    if found is Kind.TEXT and Kind.TIME in columns:
        if not _DAY.match(value):  # "now", and an hour alone, ask the clock
            raise UnknownError
        return Kind.TIME
    return found


def filled(kind: Kind, value: Any) -> Kind:
    """The kind of what has a constant in the place of nulls. Raises UnknownError."""
    given = kind_of_constant(value)
    if kind in (Kind.BOOL, Kind.INT) or (kind is Kind.FLOAT and given in (Kind.INT, Kind.FLOAT)) or (kind is Kind.MAYBE and given is Kind.BOOL):
        return kind
    if kind is Kind.COUNT and given is Kind.INT:
        return kind
    if kind in TEXTS and given is Kind.TEXT:
        return Kind.TEXT
    if kind is Kind.TEXT:
        return Kind.LOOSE
    raise UnknownError


def converted(dtype: Any, kind: Kind, of_input: bool) -> Kind:
    """The kind of what is converted to a type cell by cell. Of a null, a text says which one it is, and that is known of a column of the input alone. Raises UnknownError."""
    if dtype in (float, "float", "float64") and kind in NUMBERS | TEXTS | {Kind.COUNT}:
        return Kind.FLOAT
    if dtype in (int, "int", "int64") and kind in NUMBERS | TEXTS | {Kind.COUNT}:
        return Kind.INT
    if dtype in (str, "str") and (kind in NUMBERS or (kind is Kind.TEXT and of_input)):
        return Kind.TEXT
    if dtype in (bool, "bool") and kind in NUMBERS:
        return Kind.BOOL
    raise UnknownError


def among(kind: Kind, values: Collection[Any]) -> Kind:
    """Whether a cell is among constants of its kind. Raises UnknownError."""
    if kind not in _ALIKE or not _ALIKE[kind].issuperset(map(kind_of_constant, values)):
        raise UnknownError
    return Kind.BOOL


def mapped(kind: Kind, table: Any) -> Kind:
    """The kind of what a dictionary has for each cell. Raises UnknownError where its keys are of another kind than the cells, or its values of several."""
    keys, values = ({kind_of_constant(each) for each in some} for some in (table, table.values()))
    if keys != {Kind.TEXT if kind in TEXTS else kind} or kind not in TEXTS | {Kind.INT} or len(values) != 1:
        raise UnknownError
    (value,) = values
    return {Kind.TEXT: Kind.TEXT, Kind.FLOAT: Kind.FLOAT, Kind.INT: Kind.COUNT, Kind.BOOL: Kind.MAYBE}[value]


def total(one: Kind, other: Kind) -> Kind:
    """Of flags, whether one is set."""
    if TEXTS.issuperset((one, other)):
        return one if one is other else Kind.TEXT
    return number(one, other)


def product(one: Kind, other: Kind) -> Kind:
    """Of numbers, which are not both flags; their difference, too."""
    found = number(one, other)
    if found is Kind.BOOL:
        raise UnknownError
    return found


def quotient(one: Kind, other: Kind) -> Kind:
    """Floats always."""
    product(one, other)
    return Kind.FLOAT


def integral(exact: bool) -> Callable[[Kind, Kind], Kind]:
    """Of numbers that are divided, or raised; some of integers may be floats where it is not ``exact``: by one that may be zero, or less. (The square of flags has 8 bits.)"""

    def kinds(one: Kind, other: Kind) -> Kind:
        found = product(one, other)
        if Kind.BOOL in (one, other) or (found is Kind.INT and not exact):
            raise UnknownError
        return found

    return kinds


def compared(one: Kind, other: Kind) -> Kind:
    """Which one is less, or whether they are the same, of two of a kind."""
    kinds = {one, other}
    if not (kinds <= NUMBERS or kinds <= TEXTS or kinds <= {Kind.COUNT, Kind.FLOAT} or (one is other and one in VALUES)):
        raise UnknownError
    return Kind.BOOL


def both(one: Kind, other: Kind) -> Kind:
    """Of flags, or of the bits of integers. A null is no flag that is set, whether it is an object's or among flags."""
    if one is other is Kind.INT:
        return one
    if not {one, other} <= {Kind.BOOL, Kind.MAYBE}:
        raise UnknownError
    return Kind.MAYBE if Kind.MAYBE in (one, other) else Kind.BOOL


def cut(kind: Kind, bounds: Collection[Any]) -> Kind:
    """Numbers that are not beyond constants of their kind."""
    among(rounded(kind), bounds)
    return kind


def inverted(kind: Kind) -> Kind:
    """Of flags among nulls, which are objects, it is no flag."""
    if kind not in (Kind.BOOL, Kind.INT):
        raise UnknownError
    return kind


def chosen(one: Kind, _: Kind, *other: Kind) -> Kind:
    """What is a cell where a flag is set, and else another one, or a null."""
    if one is Kind.FLOAT and {*other} <= {Kind.FLOAT, Kind.INT}:
        return one
    if one in (Kind.TEXT, Kind.INT) and {*other} <= {one} and (other or one is Kind.TEXT):
        return one
    if one is Kind.TIME and not other:
        return one
    raise UnknownError


def either(_: Kind, one: Kind, other: Kind) -> Kind:
    """What ``np.where`` gives, which finds one type for both by their types."""
    return one if one is other is Kind.TEXT else number(one, other)


def rounded(kind: Kind) -> Kind:
    """Of numbers that are no flags: what they are without their fractions, or signs."""
    if kind not in (Kind.INT, Kind.FLOAT):
        raise UnknownError
    return kind


def null(kind: Kind) -> Kind:
    """Whether a cell is a null: objects of the user's are asked for that."""
    if kind is Kind.FOREIGN:
        raise UnknownError
    return Kind.BOOL
