"""Capturing: what a debug session records of a program while it runs, and keeps: runs of its actions, and records that a watch looks at."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bigdebug.actors.copying import copy_joined
from bigdebug.spark.across.runs import RunSteps
from bigdebug.spark.policies import policy_of
from bigdebug.spark.rdd.context import LineageContext
from bigdebug.spark.rdd.outputs import check_letting_go
from bigdebug.spark.rdd.recorder import Recorder
from bigdebug.spark.saving import keeping
from bigdebug.spark.sql.recorder import FrameRecorder
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.trace.capture import STRATEGIES, Capture, each_run
from bigdebug.trace.run import Run, runs_table
from bigdebug.trace.saved.saving import save
from bigdebug.trace.table import Table
from bigdebug.trace.watch import Watch


class Capturing:
    """The runs and the watches of a session: those of RDD programs are kept by its ``_recorder``, those of DataFrames in ``_frames``; ``_steps`` knows the files of both."""

    context: LineageContext
    _recorder: Recorder
    _frames: FrameRecorder
    _steps: RunSteps

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
        ``run.resume(...)`` says otherwise. Where that function raises itself, a record of an RDD is left out, and its culprit says so; an action on a
        DataFrame fails, with a note of it. A dict says it by RDD. It says so for actions of this thread and of those that begin within the block:
        those of threads that ran before fail as ever. ``run.culprits`` has them, ``most`` of each task in full; all of them
        go into the directory ``letters``, for ``bigdebug.read_letters``. What Spark would reuse of such a run is computed anew by others.
        A function over an iterator that crashes is called again on what it had read since it gave something, and adds to accumulators again.
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
        """Operators that this thread defines within keep no lineage of their own: chosen iterations of a loop, say.

        A trace still passes through them: it derives what it needs, at the price of computing those stages again.
        """
        with self._recorder.skipping():
            yield

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
        raises is on ``errors``, and changes nothing else. It is given copies of records that may change, or, of what cannot be pickled and of
        classes that say themselves what is pickled of them, the record; iterators, of which a look would take something, are not shown to it, and
        are on ``errors``, too. A record costs a call of the guard and 0.2 µs, a copy 1 µs for a dictionary of ten
        texts and numbers, 4 µs for one of ten lists, and some 10 µs for an object of a class; with ``timeout`` it costs some 0.1 µs for each operator that it passes, with ``slow`` 0.4 µs.
        Raises TypeError for a DataFrame, or a guard without an RDD, IncompleteLineageError where Spark has been stopped.
        """
        return self._recorder.watching.open(op, guard, timeout, slow, most, rate)

    @property
    def watches(self) -> tuple[Watch, ...]:
        """The watches that are on, oldest first."""
        return self._recorder.watching.on

    @property
    def runs(self) -> tuple[Run, ...]:
        """Captured runs, oldest first; among them DataFrames that were asked about though no action on them was captured."""
        users = [run for run in self._recorder.runs if run.id not in self._recorder.crossing.runs]
        return tuple(sorted([*users, *self._frames.runs], key=lambda run: int(run.id[1:])))

    def runs_table(self) -> Table:
        """The runs as a table."""
        return runs_table(self.runs)

    def save(self, path: str | os.PathLike[str], runs: Run | Capture | Iterable[Run] | None = None, *, lineage: bool = False) -> Path:
        """Save runs (all, if None; one, those of a capture) with their lineage into a new directory, for ``bigdebug.open``.

        Of RDD programs that is what was captured, and the same in files that are mapped, some 8 bytes for each association: a saved run is asked in milliseconds
        however large it is. Of DataFrames it is what ``index`` has built by then, if that has all records (where groups
        are grouped again, or joined, an index has those alone that the result was made of), and the rows that the action gave, up to 100,000. No job runs.
        With ``lineage``, what else is needed is derived: of a DataFrame by jobs that take about as long as its query, and as many bytes; of an RDD program by
        the stages whose lineage was not kept, and one for its result's records, up to 10,000; and what a query wrote to files is read again, to know which row stands where
        (``bigdebug.open(path).pipeline``). Actors that read or wrote the same files are copied. ``bigdebug.open(path).runs_table()`` says what of each run is there.
        """
        return save(self.runs if runs is None else each_run(runs), self._recorder.store, path, keeping(self._recorder, self._steps, derive=lineage), copy_joined)

    def forget(self, runs: Run | Capture | Iterable[Run] | None = None) -> None:
        """Forget runs (all, if None) with their lineage, and let Spark clean up what they alone hold: shuffles, files.

        The RDDs stay; an action under capture makes a new run. Traces over RDDs of a forgotten run raise NotCapturedError; those over
        DataFrames keep what they hold, and go with the last of them. A StoreError says that blocks could not be removed: the runs are forgotten, and the next call tries again.
        Raises NotCapturedError for a run of another session.
        """
        chosen = [*self._recorder.runs, *self._frames.runs] if runs is None else list(each_run(runs))
        for run in chosen:
            if isinstance(run, FrameRun):
                self._frames.forget(run)
        self._recorder.forget(*(run for run in chosen if not isinstance(run, FrameRun)))
        self._steps.sweep()
        if runs is None:
            self._recorder.runs.sweep()
