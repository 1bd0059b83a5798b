"""Crossing: a trace goes on where a DataFrame was made of an RDD, or an RDD of a DataFrame.

``createDataFrame(rdd)`` makes a row of each record, in order: a rid of one is a rid of the other. ``df.rdd`` gives rows in an
order that another execution need not repeat: they are found again by their values, if these tell which they are.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any
from weakref import WeakValueDictionary

import pyarrow as pa
from pyspark.sql import DataFrame, Row

from bigdebug.errors import NondeterminismError, UnknownOperatorError, UntraceableError
from bigdebug.graph import Operator
from bigdebug.shown import shown
from bigdebug.spark.bars import counted
from bigdebug.spark.rdd.definition import definitions
from bigdebug.spark.rdd.lineage_rdd import LineageRDD, trace_of
from bigdebug.spark.rdd.recorder import Recorder
from bigdebug.spark.rdd.suspects import comes_from, suspected
from bigdebug.spark.sql.catalyst import Catalyst, same_query
from bigdebug.spark.sql.failures import is_cancelled
from bigdebug.spark.sql.lineage_frame import LineageFrame, lineage_of
from bigdebug.spark.sql.recorder import FrameRecorder
from bigdebug.spark.sql.records import Found
from bigdebug.trace.culprits import Culprits
from bigdebug.trace.places import Places, rids_of
from bigdebug.trace.run import Run

_REMEMBERED = 500
"""DataFrames made of RDDs; each keeps its RDD, and what Spark has of it, from being cleaned up."""

_COMPARED = 10_000
"""Up to so many rows are compared with the records that they are said to be made of."""

_PLAIN = (int, str, bool, bytes, float, Decimal, date)
"""Types of values that createDataFrame leaves as they are."""


log = logging.getLogger("bigdebug")


class Crossing:
    """The places of one session where DataFrames and RDDs were made of each other."""

    def __init__(self, recorder: Recorder, frames: FrameRecorder) -> None:
        self._recorder = recorder
        self._frames = frames
        self.runs: set[str] = set()
        """The ids of those that were made to answer questions, and are none of the user's."""
        self.given: set[int] = set()
        """The JVM's numbers of rows that the program gave to createDataFrame as they are."""
        self._made_of: dict[int, Any] = {}
        # A checkpoint is there to be able to forget: the original is known as long as somebody else holds it.
        self._checkpoints: WeakValueDictionary[int, DataFrame] = WeakValueDictionary()
        self._alone = threading.Lock()
        self._becoming = threading.local()
        self._mapped: dict[int, Any] = {}
        self._suspects: dict[int, Culprits] = {}
        self._rows: WeakValueDictionary[int, Any] = WeakValueDictionary()

    def made(self, frame: DataFrame, rdd: Any) -> None:
        """``frame`` has been made of the records of ``rdd``. Never raises: the user's call comes first."""
        number = _number(frame)
        with self._alone:
            self._made_of[number] = rdd
            rows = vars(self._becoming).pop("rdd", rdd)
            self._mapped[number] = rows if comes_from(rows, rdd) else rdd
            while len(self._made_of) > _REMEMBERED:
                oldest = next(iter(self._made_of))
                del self._made_of[oldest], self._mapped[oldest]
                self._suspects.pop(oldest, None)

    def becomes_rows(self, rdd: Any) -> None:
        """``rdd``, which PySpark has made of another one by functions of its own, is about to be rows of a DataFrame. Never raises."""
        self._becoming.rdd = rdd

    def crashed_in(self, leaf: Any) -> Culprits | None:
        """The culprits among the records of an RDD that are rows of a leaf of a plan; None if it is not known of what they are made.

        Finding them takes a job that computes the RDD once more.
        """
        number = int(leaf.rdd().id())
        rdd = self._mapped.get(number)
        if rdd is None:
            return None
        if number not in self._suspects:
            run = suspected(self._recorder, rdd)
            self.runs.add(run.id)
            self._suspects[number] = run.culprits
        return self._suspects[number]

    def crashed_below(self, run: Run, problem: Exception) -> list[tuple[Operator, Culprits]]:
        """The DataFrames whose rows a run of RDDs reads, as operators of that, and the culprits of their queries, where ``problem`` may be of one of these.

        Finding them takes the jobs of a query that failed, of which nothing is known to have finished.
        """
        if is_cancelled(self._frames.users, problem):
            return []
        return [
            (run.graph[operator], self._frames.suspected(rdd._rows_of, problem).culprits)
            for operator in sorted(run.graph.upstream(run.subject)) if (rdd := self._rows.get(operator)) is not None
        ]

    def gave(self, frame: DataFrame) -> None:
        """``frame`` has been made of rows that were in the driver. Never raises."""
        self.given.add(_number(frame))

    def checkpointed(self, frame: DataFrame, original: DataFrame) -> None:
        """``frame`` has the rows of ``original``, and no query. Never raises."""
        self._checkpoints[_number(frame)] = original

    def taken(self, rdd: Any, frame: DataFrame) -> None:
        """``rdd`` is the rows of ``frame``."""
        rdd.__dict__["_rows_of"] = frame
        self._rows[rdd._definition.operator.id] = rdd

    def frames_of(self, numbers: frozenset[int]) -> list[DataFrame]:
        """The DataFrames whose rows are among RDDs of the JVM with these numbers."""
        return [rdd._rows_of for rdd in list(self._rows.values()) if rdd.__dict__.get("_rows_number") in numbers]

    # ---- from DataFrames to RDDs ------------------------------------------------------------------------------

    def rdd_behind(self, trace: LineageFrame, rdd: Any) -> Any:
        """The records of ``rdd`` that rows were made of. A job reads it once more, under capture."""
        found = []
        for source, known in self._sources(trace, self._made_of):
            if any(made is rdd for made in definitions(known)):
                rows = trace.back_to(source)
                records = self.whole(known).at(rows.rids())
                if rows.count() <= _COMPARED:
                    _compare(rows.collect(), records.collect())
                found.append((known, records if known is rdd else records.back_to(rdd)))
        if not found:
            raise _no_way("back", trace, rdd)
        # All in one run, in which the ids of other runs are the same.
        ids = {int(rid) for _, records in found for rid in records.rids()}
        return found[0][1] if len(found) == 1 else self.whole(rdd).at(sorted(ids))

    def rdd_ahead(self, trace: LineageFrame, rdd: Any) -> Any:
        """The records of ``rdd`` that rows had a part in, through ``df.rdd`` of their result."""
        sources = [
            known for known in definitions(rdd)
            if (frame := known.__dict__.get("_rows_of")) is not None and same_query(frame, trace.run.frame)
        ]
        if not sources:
            raise _no_way("ahead", trace, rdd)
        rows, whole = trace.goNextAll().collect(), self.whole(rdd)
        ids: set[int] = set()
        for known in sources:
            found = _equal_records(whole.back_to(known), rows)
            ids.update(map(int, (found if known is rdd else found.forward_to(rdd)).rids()))
        return whole.at(sorted(ids))

    # ---- from DataFrames to those that they are checkpoints of ------------------------------------------------

    def original(self, trace: LineageFrame, frame: DataFrame) -> LineageFrame | None:
        """The rows of ``frame`` that rows were made of, behind a checkpoint; None if there is none on the way."""
        rows = [(known, trace.back_to(source).collect()) for source, known in self._sources(trace, self._checkpoints)]
        return self._behind(rows, frame)

    def ahead(self, trace: LineageFrame, frame: DataFrame) -> LineageFrame | None:
        """The rows of the result of ``frame``, a query of its own, that rows of a result had a part in.

        None if it was not made of that, or if one of the two drew its rows: another execution drew others.
        """
        whole = lineage_of(self._frames.asked(frame))
        before, after = trace.run.questions, whole.run.questions
        if trace.operators != (trace.run.subject,) or not after.made_of(trace.run.frame):
            return None
        if any(operator.draws for questions in (before, after) for operator in questions.root):
            return None
        # Names of a projection that leaves all as it is have names of the rows below as their parts.
        bottom = before.bottom(trace.run.subject)
        start, places = trace.back_to(bottom), frozenset(map(after.bottom, after.occurrences(trace.run.frame)))

        def find() -> Found:
            before.check()  # or the records of now would be taken for those of then
            return dict.fromkeys(places, start._at(bottom))

        return LineageFrame(whole.run, places, find, places).goNextAll()

    # ---- from RDDs to DataFrames ------------------------------------------------------------------------------

    def frame_behind(self, trace: LineageRDD, frame: DataFrame) -> LineageFrame:
        """The rows of ``frame`` that records were made of, through its ``df.rdd`` or that of a DataFrame made of it."""
        graph = trace.run.graph
        reachable = {source for operator in trace.operators for source in graph.upstream(operator)}
        known = {source: rdd for source in sorted(reachable) if (rdd := self._rows.get(source)) is not None}
        found = self._behind([(rdd._rows_of, trace.back_to(source).collect()) for source, rdd in known.items()], frame)
        if found is None:
            raise _no_way("back", trace, frame)
        return found

    def frame_ahead(self, trace: LineageRDD, frame: DataFrame) -> LineageFrame:
        """The rows of ``frame`` that records had a part in, where it was made of an RDD."""
        result = lineage_of(self._frames.asked(frame))
        starts = {
            source: pa.array(self._reached(trace, known), pa.int64()) for source, known in self._sources(result, self._made_of)
            if {made._definition.operator.id for made in definitions(known)}.issuperset(trace.operators)
        }
        if not starts:
            raise _no_way("ahead", trace, frame)
        return result.standing_at(starts).goNextAll()

    def _behind(self, rows: Iterable[tuple[DataFrame, list[Row]]], frame: DataFrame) -> LineageFrame | None:
        """What rows of the results of queries were made of at ``frame``; None if none of them was made of it."""
        found: list[LineageFrame] = []
        for result, wanted in rows:
            run = self._frames.asked(result)
            if same_query(result, frame):
                found.append(_equal(lineage_of(run), wanted))
            elif run.questions.made_of(frame):
                found.append(_equal(lineage_of(run), wanted).back_to(frame))
            elif self._sources(lineage_of(run), self._checkpoints):
                further = self.original(_equal(lineage_of(run), wanted), frame)
                found += [] if further is None else [further]
        if len(found) < 2:
            return found[0] if found else None
        # In runs of different queries the same rows have different names: they meet in that of the frame itself.
        whole = lineage_of(self._frames.asked(frame))
        return whole.union([_equal(whole, part.collect()) if part.run is not whole.run else part for part in found])

    # ---- the RDDs at the ends ---------------------------------------------------------------------------------

    def rows_in(self, run: Run) -> dict[int, DataFrame]:
        """The operators of a run of RDDs that are the rows of DataFrames, with these."""
        return {operator.id: rdd._rows_of for operator in run.graph if (rdd := self._rows.get(operator.id)) is not None}

    def records_in(self, trace: LineageFrame) -> dict[int, Any]:
        """The sources of a query that were made of RDDs, with these."""
        return dict(self._sources(trace, self._made_of))

    def originals_in(self, trace: LineageFrame) -> dict[int, DataFrame]:
        """The sources of a query that are checkpoints, with the DataFrames that they were taken of, as far as somebody holds them."""
        return dict(self._sources(trace, self._checkpoints))

    def unknown_in(self, trace: LineageFrame) -> list[str]:
        """The names of a query's sources in memory of which nobody knows what they were made of: a checkpoint of a DataFrame that is gone, say."""
        leaves = trace.run.questions.leaves
        known = {*self.records_in(trace), *self.originals_in(trace)}
        held = {source: leaf for source, leaf in leaves.items() if leaf.node.nodeName() == "LogicalRDD" and source not in known}
        return [leaf.name for leaf in held.values() if int(leaf.node.rdd().id()) not in self.given]

    def rows_ahead(self, rows: LineageFrame, frame: DataFrame, operator: int) -> Places:
        """Rows of the result of ``frame`` as records of the RDD, by its operator, that are its rows. They are found by their values."""
        rdd = self._rows[operator]
        if not same_query(rows.run.frame, frame):
            raise _no_way("ahead", rows, rdd)
        return _equal_records(self.whole(rdd), rows.collect()).places  # type: ignore[no-any-return]

    def _sources(self, trace: LineageFrame, made_of: Mapping[int, Any]) -> list[tuple[int, Any]]:
        """The sources of a query, reachable from where a trace stands, that were made of something, with that."""
        graph, leaves = trace.run.graph, trace.run.questions.leaves
        reachable = {source for operator in trace.operators for source in graph.upstream(operator)}
        nodes = {source: leaf.node for source, leaf in leaves.items() if source in reachable and leaf.node.nodeName() == "LogicalRDD"}
        return [(source, made_of[node.rdd().id()]) for source, node in nodes.items() if node.rdd().id() in made_of]

    def whole(self, rdd: Any) -> LineageRDD:
        """All records of an RDD, in a run of ours that reads it to its end."""
        run = rdd.__dict__.get("_crossed")
        if run is None or run not in self._recorder.runs:
            made: list[Any] = []
            with self._recorder.captures.alone("lineage", "auto", made.append), counted(self._recorder.sc, "following lineage"):
                rdd.count()
            [run] = made
            rdd.__dict__["_crossed"] = run
            self.runs.add(run.id)
        return trace_of(self._recorder, run, rdd._definition.operator.id)

    def _reached(self, trace: LineageRDD, rdd: Any) -> list[int]:
        """The records of ``rdd`` that traced ones had a part in; what names a record in one run names it in another."""
        reached: set[int] = set()
        whole = self.whole(rdd)
        for operator, places in trace.standing.items():
            here = trace_of(self._recorder, whole.run, operator).at(rids_of(places))
            reached.update(map(int, here.forward_to(rdd).rids()))
        return sorted(reached)


