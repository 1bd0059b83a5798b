"""Triples of a user's DataFrame: columns as provenance graphs have them, whatever they are called and of whichever types ids are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, IntegralType, NullType, StringType

from bigdebug.errors import ProvenanceError
from bigdebug.provgraph.membership import Columns
from bigdebug.provgraph.triples import names_of
from bigdebug.provgraph.workflow import Workflow
from bigdebug.spark.provgraph.kept import kept
from bigdebug.spark.provgraph.tables import with_tables
from bigdebug.spark.sql.plans.catalyst import Catalyst

_ROWS = 500_000
"""Triples that one partition has, or thereabouts."""


def read(frame: Any, names: Sequence[str | None] = ("src", "dst", "op"), workflow: Workflow | None = None) -> Any:
    """The triples of a DataFrame as they are now: kept, so that what they come from is read once. As ``triples_of`` otherwise."""
    return kept(triples_of(frame, names, workflow), "reading provenance")


def triples_of(frame: Any, names: Sequence[str | None], workflow: Workflow | None) -> Any:
    """The columns ``src``, ``dst`` and ``op`` of a DataFrame in which they are called ``names`` (None for op: there are no operations); ``src_table`` and
    ``dst_table`` where the workflow says that columns tell the tables.

    Ids are integers of 64 bits or texts, compared byte by byte. Raises ProvenanceError for a column that is not there, or of another type.
    """
    found = {column: F.lit(None) if name is None else _column(frame, name) for column, name in zip(("src", "dst", "op"), names_of(names))}
    kinds = {frame.select(found[end]).schema[0].dataType for end in ("src", "dst")}
    whole = all(isinstance(kind, IntegralType | NullType) for kind in kinds)
    if not whole and not all(isinstance(kind, StringType | NullType) for kind in kinds):
        told = " and ".join(sorted(kind.simpleString() for kind in kinds))
        raise ProvenanceError(f"Ids of items are integers or texts, and those of src and dst are both the same; these are {told}", remedy="Cast them: integers by col('src').cast('bigint'), others by cast('string').")
    columns = {end: _plain(found[end], "bigint" if whole else "string") for end in ("src", "dst")}
    columns["op"] = _operation(frame, found["op"])
    if workflow is not None and isinstance(workflow.items, Columns):
        columns |= {f"{end}_table": _plain(_column(frame, getattr(workflow.items, end)), "string") for end in ("src", "dst")}
    return frame.select(*[column.alias(name) for name, column in columns.items()])


def partitions_for(spark: Any, triples: int) -> int:
    """How many partitions so many triples are spread over."""
    return max(int(spark.sparkContext.defaultParallelism), triples // _ROWS + 1)


def items_of(rows: Any, workflow: Workflow | None, partitions: int) -> Any:
    """Each item of some triples once: ``item`` and, of a workflow, its ``table`` and what else ``with_tables`` tells."""
    both = F.explode(F.array("src", "dst")).alias("item")
    items = rows.select(both).repartition(partitions, "item").distinct()
    return items if workflow is None else with_tables(items, rows, workflow)


def _column(frame: Any, name: str) -> Column:
    """One column of a DataFrame, known as Spark knows names. Raises ProvenanceError if it is not there, or twice."""
    same = str if Catalyst(frame.sparkSession).minds_case else str.lower
    places = [place for place, column in enumerate(frame.columns) if same(column) == same(name)]
    if len(places) != 1:
        problem = "two columns that are called so" if places else "no such column"
        raise ProvenanceError(
            f"The triples have {problem}", value=name,
            remedy=f"They have {', '.join(map(repr, frame.columns))}; columns=('parent', 'child', 'how') names those to take.",
        )
    return F.col(f"`{frame.columns[places[0]].replace('`', '``')}`")


def _plain(column: Column, kind: str) -> Column:
    """Ids by their bytes, whatever the collation of a column says."""
    return F.collate(column.cast("string"), "UTF8_BINARY") if kind == "string" else column.cast(kind)


def _operation(frame: Any, column: Column) -> Column:
    kind: DataType = frame.select(column).schema[0].dataType
    if isinstance(kind, IntegralType):
        return column.cast("bigint")
    if isinstance(kind, StringType | NullType):
        return _plain(column, "string")
    raise ProvenanceError(f"Operations are texts or integers, and these are {kind.simpleString()}", remedy="Cast them, or say F.to_json(op) of a struct.")
