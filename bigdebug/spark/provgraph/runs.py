"""Provenance graphs of our own runs: what traces tell of records, or of values, as a graph that is asked in milliseconds and kept in a directory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame

from bigdebug.errors import NotCapturedError, UnknownOperatorError, UntraceableError
from bigdebug.provgraph.answer import Answer
from bigdebug.provgraph.graph import ProvenanceGraph
from bigdebug.provgraph.graph import provenance as built
from bigdebug.provgraph.membership import Listed
from bigdebug.provgraph.questions import Common, codes_of
from bigdebug.provgraph.recorded import ITEMS, TRIPLES, Exported, RunRecords
from bigdebug.provgraph.workflow import Workflow
from bigdebug.spark.across.runs import RunSteps
from bigdebug.spark.provgraph.answers import FrameAnswer, FrameCommon, FramePaths
from bigdebug.spark.provgraph.joined import joined
from bigdebug.spark.provgraph.provenance import IndexedGraph
from bigdebug.spark.provgraph.queried import QueryRows
from bigdebug.spark.provgraph.values import QueryValues
from bigdebug.spark.rdd.lineage_rdd import LineageRDD
from bigdebug.spark.sql.lineage_frame import LineageFrame, lineage_of
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.trace.operators import operator_of
from bigdebug.trace.places import places_of
from bigdebug.trace.run import Run


class Part(NamedTuple):
    """One run of a graph: what is exported of it, the trace over all of its result, and the operators at which traces stop besides."""

    exported: Exported
    whole: LineageRDD | LineageFrame
    stops: frozenset[int]

    def standing(self, found: Mapping[int, Any]) -> LineageRDD | LineageFrame:
        """The trace over some records by operator."""
        if isinstance(self.whole, LineageFrame):
            return LineageFrame(self.whole.run, list(found), lambda: found, self.stops)
        return self.whole._to(list(found), lambda: {operator: places_of(records) for operator, records in found.items()})


class RunGraph(IndexedGraph):
    """The provenance graph of a run, or of several that read what others wrote. Questions also take traces over them, and ``traces`` gives what was found as such."""

    def __init__(self, graph: ProvenanceGraph, parts: Sequence[Part], spark: Any) -> None:
        names = ", ".join(repr(part.whole.run.name) for part in parts)
        super().__init__(graph, spark, f"of {'run' if len(parts) == 1 else 'runs'} {names}")
        self.parts = tuple(parts)

    def items(self, trace: LineageRDD | LineageFrame) -> list[str]:
        """The items that the records of a trace are."""
        part = next((part for part in self.parts if part.whole.run is trace.run), self.parts[0])
        return part.exported.ids(trace)

    def traces(self, items: Any, run: Any = None) -> dict[str, Any]:
        """By table, the records that some items are (an answer, ids), as traces over the run: to show them, collect them, or go on from there.

        Of what one run wrote and others read, the trace is over the one that wrote it; ``run`` says of which run all are to be, which leaves out what that has not.
        Raises UnknownItemError for an item that is not there, NotCapturedError for a run of another graph.
        """
        chosen = [part for part in self.parts if run is None or part.whole.run is getattr(run, "latest", run)]
        if not chosen:
            raise NotCapturedError("The graph is of other runs", value=getattr(run, "name", run), remedy=f"It is of {', '.join(part.whole.run.name for part in self.parts)}.")
        given = self.index.named(codes_of(self.index, items)).tolist() if not isinstance(items, Answer | Common) or len(items) else []
        found: dict[str, Any] = {}
        for part in chosen:
            by_table: dict[str, dict[int, Any]] = {}
            for operator, records in part.exported.traces(given).items():
                by_table.setdefault(part.exported.tables[operator], {})[operator] = records
            found = {table: part.standing(standing) for table, standing in by_table.items()} | found
        return found

    def ancestors(self, items: Any, depth: int | None = None, limit: int | None = None) -> FrameAnswer:
        return super().ancestors(self._given(items), depth, limit)

    def descendants(self, items: Any, depth: int | None = None, limit: int | None = None) -> FrameAnswer:
        return super().descendants(self._given(items), depth, limit)

    def feeds(self, source: Any, besides: Any, depth: int | None = None) -> FrameAnswer:
        return super().feeds(self._given(source), self._given(besides), depth)

    def common(self, items: Any) -> FrameCommon:
        return super().common(self._given(items))

    def paths(self, source: Any, target: Any) -> FramePaths:
        return super().paths(self._given(source), self._given(target))

    def _given(self, items: Any) -> Any:
        return self.items(items) if isinstance(items, LineageRDD | LineageFrame) else items


def exported(
    spark: Any, wholes: Sequence[Any], steps: RunSteps, values: bool, tables: Mapping[str, Any], *,
    at: str | os.PathLike[str] | None, memory: str | int, progress: bool, replace: bool = False,
) -> RunGraph:
    """The graph of the runs that ``wholes`` are traces over all of; ``tables`` names operators."""
    if not isinstance(tables, Mapping) or not all(isinstance(name, str) for name in tables):
        raise UnknownOperatorError("tables= has names of operators", value=tables, remedy='Give tables={"delays": df}.')
    parts = _parts_of_frames(wholes, steps, values, tables) if len(wholes) > 1 or isinstance(wholes[0].run, FrameRun) else [_part_of_rdd(wholes[0], values, tables)]
    flow = Workflow.of([edge for part in parts for edge in part.exported.edges], tables=[name for part in parts for name in part.exported.tables.values()])
    flow = flow.placing(Listed(_stream(ITEMS, lambda: chain.from_iterable(part.exported.items() for part in parts))))
    triples = _stream(TRIPLES, lambda: chain.from_iterable(part.exported.triples() for part in parts))
    return RunGraph(built(triples, flow, at=at, memory=memory, replace=replace, progress=progress), parts, spark)


def _part_of_rdd(whole: LineageRDD, values: bool, tables: Mapping[str, Any]) -> Part:
    if values:
        raise UnknownOperatorError("Records of an RDD have no columns, so of their values nothing is known", value=whole.run.name, remedy="Leave out values=True.")
    names = _operators(whole.run, tables)
    return Part(RunRecords(whole.run, frozenset(names), names), whole, frozenset(names))


def _parts_of_frames(wholes: Sequence[Any], steps: RunSteps, values: bool, tables: Mapping[str, Any]) -> list[Part]:
    """Runs of queries, those that wrote before those that read it."""
    strange = [whole.run for whole in wholes if not isinstance(whole.run, FrameRun) or steps.step_of(whole.run) is None]
    if len(wholes) > 1 and strange:
        raise UntraceableError(
            "Several runs become one graph where all are captured actions of DataFrames", value=strange[0].name,
            remedy="Ask for the graph of this run by itself; dbg.pipeline follows records from one job to another, also through RDDs.",
        )
    chosen = _chosen(list(dict.fromkeys(whole.run for whole in wholes)), tables)
    every = {run: QueryRows(run, frozenset(names), names) for run, names in chosen.items()}
    if len(wholes) > 1:
        ordered = sorted(every, key=lambda run: run.began or 0.0)
        every = dict(zip(ordered, joined([(every[run], steps.step_of(run)) for run in ordered], values), strict=True))
    return [Part(QueryValues(rows) if values else rows, lineage_of(run), rows.stops) for run, rows in every.items()]


def _chosen(runs: Sequence[FrameRun], tables: Mapping[str, Any]) -> dict[FrameRun, dict[int, str]]:
    """By run the operators that are given names. Of several runs a DataFrame need not be of all. Raises UnknownOperatorError for one that is of none."""
    found: dict[FrameRun, dict[int, str]] = {run: {} for run in runs}
    for name, given in tables.items():
        here = [run for run in runs if len(runs) == 1 or (isinstance(given, DataFrame) and run.questions.made_of(given))]
        if not here:
            raise UnknownOperatorError("None of the runs was made of this DataFrame", value=name, remedy="Name DataFrames that one of them was made of; of one run alone also operators.")
        for run in here:
            found[run].update(_operators(run, {name: given}))
    return found


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
