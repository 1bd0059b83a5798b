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

PORTION = 1 << 26
"""Bytes of rows that are brought to the driver at once, or thereabouts, where nobody says how many may be."""

_CELL = 8
"""Bytes of a number, and of where a text ends."""


@contextmanager
def batches(frame: Any, portion: int = PORTION) -> Iterator[pa.RecordBatchReader]:
    """Within: the rows of a kept DataFrame, which is let go afterwards; the driver holds ``portion`` bytes of them at a time, or thereabouts."""
    try:
        weights = _weights(frame)
        if max(weights.values(), default=0) > portion:
            before, frame = frame, kept(frame.repartition(2 * sum(weights.values()) // portion + 1), "reading provenance")
            let_go(before)
        yield pa.RecordBatchReader.from_batches(_schema(frame), _one_by_one(tables(frame, portion)))
    finally:
        let_go(frame)


def tables(frame: Any, portion: int = PORTION) -> Iterator[pa.Table]:
    """The rows of a kept DataFrame, or of some of its columns: a job for each ``portion`` bytes or, if that is more, each partition. They cross the gateway and
    no file: on a cluster there is no directory that driver and executors share.
    """
    catalyst, schema = Catalyst(frame.sparkSession), _schema(frame)
    rdd, kinds = frame._jdf.queryExecution().toRdd(), frame._jdf.schema()
    weights = _weights(frame)
    if not weights:
        yield schema.empty_table()
    for together in _waves(weights, portion):
        with bounded():
            yield PandasConversionMixin.toArrow(catalyst.of_rdd(pruned(catalyst.jvm, rdd, together), kinds)).cast(schema)


def _one_by_one(some: Iterator[pa.Table]) -> Iterator[pa.RecordBatch]:
    """The batches of tables, of which none is held any more when the next one is brought."""
    for table in some:
        left = table.to_batches()[::-1]
        del table
        while left:
            yield left.pop()


def _schema(frame: Any) -> pa.Schema:
    return PandasConversionMixin.toArrow(frame.limit(0)).schema


def _weights(frame: Any) -> dict[int, int]:
    """How many bytes the rows of each partition take that has any."""
    texts = [F.coalesce(F.octet_length(name), F.lit(0)) for name, kind in frame.dtypes if kind == "string"]
    row = sum(texts, F.lit(_CELL * len(frame.columns)))
    return dict(unheard(frame.groupBy(F.spark_partition_id()).agg(F.sum(row)), "collect"))


def _waves(weights: dict[int, int], portion: int) -> Iterator[list[int]]:
    """The partitions that have rows, as many together as may be brought at once."""
    wave: list[int] = []
    held = 0
    for partition in sorted(weights):
        if wave and held + weights[partition] > portion:
            yield wave
            wave, held = [], 0
        wave.append(partition)
        held += weights[partition]
    if wave:
        yield wave