def _number(frame: DataFrame) -> int:
    """What the JVM calls the rows that a DataFrame reads; -1 if it reads none."""
    try:
        leaf = Catalyst.plan(frame).collectLeaves().head()
        return int(leaf.rdd().id()) if leaf.nodeName() == "LogicalRDD" else -1
    except Exception as trouble:  # the user's call comes first
        log.warning("bigdebug could not note where %s comes from: %s", frame, trouble)
        return -1


def _equal_records(trace: LineageRDD, rows: list[Row]) -> Any:
    """The part of a trace over rows as records that has these rows."""
    wanted = frozenset(map(repr, rows))
    found = trace.where(lambda row: repr(row) in wanted)
    _check(Counter(map(repr, found.collect())), Counter(map(repr, rows)), "RDD")
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
    _check(Counter(map(repr, found.collect())), Counter(map(repr, rows)), "DataFrame")
    return found


def _compare(rows: list[Row], records: list[Any]) -> None:
    """Raise NondeterminismError if the RDD does not give what the rows were made of."""
    for row, record in zip(rows, records, strict=True):
        fields = getattr(record, "__fields__", record if isinstance(record, Mapping) else None)
        if fields is not None:
            pairs = [(row[name], record[name]) for name in fields if name in row.__fields__]
        else:
            pairs = list(zip(row, record)) if isinstance(record, tuple | list) else []
        if any(type(a) is type(b) and type(a) in _PLAIN and a != b and a == a for a, b in pairs):
            raise NondeterminismError(
                f"The RDD gives {shown(record)} now, and the DataFrame was made of {shown(row)}",
                remedy="Make the DataFrame of an RDD that gives the same each time: rdd.cache(), or functions that draw nothing.",
            )


