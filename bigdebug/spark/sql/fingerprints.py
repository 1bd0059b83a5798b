"""Fingerprints: 128 bits that tell rows apart by the values in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import Column, functions

from bigdebug.spark.sql.catalyst import Catalyst, Expr, Node

_NESTED = ("MAP<", "STRUCT<", "ARRAY<", "VARIANT")

_UNWRITTEN = "MAP<BINARY"
"""Keys of bytes, which JSON does not tell."""

_WRITTEN = {
    "ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def fingerprint(catalyst: Catalyst, plan: Node, values: Sequence[Expr]) -> list[Expr]:
    """Two hashes of some values of the rows of a plan: equal values have equal ones."""
    parts = [part for value in values for part in _told(catalyst, value)]
    hashes = [functions.xxhash64(functions.lit(seed), *parts) for seed in (0, 1)]
    return catalyst.items(catalyst.plan(catalyst.frame(plan).select(*hashes)).expressions())


def _told(catalyst: Catalyst, value: Expr) -> Iterator[Column]:
    """Spark's hash leaves NULL out, so its place is told besides; within what is nested, JSON tells it."""
    column, kind = catalyst.column(value), value.dataType().sql()
    if _UNWRITTEN not in kind:
        yield functions.to_json(column, _WRITTEN) if any(each in kind for each in _NESTED) else column
    yield column.isNull()
