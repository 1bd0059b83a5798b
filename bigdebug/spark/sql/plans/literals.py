"""Literals: values as SQL writes them. Spark reads a text with thousands of them in the time of one call of the gateway."""

from __future__ import annotations

import time
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from bigdebug.spark.sql.plans.kinds import is_floating, may_hold

_EPOCH = datetime(1970, 1, 1)  # of the clock on the wall, in whichever zone

_MARKS = {"TINYINT": "Y", "SMALLINT": "S", "INT": "", "BIGINT": "L"}
"""What marks the literals of types of whole numbers."""


def literal(value: Any, kind: str) -> Column:
    """A value as Spark has it in a column of a type."""
    return F.expr(sql_of(value, kind))


def sqls_of(values: pa.Array, kind: str) -> list[str]:
    """The SQL of each value of an array; also of those that Python has not: text of other bytes than UTF-8's, days after the year 9999."""
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        return ["NULL" if value is None else _cast(*_text(value), kind) for value in values.cast(pa.large_binary()).to_pylist()]
    if pa.types.is_date32(values.type):
        return ["NULL" if days is None else f"date_from_unix_date({days})" for days in values.cast(pa.int32()).to_pylist()]
    return [sql_of(value, kind) for value in values.to_pylist()]


def sql_of(value: Any, kind: str) -> str:
    """The SQL of a value as Spark has it in a column of a type, whatever the settings of the session.

    PySpark's own literals go through Java's calendar, in which days before 1582 are others, and through the zones of process and
    session, which a time without a zone has nothing to do with, and in which an hour of autumn is there twice.
    """
    if isinstance(value, int) and not isinstance(value, bool) and kind in _MARKS and may_hold(kind, value):
        return f"{int(value)}{_MARKS[kind]}"
    if isinstance(value, int | Decimal) and not isinstance(value, bool) and is_floating(kind):
        value = float(value)  # Spark reads no decimals of more than 38 digits
    if isinstance(value, datetime) and kind == "TIMESTAMP":
        return f"timestamp_micros({_micros(value)}L)"
    return _cast(*_plain(value), kind)


def _micros(value: datetime) -> int:
    """Microseconds since 1970. Of the first and last hours that there are, the time in UTC may be in no year of Python's."""
    offset = value.utcoffset()
    if offset is not None:
        return (value.replace(tzinfo=None) - _EPOCH - offset) // timedelta(microseconds=1)
    whole = value.replace(microsecond=0)
    try:
        seconds = int(whole.timestamp())
    except (OverflowError, ValueError):
        seconds = int(time.mktime(whole.timetuple()))
    return seconds * 1_000_000 + value.microsecond


def _cast(plain: str, of: str, kind: str) -> str:
    return plain if of == kind else f"CAST({plain} AS {kind})"


def _text(value: bytes) -> tuple[str, str]:
    return f"CAST(X'{value.hex()}' AS STRING)", "STRING"  # what a backslash in quotes means is a setting


def _plain(value: Any) -> tuple[str, str]:
    """The SQL of a value, and what type that is of; none if it is of one that no column is called so."""
    if value is None:
        return "NULL", ""
    if isinstance(value, bool):
        return str(value).upper(), "BOOLEAN"
    if isinstance(value, bytes | bytearray):
        return f"X'{value.hex()}'", "BINARY"
    if isinstance(value, str):
        return _text(value.encode())
    if isinstance(value, float):
        return f"CAST('{float.__repr__(value)}' AS DOUBLE)", "DOUBLE"
    if isinstance(value, Decimal):
        return f"{value:f}BD", ""
    if isinstance(value, timedelta):
        return f"make_dt_interval({value.days}, 0, 0, {value.seconds}.{value.microseconds:06})", ""
    if isinstance(value, date):
        return f"'{value}'", ""
    return str(int(value)), ""
