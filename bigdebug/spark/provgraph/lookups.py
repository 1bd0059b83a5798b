"""Lookups: rows of a DataFrame by values of a column. They are held in the order of that column, so that a lookup skips what cannot match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import functions as F
from pyspark.sql.pandas.conversion import PandasConversionMixin

from bigdebug.errors import TooLargeError
from bigdebug.spark.bars import counted
from bigdebug.spark.process import alive
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.keys import by_halves
from bigdebug.spark.sql.plans.catalyst import bounded
from bigdebug.spark.sql.plans.literals import sqls_of

MOST = 2_000_000
"""Rows of a question's that the driver takes."""

_TOGETHER = 10
"""Values of one IN: Spark knows of the batches of rows that it holds the smallest and the largest value, and looks at no more values than these by it."""

_LISTED = 200
"""Values that are listed; more are joined."""


def held(frame: Any, key: str, order: Sequence[str], partitions: int) -> Any:
    """The rows of a kept DataFrame, hash-partitioned by ``key`` and in an ``order`` within, in Spark's cache: in memory, on disk what memory does not take.

    One job. ``forget`` lets it go; the cache of the user's own tables is another.
    """
    found = frame.repartition(partitions, key).sortWithinPartitions(*order).persist(StorageLevel.MEMORY_AND_DISK)
    with counted(frame.sparkSession.sparkContext, "provenance"):
        unheard(found, "count")
    return found


def forget(frame: Any) -> None:
    """Lets go of what ``held`` gave, if Spark has not done so with all else."""
    if alive(frame.sparkSession.sparkContext):
        frame.unpersist()


def among(frame: Any, column: str, values: pa.Array) -> Any:
    """The rows with one of some values, ids as items have them, in a column."""
    if not len(values):
        return frame.where("false")
    kind = {"bigint": "BIGINT", "string": "STRING"}[dict(frame.dtypes)[column]]
    if len(values) > _LISTED or values.nbytes > 1 << 20:
        wanted = frame.sparkSession.createDataFrame(pa.table({column: values}), f"{column} {kind}")
        # A join by name puts that column first.
        return frame.join(F.broadcast(wanted) if values.nbytes < 1 << 26 else wanted, column, "left_semi").select(*frame.columns)
    texts = sqls_of(values.sort(), kind)
    lists = [f"{column} IN ({', '.join(texts[at : at + _TOGETHER])})" for at in range(0, len(texts), _TOGETHER)]
    return frame.where(by_halves("({} OR {})".format, lists))


def fetched(frame: Any, most: int) -> pa.Table | None:
    """The rows of a DataFrame, in the driver; None if there are more than ``most``. One job.

    Raises TooLargeError if they are more than Spark lets the driver take.
    """
    with bounded(), counted(frame.sparkSession.sparkContext, "provenance"):
        # The limit of each partition, and a shuffle of what these leave to one for the limit of all: one job, as Spark's own way to limit is not.
        found = PandasConversionMixin.toArrow(frame.limit(most + 1))
    return found if found.num_rows <= most else None


def few(frame: Any, most: int) -> pa.Table | None:
    """``fetched``; also None if Spark does not let the driver take them: ids may be long."""
    try:
        return fetched(frame, most)
    except TooLargeError:
        return None


def ids_in(column: pa.ChunkedArray) -> pa.Array:
    """The ids in a column, each once."""
    return column.combine_chunks().unique() if isinstance(column, pa.ChunkedArray) else column.unique()
