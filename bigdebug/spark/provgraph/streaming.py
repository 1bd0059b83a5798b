"""Streaming: the rows of a kept DataFrame as Arrow tables, some partitions' at a time, so that neither Spark's driver nor its results hold them all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.conversion import PandasConversionMixin

from bigdebug.spark.gateway import pruned
from bigdebug.spark.provgraph.kept import kept, let_go
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.plans.catalyst import Catalyst, bounded

_ROWS = 2_000_000
"""Rows that are brought to the driver at once, or thereabouts."""


@contextmanager
def batches(frame: Any) -> Iterator[pa.RecordBatchReader]:
    """Within: the rows of a kept DataFrame, which is let go afterwards."""
    try:
        if max(_counts(frame).values(), default=0) > _ROWS:
            before, frame = frame, kept(frame.repartition(2 * sum(_counts(frame).values()) // _ROWS + 1), "reading provenance")
            let_go(before)
        parts = (batch for table in tables(frame) for batch in table.to_batches())
        yield pa.RecordBatchReader.from_batches(_schema(frame), parts)
    finally:
        let_go(frame)


def tables(frame: Any) -> Iterator[pa.Table]:
    """The rows of a kept DataFrame, or of some of its columns: a job for each two million or, if that is more, each partition. They cross the gateway and no
    file: on a cluster there is no directory that driver and executors share.
    """
    catalyst, schema = Catalyst(frame.sparkSession), _schema(frame)
    rdd, kinds = frame._jdf.queryExecution().toRdd(), frame._jdf.schema()
    counts = _counts(frame)
    if not counts:
        yield schema.empty_table()
    for together in _waves(counts):
        with bounded():
            yield PandasConversionMixin.toArrow(catalyst.of_rdd(pruned(catalyst.jvm, rdd, together), kinds)).cast(schema)


def _schema(frame: Any) -> pa.Schema:
    return PandasConversionMixin.toArrow(frame.limit(0)).schema


def _counts(frame: Any) -> dict[int, int]:
    """How many rows each partition has that has any."""
    return dict(unheard(frame.groupBy(F.spark_partition_id()).agg(F.count(F.lit(1))), "collect"))


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
