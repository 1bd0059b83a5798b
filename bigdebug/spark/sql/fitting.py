"""Fitting: a row that the user gives in the place of another one, in the order of that one's columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bigdebug.errors import ReplayError
from bigdebug.shown import shown


def fitting(row: Any, names: Sequence[str]) -> Any:
    """The row by position. Where it has names, these count, and have to be those of the columns. Raises ReplayError for what is no such row."""
    own = list(row) if isinstance(row, Mapping) else list(getattr(row, "__fields__", ()))
    if own and len({*names}) == len(names):
        if {*own} != {*names}:
            raise ReplayError(f"{shown(row)} has not the columns {', '.join(names)}", remedy="Give a row with these names, or a tuple in their order.")
        return tuple(row[name] for name in names)
    if not isinstance(row, (tuple, list)) or len(row) != len(names):
        raise ReplayError(f"{shown(row)} is no row of the columns {', '.join(names)}", remedy="Give a Row, a tuple or a dictionary with all of them.")
    return tuple(row)
