"""The debug session: joins a SparkSession with what bigdebug keeps for it. Wiring only."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from bigdebug.datasets.questions import Datasets
from bigdebug.errors import NotCapturedError, StoreError
from bigdebug.shown import masking
from bigdebug.spark.across.runs import RunSteps
from bigdebug.spark.attachment import (
    check_frame,
    check_session,
    install,
    is_frame,
    is_remote,
    plain_context,
    running_session,
    uninstall,
)
from bigdebug.spark.brushing import marks_of
from bigdebug.spark.capturing import Capturing
from bigdebug.spark.crossing import Crossing
from bigdebug.spark.datasets.attached import Attached
from bigdebug.spark.datasets.processes import CellAt
from bigdebug.spark.feeding import Feeding
from bigdebug.spark.indexing import Indexing
from bigdebug.spark.inquiry import Inquiry
from bigdebug.spark.jobs import Jobs, followed
from bigdebug.spark.masks import mask
from bigdebug.spark.process import alive
from bigdebug.spark.rdd.captured import Captured
from bigdebug.spark.rdd.context import LineageContext
from bigdebug.spark.rdd.lineage_rdd import LineageRDD, lineage_of, trace_of
from bigdebug.spark.rdd.stepping import step
from bigdebug.spark.sql import lineage_frame
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.spark.sql.recorder import FrameRecorder
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.store.directory import LineageStore
from bigdebug.store.filesystems import Address
from bigdebug.store.named import named
from bigdebug.trace.capture import Capture
from bigdebug.trace.crossfilter.marks import Marks
from bigdebug.trace.run import Run
from bigdebug.trace.stepped import Stepped

_sessions: dict[Any, DebugSession] = {}
"""By SparkSession; the latest of each, attached or not."""


def attach(spark: Any, store: str | os.PathLike[str] | None = None, store_options: Mapping[str, Any] | None = None) -> DebugSession:
    """The debug session of ``spark``; attaching again returns the same one, also after ``detach``.

    ``store`` is where lineage goes: a directory, a new private temporary one if None, or a URI (``s3://bucket/path``, hdfs, gs, abfss, or what fsspec
    knows), which tasks reach, too, or else the driver for them. ``store_options`` is what pyarrow's filesystem takes (for S3 ``access_key``, ``endpoint_override``
    and so on), where the environment does not say it: nothing shows it, and tasks get it. A detached session that kept
    its lineage elsewhere stays as it is, and a new one begins. Raises StoreError if the store cannot be made, or reached within seconds, TypeError
    or ValueError for what is no running SparkSession or names no place. Costs no Spark job.
    """
    check_session(spark)
    place = named(store, store_options)
    for stopped in [s for s, known in _sessions.items() if known.context._jsc is None]:
        del _sessions[stopped]
    known = _sessions.get(spark)
    # Of a session that is made of one which is attached, the context is that one's, and so is what it keeps.
    keeps: Any = known._recorder if known is not None else getattr(spark.sparkContext, "_bigdebug", None)
    elsewhere = keeps is not None and place is not None and not keeps.store.is_below(place)
    if elsewhere and (_attached(keeps) if known is None else known.attached):
        address = keeps.store.address
        raise StoreError(
            f"This session keeps its lineage in {address if isinstance(address, str) else address.where()} already", value=getattr(place, "shown", None) or str(place),
            remedy="Name the store, with its options, when you attach first, or detach before: what was attached first, if several sessions share a SparkContext.",
        )
    if elsewhere:
        spark._sc = keeps.sc  # detach gave it back to the session that was attached, not to those that were made of it
    if known is None or elsewhere:
        known = _sessions[spark] = DebugSession(spark, None if keeps is not None and not elsewhere else place)
    if not known.attached:
        install(spark, known.context, known._frames)
        known._frames.heard.open()
        known._recorded.open()
        known.attached = known._recorder.armed = True
    return known


def _attached(recorder: Any) -> bool:
    """Whether any session, or a LineageContext that somebody made by himself, keeps its lineage there."""
    return bool(recorder.armed) or _shared(recorder)


def _shared(recorder: Any, but: DebugSession | None = None) -> bool:
    """Whether any session that is attached, ``but`` this one, keeps its lineage there."""
    return any(session is not but and session.attached and session._recorder is recorder for session in _sessions.values())


def active_session(join: bool = True) -> DebugSession | None:
    """The debug session of the SparkSession that is running; None if there is none.

    One that is not attached is attached now, unless ``join`` is false.
    """
    spark = running_session()
    if spark is None or not (join or (spark in _sessions and _sessions[spark].attached)):
        return None
    return attach(spark)


def _trace_of(run: str) -> Any:
    """The trace over the outputs of a run, by its id, of whichever session knows it."""
    for session in _sessions.values():
        for known in session.runs:
            if known.id == run:
                return session.lineage(known)
    raise NotCapturedError("No session knows this run any more", value=run, remedy="Run the job again under capture.")


class DebugSession(Capturing, Indexing, Feeding, Inquiry):
    """Everything bigdebug does for one SparkSession. Made by ``attach``."""

    def __init__(self, spark: Any, store: Path | Address | None = None) -> None:
        self.spark = spark
        self.context = LineageContext(spark.sparkContext, None if store is None else LineageStore.private(store))
        self.attached = False
        self._recorder = self.context._bigdebug
        self._frames = FrameRecorder(spark, self._recorder)
        self._recorder.crossing = self._frames.crossing = Crossing(self._recorder, self._frames)
        self._steps = RunSteps(self._recorder, self._frames, self._recorder.crossing)
        self._recorded = Attached(self.context, self.plain_context, self._recorder, self._frames, _trace_of)
        self.datasets: Datasets = self._recorded.datasets
        """Which data feeds which, over all sessions and notebooks of this user: ``dbg.datasets.upstream("orders")``."""

    @property
    def running(self) -> bool:
        """Whether its Spark runs: it has not been stopped, nor has its process ended."""
        return alive(self.context)

    @property
    def store(self) -> Path | str:
        """The directory where lineage is kept, or its URI."""
        address = self._recorder.store.address
        return Path(address) if isinstance(address, str) else address.where()

    def detach(self) -> None:
        """Give the SparkSession its own context back. RDDs made before keep their lineage; capture ends, unless another session of the context is attached."""
        self._frames.rest()
        if not _shared(self._recorder, but=self):
            self._recorder.captures.end()
            self._recorder.watching.close()
            self._recorder.rest()
            self._recorder.armed = False
        if self.attached:
            self.attached = False
            self._frames.heard.close()
            self._recorded.close()
            others = [other for other in _sessions.values() if other.attached and other.context._jsc is not None]
            uninstall(self.spark, self.context, last=not others)
            if all(other.datasets is not self.datasets for other in others):
                self.datasets.stop_sending()
                self.datasets.store.close()

    def name_cells(self, cell_at: CellAt) -> None:
        """From here on what is recorded says which cell of a notebook it was begun in: the one that ``cell_at`` tells of a time."""
        self._recorded.name_cells(cell_at)

    @property
    def progress(self) -> bool:
        """Whether questions that take longer than a second show a bar, in a terminal or after %load_ext; can be set."""
        return self._recorder.progress

    @progress.setter
    def progress(self, shown: bool) -> None:
        self._recorder.progress = shown

    @property
    def mask(self) -> str | None:
        """A regular expression, ``dbg.mask = r"sk-\\w+|password=\\S+"``: wherever bigdebug shows a record, a variable, a message or a line,
        *** stands for what it matches within a line. None: nothing is secret. It is a process's, and BIGDEBUG_MASK in the environment
        sets it as well.

        What is held stays what it is: ``culprit.record``, ``message``, pickles in letters, and names of datasets and files, by which they are found. What ``save``
        writes is as it is shown. Raises re.error for what is no pattern.
        """
        return masking()

    @mask.setter
    def mask(self, pattern: str | None) -> None:
        mask(self.context, pattern)

    @property
    def plain_context(self) -> Any:
        """The SparkContext that ``context`` stands for."""
        return plain_context(self.context)

    def following(self) -> AbstractContextManager[Jobs]:
        """Within: the jobs of this thread, which others may count (``tasks``) and end (``cancel()``)."""
        return followed(self.context)

    def step(self, what: Any, debug: bool = False) -> list[Stepped]:
        """What an operator gives of a record, in this process; each answer leads on with ``next()`` (a simulated breakpoint, BigDebug 4.1).

        ``what`` is a culprit of an RDD program, which steps into the operator that it crashed, or a trace over RDDs at one operator, of
        which each record steps into the operators that read it. Functions are given copies; records themselves where there are none, and a note.
        With ``debug`` they run under Python's debugger. Costs no job for a culprit; of a trace of a run that failed all culprits are looked for.
        Raises ReplayError for operators that take more than a record at a time, and for a record on which a worker ended: this process would end,
        too, and with ``debug`` it does, if nobody quits before. TypeError for what is neither.
        """
        return step(self._recorder, what, debug)

    @staticmethod
    def traceable(what: Any) -> bool:
        """True if ``lineage`` takes such a thing: an RDD with lineage, a run, what ``capture`` gave, or a trace."""
        return isinstance(what, (Captured, Capture, LineageRDD, LineageFrame, Run)) or is_frame(what)

    def lineage(self, what: Any) -> Any:
        """The trace over all records of an RDD or rows of a DataFrame, or over what a run's action was called on.

        A LineageRDD or a LineageFrame. A DataFrame of which no action was captured is traced as it is now.
        """
        if isinstance(what, LineageRDD | LineageFrame):
            return what
        if is_frame(what) or is_remote(what):
            check_frame(what, self.spark)
            return lineage_frame.lineage_of(self._frames.asked(what))
        if isinstance(what, Captured):
            return lineage_of(what)
        run = what.latest if isinstance(what, Capture) else what
        if isinstance(run, FrameRun) and run in self._frames.runs:
            return lineage_frame.lineage_of(run)
        if isinstance(run, Run) and run in self._recorder.runs:
            return trace_of(self._recorder, run, run.subject)
        if isinstance(run, Run):
            raise NotCapturedError(
                "This session does not know this run: it has been forgotten, or is of another session", value=run.name,
                remedy="Run the job again under capture, or ask the debug session that captured it.",
            )
        raise NotCapturedError(
            "Lineage is known for DataFrames, RDDs of dbg.context and runs of this session", value=what,
            remedy="Make the RDD with dbg.context (or the sc that %load_ext bigdebug put in place).",
        )

    def marks(self, *whats: Any, names: Sequence[str] | None = None, over: str | None = None) -> tuple[Marks, ...]:
        """The outputs of DataFrames, RDDs or runs that share an input, as marks of linked views: what each shows, and which records of the input made it.

        ``names`` are what the results are called, ``over`` names the input, if they share several; else it is the one of most records. Columns that follow a brush are
        counts, sums, means, minima, maxima and distinct counts of a group-by, and what Spark computes of these; ``notes`` say why others do not.

        A DataFrame takes a job, and those that group the same rows one together, which brings a line for each record to the driver: with four group-bys of 24 million
        rows on two cores 29 s, and 150 bytes a row meanwhile. An RDD takes what tables of lineage are not there yet, and a second for some millions of records. Raises
        ViewError for results that share no input, or in which rows appear because others are not there; TooLargeError for more than a million outputs.
        """
        return marks_of([self.lineage(what) for what in whats], names, over)

    def __repr__(self) -> str:
        capture = "on" if self.context.isCaptureLineage() else "off"
        return f"<debug session of {self.context.appName!r}: {len(self.runs)} runs, capture {capture}, lineage in {self.store}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return replace(self.runs_table(), caption=repr(self))._repr_mimebundle_()
