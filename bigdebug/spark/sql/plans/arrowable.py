"""Arrowable: types as Arrow takes them. The keys of ``map()`` are of a type that has NULL alone, and no key of Arrow's may be NULL: there are none, so they may as well be texts."""

from __future__ import annotations

from pyspark.sql.types import ArrayType, DataType, MapType, NullType, StringType, StructField, StructType


def arrowable(kind: DataType) -> DataType:
    """The type to which columns are cast before PySpark's ``toArrow`` takes them; itself, if it does."""
    if isinstance(kind, MapType):
        key, value = StringType() if isinstance(kind.keyType, NullType) else arrowable(kind.keyType), arrowable(kind.valueType)
        return kind if key is kind.keyType and value is kind.valueType else MapType(key, value, kind.valueContainsNull)
    if isinstance(kind, ArrayType):
        element = arrowable(kind.elementType)
        return kind if element is kind.elementType else ArrayType(element, kind.containsNull)
    if isinstance(kind, StructType):
        fields = [arrowable(field.dataType) for field in kind.fields]
        if all(now is field.dataType for now, field in zip(fields, kind.fields)):
            return kind
        return StructType([StructField(field.name, now, field.nullable, field.metadata) for now, field in zip(fields, kind.fields)])
    return kind
