"""Fingerprints: 128 bits that tell rows apart by the values in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.sql import Column, Window, functions

from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.kinds import has_floating

_NESTED = ("MAP<", "STRUCT<", "ARRAY<", "VARIANT")

_UNWRITTEN = "MAP<BINARY"
"""Keys of bytes, which JSON does not tell."""

_WRITTEN = {
    "ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def fingerprint(catalyst: Catalyst, plan: Node, values: Sequence[Expr], bits: bool = False) -> list[Expr]:
    """Two hashes of some values of the rows of a plan: equal values have equal ones, and with ``bits`` 0.0 and -0.0 others."""
    parts = [part for value in values for part in _told(catalyst, value, bits)]
    hashes = [functions.xxhash64(functions.lit(seed), *parts) for seed in (0, 1)]
    return catalyst.items(catalyst.plan(catalyst.frame(plan).select(*hashes)).expressions())


def numbered(catalyst: Catalyst, plan: Node, told: Sequence[Expr]) -> tuple[Node, Expr]:
    """A plan with a column that numbers rows which are equal in all that is ``told`` of them."""
    mark = catalyst.alias(catalyst.struct(told), "__bigdebug_told")
    plan = catalyst.extended(plan, [mark])
    equal = catalyst.column(mark.toAttribute())
    number = functions.row_number().over(Window.partitionBy(equal).orderBy(equal)).alias("__bigdebug_number")
    plan = catalyst.plan(catalyst.frame(plan).select(*map(catalyst.column, catalyst.items(plan.output())), number))
    return plan, catalyst.items(plan.output())[-1]


def is_written(value: Expr) -> bool:
    """Whether fingerprints tell values of an expression apart that only their bits do."""
    return not any(each in value.dataType().sql() for each in (_UNWRITTEN, "COLLATE", "VARIANT"))


def _told(catalyst: Catalyst, value: Expr, bits: bool) -> Iterator[Column]:
    """Spark's hash leaves NULL out, so its place is told besides; within what is nested, JSON tells it."""
    column, kind = catalyst.column(value), value.dataType().sql()
    if _UNWRITTEN not in kind:
        written = functions.to_json(column, _WRITTEN) if any(each in kind for each in _NESTED) else column
        yield written.cast("string") if bits and has_floating(kind) else written
    yield column.isNull()