def _check(found: Counter[str], wanted: Counter[str], where: str) -> None:
    """See that what was found by its values is what was looked for, row by row."""
    if more := found - wanted:
        row = next(iter(more))
        raise NondeterminismError(
            f"{found[row]:,} rows of the {where} are equal to {row[:200]}, the trace names {wanted[row]:,}, and which of them these are is "
            "not known", remedy="Keep a column that tells rows apart, or trace all that are equal: where(row).",
        )
    if less := wanted - found:
        row = next(iter(less))
        raise NondeterminismError(
            f"The {where} gives the row {row[:200]} {found[row]:,} times now, and the trace names {wanted[row]:,}",
            remedy="Keep the DataFrame's rows before they become an RDD, or the other way around: df.localCheckpoint().",
        )


def _no_way(direction: str, trace: Any, goal: Any) -> UnknownOperatorError:
    here = ", ".join(str(trace.run.graph[o]) for o in trace.operators)
    return UnknownOperatorError(
        f"No way leads {direction} from {here} to this {'DataFrame' if isinstance(goal, DataFrame) else 'RDD'}",
        remedy="A trace crosses at createDataFrame(rdd) and at df.rdd, if they were called while bigdebug was attached, and behind a "
        "checkpoint as long as something holds the DataFrame that it was taken of.",
    )
