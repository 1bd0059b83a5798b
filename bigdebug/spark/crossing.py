"""Crossing: a trace goes on where a DataFrame was made of an RDD, or an RDD of a DataFrame.

``createDataFrame(rdd)`` makes a row of each record, in order: a rid of one is a rid of the other. ``df.rdd`` gives rows in an
order that another execution need not repeat: they are found again by their values, if these tell which they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakValueDictionary

from pyspark.sql import DataFrame, Row

from bigdebug.errors import NondeterminismError, UnknownOperatorError, UntraceableError
from bigdebug.spark.jobs import counted
from bigdebug.spark.rdd.definition import definitions
from bigdebug.spark.rdd.lineage_rdd import LineageRDD, trace_of
from bigdebug.spark.rdd.recorder import Recorder
from bigdebug.spark.sql.catalyst import Catalyst
from bigdebug.spark.sql.lineage_frame import LineageFrame, lineage_of
from bigdebug.spark.sql.recorder import FrameRecorder
from bigdebug.trace.places import rids_of
from bigdebug.trace.shown import shown

_REMEMBERED = 500
"""DataFrames made of RDDs; each keeps its RDD, and what Spark has of it, from being cleaned up."""

_COMPARED = 10_000
"""Up to so many rows are compared with the records that they are said to be made of."""

_PLAIN = (int, str, bool, bytes)
"""Types of values that createDataFrame leaves as they are."""


class Crossing:
    """The places of one session where DataFrames and RDDs were made of each other."""

    def __init__(self, recorder: Recorder, frames: FrameRecorder) -> None:
        self._recorder = recorder
        self._frames = frames
        self._made_of: dict[int, Any] = {}
        # A checkpoint is there to be able to forget: the original is known as long as somebody else holds it.
        self._checkpoints: WeakValueDictionary[int, DataFrame] = WeakValueDictionary()
        self._rows: WeakValueDictionary[int, Any] = WeakValueDictionary()

    def made(self, frame: DataFrame, rdd: Any) -> None:
        """``frame`` has been made of the records of ``rdd``."""
        leaf = Catalyst.plan(frame).collectLeaves().head()
        if leaf.nodeName() == "LogicalRDD":
            self._made_of[leaf.rdd().id()] = rdd
            while len(self._made_of) > _REMEMBERED:
                del self._made_of[next(iter(self._made_of))]

    def checkpointed(self, frame: DataFrame, original: DataFrame) -> None:
        """``frame`` has the rows of ``original``, and no query."""
        leaf = Catalyst.plan(frame).collectLeaves().head()
        if leaf.nodeName() == "LogicalRDD":
            self._checkpoints[leaf.rdd().id()] = original

    def taken(self, rdd: Any, frame: DataFrame) -> None:
        """``rdd`` is the rows of ``frame``."""
        rdd.__dict__["_rows_of"] = frame
        self._rows[rdd._definition.operator.id] = rdd

    # ---- from DataFrames to RDDs ------------------------------------------------------------------------------

    def rdd_behind(self, trace: LineageFrame, rdd: Any) -> Any:
        """The records of ``rdd`` that rows were made of. A job reads it once more, under capture."""
        for source, known in self._sources(trace, self._made_of):
            if any(made is rdd for made in definitions(known)):
                rows = trace.back_to(source)
                found = self._whole(known).at(rows.rids())
                if rows.count() <= _COMPARED:
                    _compare(rows.collect(), found.collect())
                return found if known is rdd else found.back_to(rdd)
        raise _no_way("back", trace, rdd)

    def rdd_ahead(self, trace: LineageFrame, rdd: Any) -> Any:
        """The records of ``rdd`` that rows had a part in, through ``df.rdd`` of their result."""
        for known in definitions(rdd):
            frame = known.__dict__.get("_rows_of")
            if frame is not None and _same(frame, trace.run.frame):
                found = _equal_records(self._whole(rdd).back_to(known), trace.goNextAll().collect())
                return found if known is rdd else found.forward_to(rdd)
        raise _no_way("ahead", trace, rdd)

    # ---- from DataFrames to those that they are checkpoints of ------------------------------------------------

    def original(self, trace: LineageFrame, frame: DataFrame) -> LineageFrame | None:
        """The rows of ``frame`` that rows were made of, behind a checkpoint; None if there is none on the way."""
        for source, known in self._sources(trace, self._checkpoints):
            run = self._frames.asked(known)
            if _same(known, frame) or run.questions.made_of(frame):
                found = _equal(lineage_of(run), trace.back_to(source).collect())
                return found if _same(known, frame) else found.back_to(frame)
        return None

    # ---- from RDDs to DataFrames ------------------------------------------------------------------------------

    def frame_behind(self, trace: LineageRDD, frame: DataFrame) -> LineageFrame:
        """The rows of ``frame`` that records were made of, through its ``df.rdd`` or that of a DataFrame made of it."""
        graph = trace.run.graph
        reachable = {source for operator in trace.operators for source in graph.upstream(operator)}
        for source in reachable & set(self._rows.keys()):
            result = self._rows[source]._rows_of
            run = self._frames.asked(result)
            if _same(result, frame) or run.questions.made_of(frame):
                found = _equal(lineage_of(run), trace.back_to(source).collect())
                return found if _same(result, frame) else found.back_to(frame)
        raise _no_way("back", trace, frame)

    def frame_ahead(self, trace: LineageRDD, frame: DataFrame) -> LineageFrame:
        """The rows of ``frame`` that records had a part in, where it was made of an RDD."""
        result = lineage_of(self._frames.asked(frame))
        for source, known in self._sources(result, self._made_of):
            if {made._definition.operator.id for made in definitions(known)}.issuperset(trace.operators):
                return result.starting(source, self._reached(trace, known)).goNextAll()
        raise _no_way("ahead", trace, frame)

    # ---- the RDDs at the ends ---------------------------------------------------------------------------------

    def _sources(self, trace: LineageFrame, made_of: Mapping[int, Any]) -> list[tuple[int, Any]]:
        """The sources of a query, reachable from where a trace stands, that were made of something, with that."""
        graph, leaves = trace.run.graph, trace.run.questions.leaves
        reachable = {source for operator in trace.operators for source in graph.upstream(operator)}
        nodes = {source: leaf.node for source, leaf in leaves.items() if source in reachable and leaf.node.nodeName() == "LogicalRDD"}
        return [(source, made_of[node.rdd().id()]) for source, node in nodes.items() if node.rdd().id() in made_of]

    def _whole(self, rdd: Any) -> LineageRDD:
        """All records of an RDD, in a run of ours that reads it to its end."""
        run = rdd.__dict__.get("_crossed")
        if run is None or run not in self._recorder.runs:
            made: list[Any] = []
            with self._recorder.captures.opened("lineage", "auto", made.append), counted(self._recorder.sc, "following lineage"):
                rdd.count()
            run = rdd.__dict__["_crossed"] = made[-1]
        return trace_of(self._recorder, run, rdd._definition.operator.id)

    def _reached(self, trace: LineageRDD, rdd: Any) -> list[int]:
        """The records of ``rdd`` that traced ones had a part in; what names a record in one run names it in another."""
        reached: set[int] = set()
        whole = self._whole(rdd)
        for operator, places in trace.standing.items():
            here = trace_of(self._recorder, whole.run, operator).at(rids_of(places))
            reached.update(map(int, here.forward_to(rdd).rids()))
        return sorted(reached)


def _equal_records(trace: LineageRDD, rows: list[Row]) -> Any:
    """The part of a trace over rows as records that has these rows."""
    wanted = frozenset(map(repr, rows))
    found = trace.where(lambda row: repr(row) in wanted)
    _check(found.count(), len(rows), "RDD")
    return found


def _equal(trace: LineageFrame, rows: list[Row]) -> LineageFrame:
    """The part of a trace over a result that has these rows."""
    strange = [field.name for field in trace.run.frame.schema.fields if "map<" in field.dataType.simpleString()]
    if strange:
        raise UntraceableError(
            "The rows of an RDD are found in its DataFrame by their values, and Spark compares no maps", value=strange[0],
            remedy="Make the RDD without that column: df.drop(...).rdd.",
        )
    found = trace.equal_to(rows)
    _check(found.count(), len(rows), "DataFrame")
    return found


def _compare(rows: list[Row], records: list[Any]) -> None:
    """Raise NondeterminismError if the RDD does not give what the rows were made of."""
    for row, record in zip(rows, records, strict=True):
        fields = getattr(record, "__fields__", record if isinstance(record, Mapping) else None)
        if fields is not None:
            pairs = [(row[name], record[name]) for name in fields if name in row.__fields__]
        else:
            pairs = list(zip(row, record)) if isinstance(record, tuple | list) else []
        if any(type(a) is type(b) and isinstance(a, _PLAIN) and a != b for a, b in pairs):
            raise NondeterminismError(
                f"The RDD gives {shown(record)} now, and the DataFrame was made of {shown(row)}",
                remedy="Make the DataFrame of an RDD that gives the same each time: rdd.cache(), or functions that draw nothing.",
            )


def _check(found: int, wanted: int, where: str) -> None:
    if found > wanted:
        raise NondeterminismError(
            f"{found:,} rows of the {where} are equal to the {wanted:,} traced, and which of them these are is not known",
            remedy="Keep a column that tells rows apart, or trace all that are equal: where(row).",
        )
    if found < wanted:
        raise NondeterminismError(
            f"The {where} gives {found:,} of the {wanted:,} traced rows now",
            remedy="Keep the DataFrame's rows before they become an RDD, or the other way around: df.localCheckpoint().",
        )


def _same(one: DataFrame, other: DataFrame) -> bool:
    return one is other or bool(one._jdf.queryExecution().equals(other._jdf.queryExecution()))


def _no_way(direction: str, trace: Any, goal: Any) -> UnknownOperatorError:
    here = ", ".join(str(trace.run.graph[o]) for o in trace.operators)
    return UnknownOperatorError(
        f"No way leads {direction} from {here} to this {'DataFrame' if isinstance(goal, DataFrame) else 'RDD'}",
        remedy="A trace crosses at createDataFrame(rdd) and at df.rdd, if both were called while bigdebug was attached.",
    )
