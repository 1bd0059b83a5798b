"""Which table of the workflow an item in a DataFrame is of, as a column: the place of its name, NULL where none is known."""

from __future__ import annotations

import os
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from bigdebug.errors import ProvenanceError
from bigdebug.provgraph.membership import Columns, Listed, Prefixes, Ranges
from bigdebug.provgraph.workflow import Workflow
from bigdebug.spark.sql.literals import literal

TABLE = "table"


def with_tables(items: Any, triples: Any, workflow: Workflow) -> Any:
    """``items``, one a row in the column ``item``, with the places of their tables beside them.

    ``triples`` have the names of the tables as ``src_table`` and ``dst_table`` where the workflow says that columns do. An item of several tables gets
    the first of them. Raises ProvenanceError where ranges are given for ids that are texts, or beginnings for integers.
    """
    told = workflow.items
    if told is None:
        raise ProvenanceError("The workflow does not say which table an item is of", remedy="Workflow.of(edges, items=...) takes that.")
    whole = dict(items.dtypes)["item"] == "bigint"
    if isinstance(told, Ranges | Prefixes) and whole != isinstance(told, Ranges):
        given = "ranges of integers" if isinstance(told, Ranges) else "beginnings of texts"
        raise ProvenanceError(f"Tables are told by {given}, and ids are {'integers' if whole else 'texts'}", remedy="Workflow.of(edges, items=...)")
    if isinstance(told, Ranges):
        return items.withColumn(TABLE, F.expr(_within(told, 0, len(told.tables))))
    if isinstance(told, Prefixes):
        longest = reversed(list(zip(told.prefixes, told.tables)))
        return items.withColumn(TABLE, F.coalesce(*[F.when(F.startswith("item", literal(prefix, "STRING")), table) for prefix, table in longest]))
    if isinstance(told, Columns):
        both = [triples.select(F.col(end).alias("item"), F.col(f"{end}_table").alias("name")) for end in ("src", "dst")]
        listed = both[0].union(both[1])
    else:
        listed = _listed(items.sparkSession, told)
    places = listed.select(F.col("item").cast(items.schema["item"].dataType), place_of(workflow, F.col("name")).alias(TABLE))
    return items.join(places.where("item is not null").groupBy("item").agg(F.min(TABLE).alias(TABLE)), "item", "left")


def place_of(workflow: Workflow, name: Column) -> Column:
    """The place of a table that is called so; NULL where there is none."""
    places = F.array_position(F.lit(list(workflow.tables)), name) - 1
    return F.when(places >= 0, places.cast("int"))


def _within(told: Ranges, first: int, last: int) -> str:
    """SQL that finds the range which an item is in by bisection."""
    if last - first == 1:
        return f"IF(item BETWEEN {told.firsts[first]}L AND {told.lasts[first]}L, {told.tables[first]}, NULL)"
    middle = (first + last) // 2
    return f"IF(item < {told.firsts[middle]}L, {_within(told, first, middle)}, {_within(told, middle, last)})"


def _listed(spark: Any, told: Listed) -> Any:
    """The list of items and their tables as a DataFrame."""
    source = told.source
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        source = spark.read.csv(path, header=True) if path.lower().endswith((".csv", ".csv.gz")) else spark.read.parquet(path)
    elif not isinstance(source, DataFrame):
        source = spark.createDataFrame(source)
    if lost := [name for name in (told.item, told.table) if name not in source.columns]:
        raise ProvenanceError("The list of items and their tables lacks a column", value=lost[0], remedy=f"It has {', '.join(source.columns)}.")
    return source.select(F.col(f"`{told.item}`").alias("item"), F.col(f"`{told.table}`").alias("name"))
