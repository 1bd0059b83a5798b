"""Which table of the workflow an item in a DataFrame is of, as a column: the place of its name, NULL where none is known."""

from __future__ import annotations

import os
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegralType, StringType

from bigdebug.errors import ProvenanceError
from bigdebug.provgraph.membership import Columns, Listed, Prefixes, Ranges
from bigdebug.provgraph.sources import separator_of
from bigdebug.provgraph.workflow import Workflow
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.plans.literals import literal

TABLE = "table"
OTHER, STRANGE = "other", "strange"
"""Of an item that is said to be of two tables the place of the second; and the name of a table that the workflow does not have."""

_WHOLE = "^(0|-?[1-9][0-9]{0,18})$"
"""The one plain way to write an integer."""


def with_tables(items: Any, rows: Any, workflow: Workflow) -> Any:
    """``items``, one a row in the column ``item``, with the places of their tables beside them, and ``OTHER`` and ``STRANGE``.

    ``rows`` have the names of the tables as ``src_table`` and ``dst_table`` where the workflow says that columns do. A list may have items that no triple has.
    Raises ProvenanceError where ranges are given for ids that are texts, or beginnings for integers, and for a list that has no ids.
    """
    told = workflow.items
    if told is None:
        raise ProvenanceError("The workflow does not say which table an item is of", remedy="Workflow.of(edges, items=...) takes that.")
    whole = dict(items.dtypes)["item"] == "bigint"
    if isinstance(told, Ranges | Prefixes) and whole != isinstance(told, Ranges):
        given = "ranges of integers" if isinstance(told, Ranges) else "beginnings of texts"
        raise ProvenanceError(f"Tables are told by {given}, and ids are {'integers' if whole else 'texts'}", remedy="Workflow.of(edges, items=...)")
    if isinstance(told, Ranges):
        return _certain(items, F.expr(_within(told, 0, len(told.tables))))
    if isinstance(told, Prefixes):
        longest = reversed(list(zip(told.prefixes, told.tables)))
        return _certain(items, F.coalesce(*[F.when(F.startswith("item", literal(prefix, "STRING")), table) for prefix, table in longest]))
    if isinstance(told, Columns):
        listed = rows.select(F.explode(F.array(*[F.struct(F.col(end).alias("item"), F.col(f"{end}_table").alias("name")) for end in ("src", "dst")])).alias("one")).select("one.*")
    else:
        listed = _listed(items.sparkSession, told, whole)
        items = items.union(listed.select("item")).distinct()
    place, name = place_of(workflow, F.col("name")), F.col("name")
    known = listed.select("item", place.alias(TABLE), F.when(place.isNull(), name).alias(STRANGE))
    first, last = F.min(TABLE), F.max(TABLE)
    return items.join(known.groupBy("item").agg(first.alias(TABLE), F.when(first < last, last).alias(OTHER), F.max(STRANGE).alias(STRANGE)), "item", "left")


def _certain(items: Any, table: Column) -> Any:
    """Items of which the id tells the table."""
    return items.select("item", table.alias(TABLE), F.lit(None).cast("int").alias(OTHER), F.lit(None).cast("string").alias(STRANGE))


def place_of(workflow: Workflow, name: Column) -> Column:
    """The place of a table that is called so; NULL where there is none."""
    if not workflow.tables:
        return F.lit(None).cast("int")
    places = F.array_position(F.lit(list(workflow.tables)), name) - 1
    return F.when(places >= 0, places.cast("int"))


def _within(told: Ranges, first: int, last: int) -> str:
    """SQL that finds the range which an item is in by bisection."""
    if last - first == 1:
        return f"IF(item BETWEEN {told.firsts[first]}L AND {told.lasts[first]}L, {told.tables[first]}, NULL)"
    middle = (first + last) // 2
    return f"IF(item < {told.firsts[middle]}L, {_within(told, first, middle)}, {_within(told, middle, last)})"


def _listed(spark: Any, told: Listed, whole: bool) -> Any:
    """The list of items and their tables as a DataFrame of ``item`` and ``name``. Raises ProvenanceError for a row that has no id."""
    read = isinstance(told.source, str | os.PathLike)
    source = _read(spark, os.fspath(told.source)) if read else told.source if isinstance(told.source, DataFrame) else spark.createDataFrame(told.source)
    if lost := [name for name in (told.item, told.table) if name not in source.columns]:
        raise ProvenanceError("The list of items and their tables lacks a column", value=lost[0], remedy=f"It has {', '.join(source.columns)}.")
    item, name = (F.col(f"`{column.replace('`', '``')}`") for column in (told.item, told.table))
    kind = source.select(item).schema[0].dataType
    if isinstance(kind, IntegralType) if whole else isinstance(kind, StringType):
        good, found = item.isNotNull(), item.cast("bigint") if whole else F.collate(item, "UTF8_BINARY")
    elif whole and read and isinstance(kind, StringType):
        found = item.try_cast("bigint")
        good = found.isNotNull() & item.rlike(_WHOLE)
    else:
        raise ProvenanceError(
            f"The list has {kind.simpleString()} for items, and ids are {'integers' if whole else 'texts'}", remedy="Make it all texts or all integers, by a cast.",
        )
    for [value] in unheard(source.where(~good).select(item).limit(1), "collect"):
        raise ProvenanceError("A row of the list of items has no id of the kind that the triples have", value=value, remedy="Mend the list.")
    return source.select(found.alias("item"), name.cast("string").alias("name"))


def _read(spark: Any, path: str) -> Any:
    separator = separator_of(path)
    try:
        if separator is None:
            return spark.read.parquet(path)
        return spark.read.csv(path, header=True, sep=separator, multiLine=True, escape='"')
    except (AnalysisException, Py4JJavaError) as problem:
        raise ProvenanceError(f"The list of items and their tables cannot be read: {problem}", value=path, remedy="Give the path of Parquet or CSV files.") from problem
