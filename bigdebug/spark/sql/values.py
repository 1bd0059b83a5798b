"""Values: the rows of a plan that have values which the user gives."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import filterfalse
from math import isfinite
from typing import Any

import numpy as np
import pandas as pd
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from bigdebug.errors import UnknownColumnError
from bigdebug.shown import shown
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.keys import all_of
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.kinds import (
    ABSOLUTE,
    RELATIVE,
    has_name,
    is_comparable,
    is_floating,
    is_map,
    is_text,
    is_usual,
    may_hold,
)
from bigdebug.spark.sql.plans.literals import literal

_SIMPLE = (bool, int, float, str, bytes, Decimal, date, timedelta)
"""Types of values that are written into a query, so that sources can skip what has others; the rest are joined."""


def having(catalyst: Catalyst, frame: DataFrame, pairs: Sequence[tuple[Expr, Any]]) -> DataFrame:
    """The rows that have these values in these columns.

    Raises UnknownColumnError for a column whose values are never equal, and for a value that is none of its column's type.
    """
    hard: list[tuple[Expr, Any, str]] = []
    simple = [F.lit(True)]
    for column, given in pairs:
        kind, value = column.dataType().sql(), _of_python(given)
        if value is None:
            simple.append(catalyst.column(column).isNull())
        elif not has_name(kind) or not (is_comparable(kind) or is_map(kind)):
            why = "Spark compares no values like those of" if has_name(kind) else "SQL has no name for the type of"
            raise UnknownColumnError(
                f"{why} {column.name()}, {kind.lower()}", remedy="Say where() without it, as SQL or with some of the columns.",
            )
        elif not isinstance(value, _SIMPLE):
            hard.append((column, value, kind))
        elif not may_hold(kind, value):
            simple.append(F.lit(False))
        else:
            simple.append(_equals(catalyst, column, value, kind))
    frame = frame.filter(all_of(simple))
    for column, value, kind in hard:
        try:
            one = catalyst.spark.createDataFrame([(value,)], f"value {kind}")
        except (PySparkException, TypeError, ValueError, AttributeError):
            raise _not_of(column.name(), kind, value) from None
        same = _ordered(catalyst.column(column), kind).eqNullSafe(_ordered(one["value"], kind))
        frame = frame.join(F.broadcast(one), same, "left_semi")
    return frame


def nearly(catalyst: Catalyst, frame: DataFrame, pairs: Sequence[tuple[Expr, Any]]) -> DataFrame | None:
    """The rows with these values, where sums of floating point may have come out a little otherwise in another order; None if
    there are none among them.
    """
    def is_sum(pair: tuple[Expr, Any]) -> bool:
        return isinstance(pair[1], float) and isfinite(pair[1]) and is_floating(pair[0].dataType().sql())

    sums = list(filter(is_sum, pairs))
    found = having(catalyst, frame, list(filterfalse(is_sum, pairs)))
    for column, value in sums:
        found = found.filter(F.abs(catalyst.column(column) - float(value)) <= max(abs(float(value)) * RELATIVE, ABSOLUTE))
    return found if sums else None


def equal_rows(catalyst: Catalyst, plan: Node, columns: Sequence[Expr], rows: Sequence[Row], schema: StructType) -> Node:
    """The rows of ``plan`` that are equal to one of ``rows`` in ``columns``, which are as ``schema`` says."""
    fields = [StructField(f"_{i}", field.dataType) for i, field in enumerate(schema.fields)]
    given = catalyst.spark.createDataFrame([tuple(row) for row in rows], StructType(fields))
    known = [catalyst.column(column) for column in columns]
    matches = [column.eqNullSafe(given[field.name]) for column, field in zip(known, fields)]
    return catalyst.plan(catalyst.frame(plan).join(F.broadcast(given), all_of(matches), "left_semi"))


def _of_python(value: Any) -> Any:
    """A value of Python's for one that numpy or pandas has taken out of an array."""
    if value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, np.datetime64):
        return _of_python(pd.Timestamp(value))
    if isinstance(value, np.timedelta64):
        return _of_python(pd.Timedelta(value))
    if isinstance(value, pd.Timestamp):
        return value if value.nanosecond else value.to_pydatetime()
    if isinstance(value, pd.Timedelta):
        return value if value.nanoseconds else value.to_pytimedelta()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else value


def _ordered(values: Column, kind: str) -> Column:
    """Maps as their entries in order: Spark compares those."""
    return F.array_sort(F.map_entries(values)) if is_map(kind) else values


def _equals(catalyst: Catalyst, column: Expr, value: Any, kind: str) -> Column:
    zoned = isinstance(value, datetime) and value.tzinfo is not None and kind in ("DATE", "TIMESTAMP_NTZ")
    if zoned or (is_text(kind) and not isinstance(value, str)):
        raise _not_of(column.name(), kind, value)
    if not is_usual(kind, value):
        try:
            [cast] = unheard(catalyst.spark.range(1).select(F.lit(value).try_cast(kind).isNotNull()), "collect")
        except PySparkException:
            raise _not_of(column.name(), kind, value) from None
        if not cast[0]:
            raise _not_of(column.name(), kind, value)
    return catalyst.column(column).eqNullSafe(literal(value, kind))


def _not_of(name: str, kind: str, value: Any) -> UnknownColumnError:
    return UnknownColumnError(f"{name} is of type {kind.lower()}, and {shown(value)} is no such value", remedy="Give a value of that type.")
