"""Streaming: the rows of a kept DataFrame as Arrow batches, some partitions' at a time, so that the driver never holds them all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.conversion import PandasConversionMixin

from bigdebug.spark.gateway import pruned
from bigdebug.spark.provgraph.kept import kept, let_go
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.catalyst import Catalyst, bounded

_ROWS = 2_000_000
"""Rows that are brought to the driver at once, or thereabouts."""


def batches(frame: Any) -> pa.RecordBatchReader:
    """The rows of a kept DataFrame, which is let go at their end. A job for each two million, which crosses the gateway and no file: on a cluster
    there is no directory that driver and executors share.
    """
    catalyst = Catalyst(frame.sparkSession)
    rows = dict(unheard(frame.groupBy(F.spark_partition_id()).agg(F.count(F.lit(1))), "collect"))
    if max(rows.values(), default=0) > _ROWS:
        before, frame = frame, kept(frame.repartition(2 * sum(rows.values()) // _ROWS + 1), "reading provenance")
        let_go(before)
        rows = dict(unheard(frame.groupBy(F.spark_partition_id()).agg(F.count(F.lit(1))), "collect"))
    schema = PandasConversionMixin.toArrow(frame.limit(0)).schema
    return pa.RecordBatchReader.from_batches(schema, _each(catalyst, frame, rows, schema))


def _each(catalyst: Catalyst, frame: Any, rows: dict[int, int], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    execution = frame._jdf.queryExecution()
    rdd, kinds = execution.toRdd(), frame._jdf.schema()
    for together in _waves(rows):
        with bounded():
            table = PandasConversionMixin.toArrow(catalyst.of_rdd(pruned(catalyst.jvm, rdd, together), kinds))
        yield from table.cast(schema).to_batches()
    let_go(frame)


def _waves(rows: dict[int, int]) -> Iterator[list[int]]:
    """The partitions that have rows, as many together as there may be rows."""
    wave: list[int] = []
    count = 0
    for partition in sorted(rows):
        if wave and count + rows[partition] > _ROWS:
            yield wave
            wave, count = [], 0
        wave.append(partition)
        count += rows[partition]
    if wave:
        yield wave
