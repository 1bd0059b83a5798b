"""Computed: of which kind is what pandas computes cell by cell, by the kinds of the cells. What it does of kinds that are not here is not known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bigdebug.actors.plain.kinds import NUMBERS, TEXTS, VALUES, Kind, kind_of_constant, number
from bigdebug.actors.plain.standin import UnknownError


def kind_beside(column: Kind, value: Any) -> Kind:
    """The kind of a constant beside a column: a text beside times is a time."""
    found = kind_of_constant(value)
    return Kind.TIME if column is Kind.TIME and found is Kind.TEXT else found


def filled(kind: Kind, value: Any) -> Kind:
    """The kind of what has a constant in the place of nulls."""
    given = kind_of_constant(value)
    if kind is given or (kind is Kind.FLOAT and given is Kind.INT) or (kind is Kind.MAYBE and given is Kind.BOOL):
        return kind
    if kind is Kind.PART and given is Kind.TEXT:
        return given
    return Kind.OPAQUE if kind is Kind.OPAQUE else Kind.LOOSE


def converted(dtype: Any) -> tuple[Kind, frozenset[Kind]]:
    """The kind of a type, and the kinds of cells that are converted to it one by one. Raises UnknownError."""
    for kind, names in ((Kind.FLOAT, (float, "float", "float64")), (Kind.INT, (int, "int", "int64")), (Kind.TEXT, (str, "str")), (Kind.BOOL, (bool, "bool"))):
        if any(type(dtype) is type(name) and dtype == name for name in names):
            return kind, NUMBERS | TEXTS
    raise UnknownError


def total(one: Kind, other: Kind) -> Kind:
    """Of flags, whether one is set."""
    return Kind.TEXT if TEXTS.issuperset((one, other)) else number(one, other)


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
    """Of integers that are divided, or raised: not ``exact``, by one that may be zero, or less, some may be floats."""

    def kinds(one: Kind, other: Kind) -> Kind:
        found = product(one, other)
        return Kind.LOOSE if found is Kind.INT and not exact else found

    return kinds


def equal(one: Kind, other: Kind) -> Kind:
    """Whether two are the same can be asked of any types but of those of the user."""
    if not {Kind.LOOSE, Kind.MAYBE, Kind.PART}.isdisjoint((one, other)) and Kind.OPAQUE not in (one, other):
        return Kind.BOOL
    return compared(one, other)


def compared(one: Kind, other: Kind) -> Kind:
    """Which one is less, of two of a kind."""
    if not (NUMBERS.issuperset((one, other)) or (one is other and one in VALUES)):
        raise UnknownError
    return Kind.BOOL


def both(one: Kind, other: Kind) -> Kind:
    """Of flags, or of the bits of integers. A null is no flag that is set, whether it is an object's or among flags."""
    if one is other is Kind.INT:
        return one
    if not {one, other} <= {Kind.BOOL, Kind.MAYBE}:
        raise UnknownError
    return Kind.MAYBE if Kind.MAYBE in (one, other) else Kind.BOOL


def loose(*kinds: Kind) -> Kind:
    """What is taken of one cell or of another may be of either type."""
    if Kind.OPAQUE in kinds:
        raise UnknownError
    return Kind.LOOSE
