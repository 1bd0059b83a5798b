"""Crossing: a trace goes on where a DataFrame was made of an RDD, or an RDD of a DataFrame.

``createDataFrame(rdd)`` makes a row of each record, in order: a rid of one is a rid of the other. ``df.rdd`` gives rows in an
order that another execution need not repeat: they are found again by their values, if these tell which they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row

from bigdebug.errors import SourceChangedError, UnknownOperatorError
from bigdebug.graph import Operator
from bigdebug.spark.bars import counted
from bigdebug.spark.cancelled import is_cancelled
from bigdebug.spark.equal import check_records, equal_records, equal_rows
from bigdebug.spark.rdd.crashes.suspects import suspected
from bigdebug.spark.rdd.definition import definitions
from bigdebug.spark.rdd.lineage_rdd import LineageRDD, trace_of
from bigdebug.spark.rdd.recorder import Recorder
from bigdebug.spark.seams import Seams
from bigdebug.spark.sql.lineage_frame import LineageFrame, lineage_of
from bigdebug.spark.sql.plans.catalyst import same_query
from bigdebug.spark.sql.questions import Questions
from bigdebug.spark.sql.recorder import FrameRecorder
from bigdebug.spark.sql.records import Found
from bigdebug.trace.culprits import Culprits
from bigdebug.trace.places import Places, rids_of
from bigdebug.trace.run import Run


class Crossing:
    """Traces that go on at the seams of one session, where DataFrames and RDDs were made of each other."""

    def __init__(self, recorder: Recorder, frames: FrameRecorder) -> None:
        self._recorder = recorder
        self._frames = frames
        self.seams = Seams()
        self.runs: set[str] = set()
        """The ids of those that were made to answer questions, and are none of the user's."""

    def crashed_in(self, leaf: Any) -> Culprits | None:
        """The culprits among the records of an RDD that are rows of a leaf of a plan, or in the query of a checkpoint that is still to be taken; None if it is not
        known of what they are made.

        Finding them takes a job that computes the RDD, or the query, once more.
        """
        fed = self.seams.behind(leaf)
        if fed is None:
            original = None if leaf.rdd().isCheckpointed() else self.seams.checkpointed_of(leaf)
            return None if original is None else self._frames.suspected(original, RuntimeError()).culprits
        if fed.culprits is None:
            run = suspected(self._recorder, fed.rows)
            self.runs.add(run.id)
            fed.culprits = run.culprits
        return fed.culprits

    def crashed_below(self, run: Run, problem: Exception) -> list[tuple[Operator, Culprits]]:
        """The DataFrames whose rows a run of RDDs reads, as operators of that, and the culprits of their queries, where ``problem`` may be of one of these.

        Finding them takes the jobs of a query that failed, of which nothing is known to have finished.
        """
        if is_cancelled(problem):
            return []
        return [
            (run.graph[operator], self._frames.suspected(rdd._rows_of, problem).culprits)
            for operator in sorted(run.graph.upstream(run.subject)) if (rdd := self.seams.rows(operator)) is not None
        ]

    # ---- from DataFrames to RDDs ------------------------------------------------------------------------------

    def rdd_behind(self, trace: LineageFrame, rdd: Any) -> Any:
        """The records of ``rdd`` that rows were made of. A job reads it once more, under capture."""
        found = []
        for source, known in self.seams.records_in(trace).items():
            if any(made is rdd for made in definitions(known)):
                rows = trace.back_to(source)
                records = self.whole(known).at(rows.rids())
                check_records(rows, records)
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
            found = equal_records(whole.back_to(known), rows)
            ids.update(map(int, (found if known is rdd else found.forward_to(rdd)).rids()))
        return whole.at(sorted(ids))

    # ---- from DataFrames to those that they are checkpoints of ------------------------------------------------

    def original(self, trace: LineageFrame, frame: DataFrame) -> LineageFrame | None:
        """The rows of ``frame`` that rows were made of, behind a checkpoint; None if there is none on the way."""
        rows = [(known, trace.back_to(source).collect()) for source, known in self.seams.originals_in(trace).items()]
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
            _check_same_files(before, after)
            return dict.fromkeys(places, start._at(bottom))

        return LineageFrame(whole.run, places, find, places).goNextAll()

    # ---- from RDDs to DataFrames ------------------------------------------------------------------------------

    def frame_behind(self, trace: LineageRDD, frame: DataFrame) -> LineageFrame:
        """The rows of ``frame`` that records were made of, through its ``df.rdd`` or that of a DataFrame made of it."""
        graph = trace.run.graph
        reachable = {source for operator in trace.operators for source in graph.upstream(operator)}
        known = {source: rdd for source in sorted(reachable) if (rdd := self.seams.rows(source)) is not None}
        found = self._behind([(rdd._rows_of, trace.back_to(source).collect()) for source, rdd in known.items()], frame)
        if found is None:
            raise _no_way("back", trace, frame)
        return found

    def frame_ahead(self, trace: LineageRDD, frame: DataFrame) -> LineageFrame:
        """The rows of ``frame`` that records had a part in, where it was made of an RDD."""
        result = lineage_of(self._frames.asked(frame))
        starts = {
            source: pa.array(self._reached(trace, known), pa.int64()) for source, known in self.seams.records_in(result).items()
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
                found.append(equal_rows(lineage_of(run), wanted))
            elif run.questions.made_of(frame):
                found.append(equal_rows(lineage_of(run), wanted).back_to(frame))
            elif self.seams.originals_in(lineage_of(run)):
                further = self.original(equal_rows(lineage_of(run), wanted), frame)
                found += [] if further is None else [further]
        if len(found) < 2:
            return found[0] if found else None
        # In runs of different queries the same rows have different names: they meet in that of the frame itself.
        whole = lineage_of(self._frames.asked(frame))
        return whole.union([equal_rows(whole, part.collect()) if part.run is not whole.run else part for part in found])

    def rows_ahead(self, rows: LineageFrame, frame: DataFrame, operator: int) -> Places:
        """Rows of the result of ``frame`` as records of the RDD, by its operator, that are its rows. They are found by their values."""
        rdd = self.seams.rows(operator)
        if not same_query(rows.run.frame, frame):
            raise _no_way("ahead", rows, rdd)
        return equal_records(self.whole(rdd), rows.collect()).places  # type: ignore[no-any-return]

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


def _check_same_files(before: Questions, after: Questions) -> None:
    """Raise SourceChangedError if a source of the first query had other files for the second: a record is named by the number of its file among them."""
    known = {leaf.files for leaf in after.leaves.values()}
    for leaf in before.leaves.values():
        if leaf.files not in known:
            raise SourceChangedError(
                f"{leaf.dataset} had other files when one of the two queries ran, so no trace leads from one to the other", remedy="Run both again under capture.",
            )


def _no_way(direction: str, trace: Any, goal: Any) -> UnknownOperatorError:
    here = ", ".join(str(trace.run.graph[o]) for o in trace.operators)
    return UnknownOperatorError(
        f"No way leads {direction} from {here} to this {'DataFrame' if isinstance(goal, DataFrame) else 'RDD'}",
        remedy="A trace crosses at createDataFrame(rdd) and at df.rdd, if they were called while bigdebug was attached, and behind a "
        "checkpoint as long as something holds the DataFrame that it was taken of.",
    )
