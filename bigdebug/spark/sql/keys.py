"""Keys: the condition that finds the rows of chosen names again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta, timezone
from operator import and_, or_
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from bigdebug.spark.sql.catalyst import Catalyst, Expr, Node

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

_SPELLED = 50
"""Up to so many keys of several columns are spelled out in a condition; more are joined."""

_LISTED = 10_000
"""Up to so many values of a column are listed, for the sources to skip what cannot match."""


def restricted(catalyst: Catalyst, plan: Node, parts: Sequence[Expr], fields: Sequence[pa.Array]) -> Node:
    """The rows of ``plan`` in which ``parts`` are a row of ``fields``, an array for each part."""
    frame = catalyst.frame(plan)
    columns = [catalyst.column(part) for part in parts]
    kinds = [part.dataType().sql() for part in parts]
    for column, field, kind in zip(columns, fields, kinds):
        if _plain(field.type) and len(values := field.unique()) <= _LISTED:
            frame = frame.filter(_listed(column, values, kind))
    if len(parts) > 1 or not _plain(fields[0].type) or len(fields[0]) > _LISTED:
        if len(fields[0]) <= _SPELLED and all(_plain(field.type) for field in fields):
            rows = [[column.eqNullSafe(literal(v, kind)) for column, v, kind in zip(columns, row, kinds)] for row in _rows(fields)]
            frame = frame.filter(any_of([all_of(row) for row in rows]))
        else:
            frame = _joined(catalyst, frame, columns, fields, kinds)
    return catalyst.plan(frame)


def all_of(conditions: Sequence[Column]) -> Column:
    """All of some conditions. By halves: a deep tree overflows Spark's stack."""
    return _by_halves(and_, conditions)


def any_of(conditions: Sequence[Column]) -> Column:
    return _by_halves(or_, conditions)


def _by_halves(both: Callable[[Column, Column], Column], conditions: Sequence[Column]) -> Column:
    if len(conditions) == 1:
        return conditions[0]
    middle = len(conditions) // 2
    return both(_by_halves(both, conditions[:middle]), _by_halves(both, conditions[middle:]))


def _rows(fields: Sequence[pa.Array]) -> list[tuple[Any, ...]]:
    return list(zip(*(field.to_pylist() for field in fields)))


def _listed(column: Column, values: pa.Array, kind: str) -> Column:
    present = values.drop_null()
    listed = [literal(v, kind) for v in present.to_pylist()]
    found = column == listed[0] if len(listed) == 1 else column.isin(listed)
    if len(present) == len(values):
        return found
    return column.isNull() | found if listed else column.isNull()


def literal(value: Any, kind: str) -> Column:
    """A value as Spark has it in a column of a type.

    PySpark's own literals go through Java's calendar, in which days before 1582 are others, and through the zones of process and
    session, which a time without a zone has nothing to do with, and in which an hour of autumn is there twice.
    """
    if isinstance(value, datetime):
        if kind == "TIMESTAMP":
            return F.timestamp_micros(F.lit((value.astimezone(timezone.utc) - _EPOCH) // timedelta(microseconds=1)))
        value = value.isoformat(sep=" ")
    elif isinstance(value, date):
        value = value.isoformat()
    return F.lit(value).cast(kind)


def _joined(catalyst: Catalyst, frame: Any, columns: Sequence[Column], fields: Sequence[pa.Array], kinds: Sequence[str]) -> Any:
    names = [f"__bigdebug_key_{i}" for i in range(len(fields))]
    keys = frame_of(catalyst, fields, names, kinds)
    matches = all_of([column.eqNullSafe(keys[name]) for column, name in zip(columns, names)])
    return frame.join(F.broadcast(keys) if len(fields[0]) < 1_000_000 else keys, matches, "left_semi")


def frame_of(catalyst: Catalyst, fields: Sequence[pa.Array], names: Sequence[str], kinds: Sequence[str]) -> Any:
    """Arrays as a DataFrame with columns of these types: Arrow's own would make a time of some zone of one without."""
    schema = ", ".join(f"{name} {kind}" for name, kind in zip(names, kinds))
    return catalyst.spark.createDataFrame(pa.table(list(fields), list(names)), schema)


def _plain(kind: pa.DataType) -> bool:
    """True for types whose values are written as literals, exactly."""
    types = pa.types
    return bool(
        types.is_integer(kind) or types.is_string(kind) or types.is_large_string(kind) or types.is_boolean(kind)
        or types.is_decimal(kind) or types.is_date(kind) or types.is_floating(kind)
    )
