"""Equal rows: those of a DataFrame or an RDD that are found again by their values, where no name tells which they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

from pyspark.sql import Row

from bigdebug.errors import NondeterminismError, UntraceableError
from bigdebug.shown import shown
from bigdebug.spark.rdd.lineage_rdd import LineageRDD
from bigdebug.spark.sql.lineage_frame import LineageFrame

_COMPARED = 10_000
"""Up to so many rows are compared with the records that they are said to be made of."""

_PLAIN = (int, str, bool, bytes, float, Decimal, date)
"""Types of values that createDataFrame leaves as they are."""


def equal_records(trace: LineageRDD, rows: list[Row]) -> Any:
    """The part of a trace over rows as records that has these rows."""
    wanted = frozenset(map(repr, rows))
    found = trace.where(lambda row: repr(row) in wanted)
    _check(Counter(map(repr, found.collect())), Counter(map(repr, rows)), "RDD")
    return found


def equal_rows(trace: LineageFrame, rows: list[Row]) -> LineageFrame:
    """The part of a trace over a result that has these rows."""
    strange = [field.name for field in trace.run.frame.schema.fields if "map<" in field.dataType.simpleString()]
    if strange:
        raise UntraceableError(
            "The rows of an RDD are found in its DataFrame by their values, and Spark compares no maps", value=strange[0],
            remedy="Make the RDD without that column: df.drop(...).rdd.",
        )
    found = trace.equal_to(rows)
    _check(Counter(map(repr, found.collect())), Counter(map(repr, rows)), "DataFrame")
    return found


def check_records(rows: LineageFrame, records: LineageRDD) -> None:
    """Raise NondeterminismError if the RDD does not give what the rows were made of; of many rows nothing is compared."""
    if rows.count() > _COMPARED:
        return
    for row, record in zip(rows.collect(), records.collect(), strict=True):
        fields = getattr(record, "__fields__", record if isinstance(record, Mapping) else None)
        if fields is not None:
            pairs = [(row[name], record[name]) for name in fields if name in row.__fields__]
        else:
            pairs = list(zip(row, record)) if isinstance(record, tuple | list) else []
        if any(type(a) is type(b) and type(a) in _PLAIN and a != b and a == a for a, b in pairs):
            raise NondeterminismError(
                f"The RDD gives {shown(record)} now, and the DataFrame was made of {shown(row)}",
                remedy="Make the DataFrame of an RDD that gives the same each time: rdd.cache(), or functions that draw nothing.",
            )


def _check(found: Counter[str], wanted: Counter[str], where: str) -> None:
    """See that what was found by its values is what was looked for, row by row."""
    if more := found - wanted:
        row = next(iter(more))
        raise NondeterminismError(
            f"{found[row]:,} rows of the {where} are equal to {row[:200]}, the trace names {wanted[row]:,}, and which of them these are is "
            "not known", remedy="Keep a column that tells rows apart, or trace all that are equal: where(row).",
        )
    if less := wanted - found:
        row = next(iter(less))
        raise NondeterminismError(
            f"The {where} gives the row {row[:200]} {found[row]:,} times now, and the trace names {wanted[row]:,}",
            remedy="Keep the DataFrame's rows before they become an RDD, or the other way around: df.localCheckpoint().",
        )
