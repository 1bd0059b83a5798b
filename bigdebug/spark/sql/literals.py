"""Literals: values of Python as SQL writes them. Spark reads a text with thousands of them in the time of one call of the gateway."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from bigdebug.spark.sql.kinds import has, is_floating

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

_MARKS = {"TINYINT": "Y", "SMALLINT": "S", "INT": "", "BIGINT": "L"}
"""What marks the literals of types of whole numbers."""


def literal(value: Any, kind: str) -> Column:
    """A value as Spark has it in a column of a type."""
    return F.expr(sql_of(value, kind))


def sql_of(value: Any, kind: str) -> str:
    """The SQL of a value as Spark has it in a column of a type, whatever the settings of the session.

    PySpark's own literals go through Java's calendar, in which days before 1582 are others, and through the zones of process and
    session, which a time without a zone has nothing to do with, and in which an hour of autumn is there twice.
    """
    if isinstance(value, int) and not isinstance(value, bool) and kind in _MARKS and has(kind, value):
        return f"{value}{_MARKS[kind]}"
    if isinstance(value, int | Decimal) and not isinstance(value, bool) and is_floating(kind):
        value = float(value)  # Spark reads no decimals of more than 38 digits
    if isinstance(value, datetime) and kind == "TIMESTAMP":
        return f"timestamp_micros({(value.astimezone(timezone.utc) - _EPOCH) // timedelta(microseconds=1)}L)"
    plain, of = _plain(value)
    return plain if of == kind else f"CAST({plain} AS {kind})"


def _plain(value: Any) -> tuple[str, str]:
    """The SQL of a value, and what type that is of; none if it is of one that no column is called so."""
    if value is None:
        return "NULL", ""
    if isinstance(value, bool):
        return str(value).upper(), "BOOLEAN"
    if isinstance(value, bytes | bytearray):
        return f"X'{value.hex()}'", "BINARY"
    if isinstance(value, str):
        # What a backslash in quotes means is a setting.
        return f"CAST(X'{value.encode().hex()}' AS STRING)", "STRING"
    if isinstance(value, float):
        return f"CAST('{value!r}' AS DOUBLE)", "DOUBLE"
    if isinstance(value, Decimal):
        return f"{value:f}BD", ""
    if isinstance(value, timedelta):
        return f"make_dt_interval({value.days}, 0, 0, {value.seconds}.{value.microseconds:06})", ""
    if isinstance(value, date):
        return f"'{value}'", ""
    return str(value), ""
