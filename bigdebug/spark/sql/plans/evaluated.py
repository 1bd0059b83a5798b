"""Evaluated: an expression over values that this process holds. Spark computes it in the driver: there is no job, and no query that a listener or the SQL page is told of."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import _parse_datatype_json_string

from bigdebug.errors import UntraceableError, ViewError
from bigdebug.spark.sql.plans.builders import try_eval
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr
from bigdebug.spark.sql.plans.rewriting import from_below
from bigdebug.trace.names import array_of

_REPLACED = "org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable"

_WHOLE = (1 << 31) - 1, 1 << 40
"""So many rows, and bytes, of a batch: all of them."""


class Evaluation:
    """An expression over some columns, to be computed of their values again and again: 2 ms, and a microsecond or two a row. Thread-safe."""

    def __init__(self, catalyst: Catalyst, expression: Expr, columns: Sequence[Expr]) -> None:
        """``columns`` are attributes that the expression reads. Raises UntraceableError for one that Spark computes in the tasks of a job alone."""
        c = self._catalyst = catalyst
        self.said = str(expression.sql()).replace("`", "")
        made = from_below(c, expression, lambda part: _evaluable(c, part))
        if c.cannot_compute(made):
            raise UntraceableError(f"{self.said} is computed in the tasks of a job alone", remedy="Compute it of the result.")
        self._kinds = [arrow_type(column) for column in columns]
        self._schema = c.jvm.org.apache.spark.sql.types.StructType().add("value", made.dataType())
        self._projection = c.projection([try_eval(c, made)], columns)
        self._alone = threading.Lock()
        """A projection has one row, which each of its answers is written into."""

    def of(self, values: Sequence[pa.Array]) -> pa.Array:
        """Its value for each row of the columns' values; NULL where it throws. Raises ViewError if Spark's JVM has gone."""
        given = pa.table([array.cast(kind) for array, kind in zip(values, self._kinds, strict=True)], [f"_{number}" for number in range(len(values))])
        try:
            with self._alone, self._catalyst.active():
                parts = [pa.ipc.open_stream(part).read_all() for part in self._computed(_streamed(given))]
        except (Py4JError, OSError) as gone:
            raise ViewError(f"{self.said} is not computed: Spark's JVM does not answer", remedy="Start Spark again, and brush results of the new session.") from gone
        return array_of(pa.concat_tables(parts)["value"]) if parts else pa.nulls(0)

    def _computed(self, stream: bytes) -> list[bytes]:
        c = self._catalyst
        arrow = getattr(getattr(c.jvm.org.apache.spark.sql.execution.arrow, "ArrowConverters$"), "MODULE$")
        rows = arrow.fromBatchWithSchemaIterator(c.seq([stream]).iterator(), None)._1().map(self._projection)
        written = rows, self._schema, *_WHOLE, "UTC", False
        try:
            batches = arrow.toBatchWithSchemaIterator(*written, False)
        except Py4JJavaError:
            raise
        except Py4JError:  # an older Spark does not ask whether texts are Arrow's long ones
            batches = arrow.toBatchWithSchemaIterator(*written)
        return [bytes(part) for part in c.items(batches.toVector())]


def arrow_type(expression: Expr) -> pa.DataType:
    """What Arrow has for the type of an expression. Raises UntraceableError for one that it does not know."""
    kind = expression.dataType()
    try:
        return to_arrow_type(_parse_datatype_json_string(kind.json()), timezone="UTC")
    except PySparkException as unknown:
        raise UntraceableError(f"Values of type {kind.sql()} are not known to Arrow", remedy="Cast them.") from unknown


def _streamed(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table.combine_chunks())
    return bytes(sink.getvalue())


def _evaluable(catalyst: Catalyst, part: Expr) -> Expr:
    """What computes an expression that is but a name for others; of what is used several times, each use."""
    if catalyst.is_a(part, _REPLACED):
        return from_below(catalyst, part.replacement(), lambda below: _evaluable(catalyst, below))
    if part.nodeName() == "With":
        meant: dict[Any, Expr] = {each.id().id(): each.child() for each in catalyst.items(part.defs())}
        return from_below(catalyst, part.child(), lambda below: meant[below.id().id()] if below.nodeName() == "CommonExpressionRef" else below)
    return part
