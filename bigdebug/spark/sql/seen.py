"""Seen: the columns that a program saw, as they are kept, so that who opens what was saved sees the same without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.conversion import LocalDataToArrowConversion
from pyspark.sql.types import StructField, StructType

from bigdebug.shown import shown
from bigdebug.spark.sql.leaf import Leaf
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.trace.clock import zone_here
from bigdebug.trace.fields import Fields, fits, holds, is_sparks
from bigdebug.trace.names import array_of

_FROM_ELSEWHERE = ("EXISTS_DEFAULT", "parquet.field.id", "__CHAR_VARCHAR_TYPE_STRING")
"""What is noted of a column whose values are not those that a file has under its name."""


def columns_of(rows: Sequence[Any], schema: StructType) -> list[pa.Array]:
    """Rows as PySpark gives them, by columns."""
    return [_column([row[i] for row in rows], field.dataType) for i, field in enumerate(schema.fields)]


def _column(values: list[Any], kind: Any) -> pa.Array:
    try:
        if is_sparks(kind.jsonValue()):
            return _texts(values)
        schema = StructType([StructField("c", kind._as_nullable())])
        return array_of(LocalDataToArrowConversion.convert([(value,) for value in values], schema, False)["c"])
    except Exception:  # a type of the user's, or a value that Arrow has not: its text will do
        return _texts(values)


def _texts(values: list[Any]) -> pa.Array:
    return pa.array([None if value is None else shown(value) for value in values], pa.large_string())


def seen(schema: StructType, columns: Sequence[pa.Array]) -> Fields:
    """The fields of rows, by columns; of values that Arrow has not no type is known, and of those of Spark's own classes its name."""
    zone = zone_here()
    return Fields(tuple(map(str, schema.names)), tuple(_kept(field, zone, column) for field, column in zip(schema.fields, columns, strict=True)), zone)


def _kept(field: StructField, zone: str, column: pa.Array) -> Any:
    if is_sparks(field.dataType.jsonValue()):
        return field.dataType.simpleString()
    kind = _kind(field, zone)
    return kind if kind is not None and fits(column.type, kind) else None


def _kind(field: StructField, zone: str) -> Any:
    """The type of a column; None where its values hang on a clock that no other machine has."""
    kind = field.dataType.jsonValue()
    return None if not zone and holds(kind, ("timestamp",)) else kind


def read_as(catalyst: Catalyst, leaf: Leaf, reader: Any) -> Fields | None:
    """The columns that a source's name shows, with the names that they have in its files; None where something else than these files says what is in them."""
    if reader is None:
        return None
    own = {column.exprId().id() for column in catalyst.items(leaf.node.output())}
    columns = leaf.columns(catalyst)
    if any(column.exprId().id() not in own for column in columns):
        return None  # a view computes them
    try:
        schema = catalyst.frame(leaf.rows(catalyst)).schema
    except PySparkException:  # a type that PySpark does not know
        return None
    parts = set(reader.partitionSchema().fieldNames())
    zone = zone_here()
    kinds = [_kind(field, zone) for field in schema.fields]
    strange = any(kind is None or field.name in parts or any(mark in field.metadata for mark in _FROM_ELSEWHERE) for kind, field in zip(kinds, schema.fields))
    return None if strange else Fields(tuple(schema.names), tuple(kinds), zone)
