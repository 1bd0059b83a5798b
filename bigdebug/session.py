"""The debug session: joins a SparkSession with what bigdebug keeps for it. Wiring only."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bigdebug import actors
from bigdebug.actors.copying import copy_joined
from bigdebug.datasets.questions import Datasets
from bigdebug.errors import NotCapturedError, StoreError
from bigdebug.shown import masking, shown
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
from bigdebug.spark.crossing import Crossing
from bigdebug.spark.datasets.attached import Attached
from bigdebug.spark.datasets.processes import CellAt
from bigdebug.spark.inquiry import Inquiry
from bigdebug.spark.jobs import Jobs, followed
from bigdebug.spark.masks import mask
from bigdebug.spark.policies import policy_of
from bigdebug.spark.process import alive
from bigdebug.spark.rdd.captured import Captured
from bigdebug.spark.rdd.context import LineageContext
from bigdebug.spark.rdd.lineage_rdd import LineageRDD, lineage_of, trace_of
from bigdebug.spark.rdd.outputs import check_letting_go
from bigdebug.spark.rdd.stepping import step
from bigdebug.spark.saving import keeping
from bigdebug.spark.sql import lineage_frame
from bigdebug.spark.sql.dependencies import Violations, violations
from bigdebug.spark.sql.indexes import built_table
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.spark.sql.recognized import index
from bigdebug.spark.sql.recorder import FrameRecorder
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.spark.sql.workloads import Workload
from bigdebug.store.directory import LineageStore
from bigdebug.store.filesystems import Address
from bigdebug.store.named import named
from bigdebug.trace.across.pipelines import Pipeline
from bigdebug.trace.capture import Capture, each_run
from bigdebug.trace.crossfilter.marks import Marks
from bigdebug.trace.given import labels
from bigdebug.trace.run import Run, runs_table
from bigdebug.trace.saving import save
from bigdebug.trace.stepped import Stepped
from bigdebug.trace.table import Table
from bigdebug.trace.watch import Watch

if TYPE_CHECKING:
    from bigdebug.provgraph.workflow import Workflow
    from bigdebug.spark.provgraph.graph import SparkGraph
    from bigdebug.spark.provgraph.provenance import IndexedGraph

STRATEGIES = ("auto", "inject", "defer", "lazy")

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
    elsewhere = known is not None and place is not None and not known._recorder.store.is_below(place)
    if known is None or (elsewhere and not known.attached):
        known = _sessions[spark] = DebugSession(spark, place)
    elif elsewhere:
        raise StoreError(
            f"This session keeps its lineage in {known.store} already", value=getattr(place, "shown", None) or str(place),
            remedy="Name the store, with its options, when you attach first, or dbg.detach() before.",
        )
    if not known.attached:
        install(spark, known.context, known._frames)
        known._frames.heard.open()
        known._recorded.open()
        known.attached = known._recorder.armed = True
    return known


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


class DebugSession(Inquiry):
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
        """Give the SparkSession its own context back. RDDs made before keep their lineage; capture ends."""
        self._recorder.captures.end()
        self._recorder.watching.close()
        self._recorder.rest()
        self._frames.rest()
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

        What is held stays what it is: ``culprit.record``, ``message``, pickles in letters. Raises re.error for what is no pattern.
        """
        return masking()

    @mask.setter
    def mask(self, pattern: str | None) -> None:
        mask(self.context, pattern)

    @property
    def plain_context(self) -> Any:
        """The SparkContext that ``context`` stands for."""
        return plain_context(self.context)

    def runs_table(self) -> Table:
        """The runs as a table."""
        return runs_table(self.runs)

    @property
    def runs(self) -> tuple[Run, ...]:
        """Captured runs, oldest first; among them DataFrames that were asked about though no action on them was captured."""
        users = [run for run in self._recorder.runs if run.id not in self._recorder.crossing.runs]
        return tuple(sorted([*users, *self._frames.runs], key=lambda run: int(run.id[1:])))

    @cached_property
    def pipeline(self) -> Pipeline:
        """The captured runs of this session and the actors of this user (``bigdebug.actors``) as steps, joined by the files between them.

        ``dbg.pipeline.backward("out.csv", lines=[12])``, ``forward("orders.csv", lines=[17])``, also of a trace or a culprit; ``add(bigdebug.open(dir))`` adds
        what was saved. Costs nothing before it is asked.
        """
        return Pipeline(self._steps.steps, actors.steps)

    @contextmanager
    def capture(
        self, name: str | None = None, strategy: str = "auto", on_crash: Any = "fail", most: int = 1_000,
        letters: str | os.PathLike[str] | None = None,
    ) -> Iterator[Capture]:
        """Capture the actions of a block. Gives the runs; used as a run, it is the latest of them.

        ``strategy`` says where the lineage of RDDs lives: "inject" keeps it beside the tasks, "lazy" keeps counts and
        digests and derives tables when a trace first needs them, "auto" keeps what is not too large (Titian 4.7).
        DataFrames run as they are and are asked later ("lazy"); "auto" writes the time into queries that ask a clock, and keeps
        what they draw (rand, samples) where that changes nothing and is little: collect() and its like, over at most 256 MiB;
        "inject" keeps it for all actions but writes, and limits too, and indexes the rest at once; "defer" builds indexes in
        think time (Smoke 3.2).

        ``on_crash`` says what becomes of records that crash: "fail" (Spark's exception, which tells of them), "skip" (they
        are left out), a function that gives another record for one that crashed, to go on with, or "decide": left out until
        ``run.resume(...)`` says otherwise. A dict says it by RDD. ``run.culprits`` has them, ``most`` of each task in full; all of them
        go into the directory ``letters``, for ``bigdebug.read_letters``. What Spark would reuse of such a run is computed anew by others.
        Records of RDDs pass one by one through guards, which takes up to half as long again as without; actions on DataFrames fail, and
        are called again over the query without what crashed. Writes, foreach(), toLocalIterator() and df.rdd fail (BigDebug 4.3, 5).
        """
        policy = policy_of(on_crash, most, letters)
        if policy is not None:
            check_letting_go(self.context)
        if not isinstance(name, str | None):
            raise TypeError(f"the name of a capture is text, not {name!r}; dbg.capture('errors'), or none at all")
        if strategy not in STRATEGIES:
            raise ValueError(f"strategy is one of {', '.join(STRATEGIES)}, not {strategy!r}")
        capture = Capture(name)
        with self._recorder.captures.opened(name, strategy, capture.runs.append, None if policy is None else policy.packed()):
            yield capture

    @contextmanager
    def skip(self) -> Iterator[None]:
        """Operators defined within keep no lineage of their own: chosen iterations of a loop, say.

        A trace still passes through them: it derives what it needs, at the price of computing those stages again.
        """
        before, self._recorder.skipping = self._recorder.skipping, True
        try:
            yield
        finally:
            self._recorder.skipping = before

    def following(self) -> AbstractContextManager[Jobs]:
        """Within: the jobs of this thread, which others may count (``tasks``) and end (``cancel()``)."""
        return followed(self.context)

    def save(self, path: str | os.PathLike[str], runs: Run | Capture | Iterable[Run] | None = None, *, lineage: bool = False) -> Path:
        """Save runs (all, if None; one, those of a capture) with their lineage into a new directory, for ``bigdebug.open``.

        Of RDD programs that is what was captured, and the same in files that are mapped, some 8 bytes for each association: a saved run is asked in milliseconds
        however large it is. Of DataFrames it is what ``index`` has built by then, and the rows that the action gave, up to 100,000. No job runs.
        With ``lineage``, what else is needed is derived: of a DataFrame by jobs that take about as long as its query, and as many bytes; of an RDD program by
        the stages whose lineage was not kept, and one for its result's records, up to 10,000; and what a query wrote to files is read again, to know which row stands where
        (``bigdebug.open(path).pipeline``). Actors that read or wrote the same files are copied. ``bigdebug.open(path).runs_table()`` says what of each run is there.
        """
        return save(self.runs if runs is None else each_run(runs), self._recorder.store, path, keeping(self._recorder, self._steps, derive=lineage), copy_joined)

    def violations(self, frame: Any, *dependencies: str | Sequence[str], form: str = "ug") -> Violations:
        """The values that violate functional dependencies among the rows of a DataFrame, with the rows responsible.

        ``dbg.violations(df, "zip -> city", "npi -> name")``. ``form`` is how they are found (Smoke 6.5.2): "ug" in indexes that
        the dependencies share, one job in all; "cd" by COUNT(DISTINCT), two jobs for each. Values are equal where Spark takes them
        for equal. Raises UnknownColumnError for names of no column, or of several.
        """
        check_frame(frame, self.spark)
        texts: list[Any] = []
        for given in dependencies:
            texts += given if isinstance(given, list | tuple) else [given]
        return violations(self._frames, frame, texts, form)

    def index(self, what: Any) -> Table:
        """Keep the lineage of a DataFrame, or of one of its runs, in indexes: questions take milliseconds then.

        Takes about as long as the query, and some 16 bytes of memory for each record and source that took part; less if
        ``declare`` says what will be asked. Gives the indexes, their sizes and seconds. Strategy "defer" does it by itself in
        think time (Smoke 3.2). Raises TooLargeError if the driver would not hold them.
        """
        trace = self.lineage(what)
        if not isinstance(trace, LineageFrame):
            raise TypeError(f"index() is for DataFrames and their runs, not {shown(what)}; traces of RDDs read tables as they are")
        questions = trace.run.questions
        index(trace.run)
        return built_table(questions.built, "" if questions.declared is None else str(questions.declared.workload))

    def declare(
        self, frame: Any, relations: str | Iterable[str] = (), direction: str = "both", where: Any = None,
        partition_by: str | Iterable[str] = (), group_by: str | Iterable[str] = (), sums: str | Iterable[str] = (),
    ) -> Workload:
        """Say what will be asked of a DataFrame, so that its indexes hold that and no more (Smoke 4).

        ``relations`` are those that traces lead back to, all if none; ``direction`` is "backward", "forward" or "both". Of one
        relation: ``where`` is a condition that will be asked of its traced rows, ``partition_by`` columns of which values
        will be (``trace["lineitem"].where("l_shipmode = 'AIR'")``), ``group_by`` columns by which they will be counted, and
        ``sums`` summed (``trace["lineitem"].grouped("l_shipmode")``). Other questions are answered too, by jobs. Costs no job:
        ``index``, or strategy "defer", builds, and ``index`` shows the sizes and seconds.
        """
        check_frame(frame, self.spark)
        columns = labels(() if partition_by is None else partition_by)
        workload = Workload(labels(relations), direction, where, columns, labels(group_by), labels(sums))
        return self._frames.declare(frame, workload)

    def wait_for_indexes(self, timeout: float | None = None) -> bool:
        """Wait until the indexes are built that strategy "defer" builds in think time; False if they are not after ``timeout`` seconds."""
        if not isinstance(timeout, int | float | None):
            raise TypeError(f"timeout is a number of seconds, or None for as long as it takes, not {shown(timeout)}")
        return self._frames.think_time.wait(timeout)

    def step(self, what: Any, debug: bool = False) -> list[Stepped]:
        """What an operator gives of a record, in this process; each answer leads on with ``next()`` (a simulated breakpoint, BigDebug 4.1).

        ``what`` is a culprit of an RDD program, which steps into the operator that it crashed, or a trace over RDDs at one operator, of
        which each record steps into the operators that read it. With ``debug`` functions run under Python's debugger. Costs no job for
        a culprit. Raises ReplayError for operators that take more than a record at a time, TypeError for what is neither.
        """
        return step(self._recorder, what, debug)

    def watch(
        self, op: Any = None, guard: Callable[[Any], Any] | None = None, *, timeout: float | None = None, slow: float | None = None,
        most: int = 1_000, rate: int = 1_000,
    ) -> Watch:
        """Look at records of RDD programs while their jobs run (on-demand watchpoints and latency, BigDebug 4.2, 4.4).

        ``dbg.watch(rdd, lambda r: r < 0)`` is told of records of an RDD, also inside a chain of maps, for which the guard holds: ``rate`` a
        second from each task at most, of which the latest ``most`` are kept. With ``timeout`` it names records on which a function has been
        for more seconds than that, with the line where it is; with ``slow`` those that took so many standard deviations (and a
        millisecond) longer than others, of one RDD's function or of all.

        It is on, for actions that begin from now on, until ``stop()`` or the end of its ``with`` block; each of these actions makes a
        run, for traces. What Spark has computed before and reads again does not pass. The guard can be set while a job runs; what it
        raises is on ``errors``, and changes nothing else. A record costs a call of the guard and 0.1 µs, with ``timeout`` some 0.1 µs
        for each operator that it passes, with ``slow`` 0.4 µs. Raises TypeError for a DataFrame, or a guard without an RDD.
        """
        return self._recorder.watching.open(op, guard, timeout, slow, most, rate)

    @property
    def watches(self) -> tuple[Watch, ...]:
        """The watches that are on, oldest first."""
        return self._recorder.watching.on

    def forget(self, runs: Run | Capture | Iterable[Run] | None = None) -> None:
        """Forget runs (all, if None) with their lineage, and let Spark clean up what they alone hold: shuffles, files.

        The RDDs stay; an action under capture makes a new run. Traces over RDDs of a forgotten run raise NotCapturedError; those over
        DataFrames keep what they hold, and go with the last of them.
        """
        every = [*self._recorder.runs, *self._frames.runs]
        for run in every if runs is None else each_run(runs):
            self._frames.forget(run) if isinstance(run, FrameRun) else self._recorder.forget(run)
        if runs is None:
            self._recorder.runs.sweep()

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

    def provenance(
        self, triples: Any, workflow: Workflow | None = None, plan: str = "auto", *, at: str | os.PathLike[str] | None = None, memory: str | int = "1g",
        columns: Sequence[str | None] | None = None, threshold: int | None = None, splits: Any = None, strict: bool = False, replace: bool = False,
        values: bool = False, tables: Mapping[str, Any] | None = None,
    ) -> SparkGraph | IndexedGraph:
        """The provenance graph of triples (src, dst, op) in a DataFrame; ids are integers or texts, and ``columns`` names theirs, None for op if there are none.

        ``plan`` says how questions are answered. "index": in milliseconds, from an index that is built in the directory ``at`` of this machine (a temporary one
        if None) within ``memory``; ``bigdebug.open(at)`` opens it again, and ``replace`` builds it anew. By the plans of Rajmohan et al., in some Spark jobs each, where only a cluster holds the
        graph: "rq" goes level by level, "ccprov" through the component of the item, "csprov" through the sets that components of ``threshold`` items (25,000 if None) or more fall into along
        ``splits`` of the workflow (lists of tables; found if None). "auto": the index, if half of the free disk takes it; else csprov, or without a workflow ccprov.

        Of a run, or of what ``capture`` gave: the graph of its lineage. Items are the records of its sources, of its result, and of operators between, those where goBack()
        stops and those that ``tables`` names (``tables={"delays": df}``); with ``values``, those of DataFrames are values of columns, as ``trace.columns`` tells of
        them. Its questions take traces over the run, too, and ``graph.traces(answer)`` gives traces. Raises UntraceableError where lineage is more than which
        records were made of which.

        The triples are read once, when this is called, and are not looked at later. Raises ProvenanceError for columns without ids, and if ``strict`` for triples
        that are not clean; else the log and ``report`` say what was left out. ``close()`` of a graph in Spark lets go of what it holds there.
        """
        # A tenth of a second, for which attaching need not wait.
        from bigdebug.spark.provgraph.provenance import check_given, check_triples, provenance
        from bigdebug.spark.provgraph.runs import exported

        if isinstance(triples, Run | Capture):
            other = None if plan in ("auto", "index") else plan
            check_given("a run", workflow=workflow, plan=other, columns=columns, threshold=threshold, splits=splits, strict=strict)
            return exported(self.spark, self.lineage(triples), values, tables or {}, at, memory, self.progress, replace)
        check_triples(triples)
        check_frame(triples, self.spark)
        check_given("triples", values=values, tables=tables)
        return provenance(
            triples, workflow, plan, at=at, memory=memory, columns=columns, threshold=threshold, splits=splits, strict=strict, replace=replace, progress=self.progress,
        )

    def __repr__(self) -> str:
        capture = "on" if self.context.isCaptureLineage() else "off"
        return f"<debug session of {self.context.appName!r}: {len(self.runs)} runs, capture {capture}, lineage in {self.store}>"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return replace(self.runs_table(), caption=repr(self))._repr_mimebundle_()
