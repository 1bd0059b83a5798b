"""Seams: where DataFrames and RDDs of one session were made of each other, as their calls told it. Costs no job."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

from pyspark.sql import DataFrame

from bigdebug.actors.frames import FRAMES
from bigdebug.spark.framed import Framed, FramedRows
from bigdebug.spark.rdd.crashes.suspects import comes_from
from bigdebug.spark.sql.leaf import IN_MEMORY, Leaf
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.trace.culprits import Culprits
from bigdebug.trace.run import Run

_REMEMBERED = 500
"""DataFrames made of RDDs; each keeps its RDD, and what Spark has of it, from being cleaned up."""

log = logging.getLogger("bigdebug")


@dataclass
class Fed:
    """What a DataFrame was made of: an RDD, and the rows that PySpark made of its records, where these are others. ``culprits`` are those among its records, if they were looked for."""

    records: Any
    rows: Any
    culprits: Culprits | None = None


class Seams:
    """The places where DataFrames and RDDs were made of each other. Thread-safe; what it is told never raises, for the user's call comes first."""

    def __init__(self) -> None:
        self.given: set[int] = set()
        """The JVM's numbers of rows that the program gave to createDataFrame as they are."""
        self._fed: dict[int, Fed] = {}
        # A checkpoint is there to be able to forget: the original is known as long as somebody else holds it.
        self._checkpoints: WeakValueDictionary[int, DataFrame] = WeakValueDictionary()
        self._rows: WeakValueDictionary[int, Any] = WeakValueDictionary()
        self._alone = threading.Lock()
        self._becoming = threading.local()
        self._framed = FramedRows()

    # ---- what calls tell --------------------------------------------------------------------------------------

    def made(self, frame: DataFrame, rdd: Any) -> None:
        """``frame`` has been made of the records of ``rdd``."""
        number = _number(frame)
        with self._alone:
            rows = vars(self._becoming).pop("rdd", rdd)
            self._fed[number] = Fed(rdd, rows if comes_from(rows, rdd) else rdd)
            while len(self._fed) > _REMEMBERED:
                del self._fed[next(iter(self._fed))]

    def becomes_rows(self, rdd: Any) -> None:
        """``rdd``, which PySpark has made of another one by functions of its own, is about to be rows of a DataFrame."""
        self._becoming.rdd = rdd

    def gave(self, frame: DataFrame, data: Any) -> None:
        """``frame`` has been made of ``data``, rows that were in the driver: those of a frame that a step gave, perhaps, or of one that was made of such a frame."""
        self.given.add(_number(frame))
        known = FRAMES.perhaps(data)
        if known is not None:
            self._framed.tell(frame, Framed(*known))

    def checkpointed(self, frame: DataFrame, original: DataFrame) -> None:
        """``frame`` has the rows of ``original``, and no query."""
        self._checkpoints[_number(frame)] = original

    def taken(self, rdd: Any, frame: DataFrame) -> None:
        """``rdd`` is the rows of ``frame``."""
        rdd.__dict__["_rows_of"] = frame
        self._rows[rdd._definition.operator.id] = rdd

    # ---- what is known ----------------------------------------------------------------------------------------

    def behind(self, leaf: Any) -> Fed | None:
        """What the rows of a leaf of a plan, which reads an RDD, were made of; None if nobody told."""
        return self._fed.get(int(leaf.rdd().id()))

    def checkpointed_of(self, leaf: Any) -> DataFrame | None:
        """The DataFrame that a leaf of a plan is the checkpoint of; None if it is none, or nobody holds that."""
        return self._checkpoints.get(int(leaf.rdd().id()))

    def rows(self, operator: int) -> Any:
        """The RDD with this operator that is the rows of a DataFrame; None if it is none, or nobody holds it."""
        return self._rows.get(operator)

    def frames_of(self, numbers: frozenset[int]) -> list[DataFrame]:
        """The DataFrames whose rows are among RDDs of the JVM with these numbers."""
        return [rdd._rows_of for rdd in list(self._rows.values()) if rdd.__dict__.get("_rows_number") in numbers]

    def rows_in(self, run: Run) -> dict[int, DataFrame]:
        """The operators of a run of RDDs that are the rows of DataFrames, with these."""
        return {operator.id: rdd._rows_of for operator in run.graph if (rdd := self._rows.get(operator.id)) is not None}

    def records_in(self, trace: LineageFrame) -> dict[int, Any]:
        """The sources of a query, reachable from where a trace stands, that were made of RDDs, with these."""
        return {source: fed.records for source, fed in _reachable(trace, self._fed).items()}

    def originals_in(self, trace: LineageFrame) -> dict[int, DataFrame]:
        """The same sources that are checkpoints, with the DataFrames that they were taken of, as far as somebody holds them."""
        return _reachable(trace, self._checkpoints)

    def framed_in(self, trace: LineageFrame) -> dict[int, Framed]:
        """The sources of a query that were made of frames that steps gave."""
        questions = trace.run.questions
        found = {source: self._framed.of(questions.catalyst, leaf.node) for source, leaf in questions.leaves.items() if not leaf.files}
        return {source: framed for source, framed in found.items() if framed is not None}

    def unknown_in(self, trace: LineageFrame) -> list[str]:
        """What there is to say of a query's sources in memory of which nobody knows what they were made of: a checkpoint of a DataFrame that is gone, say."""
        known = {*self.records_in(trace), *self.originals_in(trace)}
        held = {source: leaf for source, leaf in trace.run.questions.leaves.items() if leaf.node.nodeName() == "LogicalRDD" and source not in known}
        return list(dict.fromkeys(_unknown(leaf) for leaf in held.values() if int(leaf.node.rdd().id()) not in self.given))


def _unknown(leaf: Leaf) -> str:
    """Why the rows of a source lead no further. It may have no name but that of the call that most such sources come from, which is none of its own."""
    name = "" if leaf.dataset == IN_MEMORY else f"{leaf.name}: "
    if leaf.node.rdd().isCheckpointed():
        return f"{name}a checkpoint has its rows, and nothing is known behind them, for nothing holds the DataFrame that it was taken of: keep that in a variable"
    return f"{name}its rows were made of an RDD by a call that is not followed (spark.read.csv(rdd), say), and nothing is known behind them"


def _reachable(trace: LineageFrame, known: Mapping[int, Any]) -> dict[int, Any]:
    """By source, what is known of those that read an RDD, by the JVM's number of it."""
    graph, leaves = trace.run.graph, trace.run.questions.leaves
    reachable = {source for operator in trace.operators for source in graph.upstream(operator)}
    nodes = {source: leaf.node for source, leaf in leaves.items() if source in reachable and leaf.node.nodeName() == "LogicalRDD"}
    found = {source: known.get(node.rdd().id()) for source, node in nodes.items()}
    return {source: what for source, what in found.items() if what is not None}


def _number(frame: DataFrame) -> int:
    """What the JVM calls the rows that a DataFrame reads; -1 if it reads none."""
    try:
        leaf = Catalyst.plan(frame).collectLeaves().head()
        return int(leaf.rdd().id()) if leaf.nodeName() == "LogicalRDD" else -1
    except Exception as trouble:  # the user's call comes first
        log.warning("bigdebug could not note where %s comes from: %s", frame, trouble)
        return -1
