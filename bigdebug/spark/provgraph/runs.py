"""Provenance graphs of our own runs: what traces tell of records, or of values, as a graph that is asked in milliseconds and kept in a directory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from bigdebug.errors import UnknownOperatorError
from bigdebug.provgraph.answer import Answer
from bigdebug.provgraph.graph import ProvenanceGraph
from bigdebug.provgraph.graph import provenance as built
from bigdebug.provgraph.membership import Listed
from bigdebug.provgraph.paths import Paths
from bigdebug.provgraph.questions import Common, codes_of
from bigdebug.provgraph.recorded import ITEMS, TRIPLES, Exported, RunRecords
from bigdebug.provgraph.workflow import Workflow
from bigdebug.spark.provgraph.answers import FrameAnswer
from bigdebug.spark.provgraph.provenance import IndexedGraph
from bigdebug.spark.provgraph.queried import QueryRows
from bigdebug.spark.provgraph.values import QueryValues
from bigdebug.spark.rdd.lineage_rdd import LineageRDD
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.trace.operators import operator_of
from bigdebug.trace.places import places_of
from bigdebug.trace.run import Run


class RunGraph(IndexedGraph):
    """The provenance graph of a run. Questions also take traces over the run, and ``traces`` gives what was found as such."""

    def __init__(self, graph: ProvenanceGraph, exported: Exported, whole: LineageRDD | LineageFrame, stops: frozenset[int], tables: Mapping[int, str], spark: Any) -> None:
        super().__init__(graph, spark, f"of run {whole.run.name!r}")
        self._exported, self._whole, self._stops = exported, whole, stops
        self._tables = {table: operator for operator, table in tables.items()}

    def items(self, trace: LineageRDD | LineageFrame) -> list[str]:
        """The items that the records of a trace are."""
        return self._exported.ids(trace)

    def traces(self, items: Any) -> dict[str, Any]:
        """By table, the records that some items are (an answer, ids), as traces over the run: to show them, collect them, or go on from there.

        Raises UnknownItemError for one that is not there.
        """
        given = self.index.named(codes_of(self.index, items)).tolist() if not isinstance(items, Answer | Common) or len(items) else []
        return {table: self._standing(self._tables[table], records) for table, records in self._exported.traces(given).items()}

    def _standing(self, operator: int, records: Any) -> Any:
        if isinstance(self._whole, LineageFrame):
            return LineageFrame(self._whole.run, [operator], lambda: {operator: records}, self._stops)
        return self._whole._to([operator], lambda: {operator: places_of(records)})

    def ancestors(self, items: Any, depth: int | None = None, limit: int | None = None) -> FrameAnswer:
        return super().ancestors(self._given(items), depth, limit)

    def descendants(self, items: Any, depth: int | None = None, limit: int | None = None) -> FrameAnswer:
        return super().descendants(self._given(items), depth, limit)

    def feeds(self, source: Any, besides: Any, depth: int | None = None) -> FrameAnswer:
        return super().feeds(self._given(source), self._given(besides), depth)

    def common(self, items: Any) -> Common:
        return super().common(self._given(items))

    def paths(self, source: Any, target: Any) -> Paths:
        return super().paths(self._given(source), self._given(target))

    def _given(self, items: Any) -> Any:
        return self.items(items) if isinstance(items, LineageRDD | LineageFrame) else items


def exported(
    spark: Any, whole: Any, values: bool, tables: Mapping[str, Any], at: str | os.PathLike[str] | None, memory: str | int, progress: bool, replace: bool = False,
) -> RunGraph:
    """The graph of the run that ``whole`` is a trace over all of; ``tables`` names operators."""
    run: Run = whole.run
    if not isinstance(tables, Mapping) or not all(isinstance(name, str) for name in tables):
        raise UnknownOperatorError("tables= has names of operators", value=tables, remedy='Give tables={"delays": df}.')
    names = _operators(run, tables)
    stops = frozenset(names)
    found: Any
    if isinstance(run, FrameRun):
        found = (QueryValues if values else QueryRows)(run, stops, names)
    elif values:
        raise UnknownOperatorError("Records of an RDD have no columns, so of their values nothing is known", value=run.name, remedy="Leave out values=True.")
    else:
        found = RunRecords(run, stops, names)
    flow = Workflow.of(found.edges, tables=found.tables.values(), items=None).placing(Listed(_stream(ITEMS, found.items)))
    graph = built(_stream(TRIPLES, found.triples), flow, at=at, memory=memory, replace=replace, progress=progress)
    return RunGraph(graph, found, whole, stops, found.tables, spark)


def _operators(run: Run, tables: Mapping[str, Any]) -> dict[int, str]:
    """The operators that are given names, as RDDs, DataFrames, operators or ids; where a DataFrame stands several times, each is a table."""
    found: dict[int, str] = {}
    for name, given in tables.items():
        if isinstance(run, FrameRun):
            found.update(dict.fromkeys(sorted(run.questions.occurrences(given)), name))
        elif isinstance(given, DataFrame):
            raise UnknownOperatorError("The run is of an RDD program", value=name, remedy="Name RDDs, or operators of run.graph.")
        else:
            found[operator_of(run, given).id] = name
    return found


def _stream(schema: pa.Schema, batches: Callable[[], Iterator[pa.RecordBatch]]) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(schema, batches())
