"""Fitting: a row that the user gives in the place of another one, in the order of that one's columns."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from pyspark.errors import PySparkTypeError, PySparkValueError
from pyspark.sql.types import DataType, DecimalType, FractionalType, StructType, _make_type_verifier

from bigdebug.errors import ReplayError
from bigdebug.shown import shown


def fitting(row: Any, schema: StructType) -> Any:
    """The row by position, and the rows in it. Where it has names, these count, and have to be those of the columns. A whole number is one of a wider type, as in SQL.

    Raises ReplayError for what is no such row, or has values of other types.
    """
    fitted = _by_position(row, schema)
    try:
        _make_type_verifier(schema)(fitted)
    except (PySparkTypeError, PySparkValueError) as problem:
        raise ReplayError(f"{shown(row)} does not fit its columns: {problem.getMessage().rstrip('.')}", remedy=f"They are {schema.simpleString()}.") from problem
    return fitted


def _by_position(row: Any, schema: StructType) -> Any:
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
    return tuple(map(_of_type, values, kinds))


def _of_type(value: Any, kind: DataType) -> Any:
    if isinstance(kind, StructType) and value is not None:
        return _by_position(value, kind)
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value) if isinstance(kind, FractionalType) and not isinstance(kind, DecimalType) else Decimal(value) if isinstance(kind, DecimalType) else value
    return value
