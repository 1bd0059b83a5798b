"""Fitting: a row that the user gives in the place of another one, in the order of that one's columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql.types import StructType

from bigdebug.errors import ReplayError
from bigdebug.shown import shown


def fitting(row: Any, schema: StructType) -> Any:
    """The row by position, and the rows in it. Where it has names, these count, and have to be those of the columns.

    Raises ReplayError for what is no such row.
    """
    names = schema.names
    own = list(row) if isinstance(row, Mapping) else list(getattr(row, "__fields__", getattr(row, "_fields", ())))
    if own and len({*names}) == len(names):
        if {*own} != {*names}:
            raise ReplayError(f"{shown(row)} has not the columns {', '.join(names)}", remedy="Give a row with these names, or a tuple in their order.")
        values = [row[name] if isinstance(row, Mapping) else row[own.index(name)] for name in names]
    elif not isinstance(row, (tuple, list)) or len(row) != len(names):
        raise ReplayError(f"{shown(row)} is no row of the columns {', '.join(names)}", remedy="Give a Row, a tuple or a dictionary with all of them.")
    else:
        values = list(row)
    kinds = [field.dataType for field in schema.fields]
    return tuple(fitting(value, kind) if isinstance(kind, StructType) and value is not None else value for value, kind in zip(values, kinds, strict=True))
