"""The recorder: what bigdebug keeps for one SparkContext. It sees definitions and actions, and makes runs of actions."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from bigdebug.errors import NotCapturedError
from bigdebug.graph import Form, Kind, Operator
from bigdebug.spark.callers import caller
from bigdebug.spark.captures import Captures
from bigdebug.spark.rdd.compiler import Compiler
from bigdebug.spark.rdd.definition import UNKNOWN, Definition, Lowering
from bigdebug.spark.rdd.runs import Action, Runs
from bigdebug.spark.streams import Streams
from bigdebug.store.directory import LineageStore
from bigdebug.trace.origins import SourceFacts
from bigdebug.trace.run import Run

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext

    from bigdebug.spark.rdd.questions import Questions
    from bigdebug.spark.rdd.recorded import Recorded as Captured

log = logging.getLogger("bigdebug")

_BESIDE = 4
"""Actions whose files are looked at at the same time, each while its job runs."""

RUN_PROPERTY, STRATEGY_PROPERTY = "bigdebug.run", "bigdebug.strategy"


class _ThreadState(threading.local):
    depth = 0
    action: Action | None = None
    composing: Form | None = None


class Recorder:
    """Definitions, actions and runs of one SparkContext. Thread-safe: what is in progress is kept by thread."""

    def __init__(self, sc: SparkContext, store: LineageStore) -> None:
        self.sc = sc
        self.store = store
        self.captures = Captures()
        self.skipping = False
        self.progress = True
        self.crossing: Any = None
        """Knows where DataFrames begin and end; put there by whoever knows both."""
        self.runs = Runs(sc, store)
        self.streams = Streams(sc)
        self.beside = ThreadPoolExecutor(_BESIDE, "bigdebug")
        self._ids = itertools.count(1)
        self._stage_ids = itertools.count(1)
        self._run_ids = itertools.count(1)
        self._state = _ThreadState()
        self._questions: dict[str, Questions] = {}
        self.compiler = Compiler(self)

    # ---- definitions ------------------------------------------------------------------------------------------

    @property
    def defining(self) -> bool:
        return self._state.depth > 0

    @contextmanager
    def plain(self) -> Iterator[None]:
        """Within: PySpark's own code runs as if there were no bigdebug."""
        self._state.depth += 1
        try:
            yield
        finally:
            self._state.depth -= 1

    @property
    def composing(self) -> Form | None:
        """The known form of a function over an iterator that PySpark is about to pass to mapPartitions."""
        return self._state.composing

    @contextmanager
    def composing_as(self, form: Form) -> Iterator[None]:
        before, self._state.composing = self._state.composing, form
        try:
            yield
        finally:
            self._state.composing = before

    def captured(self, rdd: Any) -> Captured:
        """``rdd`` if it is captured here; else a captured twin of it that stands as a source."""
        from bigdebug.spark.rdd.recorded import Recorded
        from bigdebug.spark.rdd.sources import outside

        return rdd if isinstance(rdd, Recorded) and rdd._recorder is self else outside(self, rdd)

    def operator(
        self, name: str, kind: Kind, form: Form, parents: Sequence[Captured],
        dataset: str | None = None, detail: dict[str, Any] | None = None,
    ) -> Operator:
        site, method = caller()
        known = dict(detail or {})
        if self._state.action is not None:
            known["internal"] = True
            method = self._state.action.name
        if self.skipping:
            known["skipped"] = True
        return Operator(
            id=next(self._ids), name=name if method in (name, "<module>") else f"{method}.{name}", kind=kind, form=form,
            parents=tuple(p._definition.operator.id for p in parents), partitions=UNKNOWN,
            call_site=site, dataset=dataset, detail=known,
        )

    def adopt(
        self, rdd: RDD[Any], operator: Operator, parents: Sequence[Captured], lowering: Lowering,
        again: Callable[[Sequence[RDD[Any]]], RDD[Any]],
    ) -> Captured:
        """Make ``rdd``, as PySpark built it, a captured RDD: the same object, with a memory of its operator."""
        from bigdebug.spark.rdd.captured import into_captured

        fused = tuple(not (p.is_cached or p.is_checkpointed or p.has_resource_profile) for p in parents)
        captured: Captured = into_captured(rdd, self, Definition(operator, tuple(parents), lowering, again, fused))
        return captured

    def compiled_for(self, action: Action, rdd: Captured) -> Any:
        """The Java RDD with agents for ``rdd``, or PySpark's own if it cannot be compiled: then the run says so."""
        with self.plain(), self.compiler.alone:
            try:
                jrdd = self.compiler.action_jrdd(rdd)
                if rdd not in action.targets:
                    action.targets.append(rdd)
                for recipe, adopted in self.compiler.recipes(rdd):
                    action.recipes[recipe.stage.id] = recipe
                    if not adopted:
                        action.runs.add(recipe.stage.id)
                return jrdd
            except Exception as trouble:  # the user's job comes first
                _log(f"bigdebug runs {action.name} without capture", trouble)
                action.trouble.append(f"{type(trouble).__name__}: {trouble}")
                action.uncompiled.add(rdd)
                return rdd._plain_jrdd()

    def next_run_id(self) -> str:
        return f"r{next(self._run_ids)}"

    def next_stage_id(self) -> str:
        return f"s{next(self._stage_ids)}"

    def questions(self, run: Run) -> Questions:
        """What Spark can still answer about ``run``. Raises NotCapturedError if it was forgotten."""
        from bigdebug.spark.rdd.questions import Questions

        if run not in self.runs:
            _forgotten(run)
        if run.id not in self._questions:
            found = self._questions[run.id] = Questions(self, run)
            run.lineage.derive, run.lineage.count = found.derive, found.sizes
        return self._questions[run.id]

    def forget(self, run: Run) -> None:
        """Let go of a run: of its lineage, its questions, and of what it holds in Spark."""
        self.runs.forget(run)
        self._questions.pop(run.id, None)
        run.lineage.derive = run.lineage.count = partial(_forgotten, run)

    # ---- actions ----------------------------------------------------------------------------------------------

    @property
    def action(self) -> Action | None:
        """The action that is being captured in this thread, if PySpark asks for something to run."""
        return None if self.defining else self._state.action

    @property
    def current(self) -> Action | None:
        """The action in progress in this thread, also while it is being compiled."""
        return self._state.action

    @contextmanager
    def acting(self, name: str, subject: Captured) -> Iterator[None]:
        """The user called action ``name``: if capture is on, all jobs within belong to one run."""
        action = self.begin(name, subject)
        status = "failed"
        try:
            yield
            status = "succeeded"
        finally:
            if action is not None:
                self.leave(action)
                self.finish(action, status)

    def begin(self, name: str, subject: Captured) -> Action | None:
        """From here on this thread's jobs belong to a new run; None if they do not, or belong to one already."""
        if self.defining or self._state.action is not None or self.sc._jsc is None:
            return None
        capture = self.captures.current()
        if capture is None:
            return None
        # The driver has nothing to do while the job runs: then it looks at the files that the job reads.
        try:
            facts = self.beside.submit(self._measure, subject, time.time_ns())
        except RuntimeError as trouble:  # this process is ending, and begins nothing any more
            log.info("bigdebug runs %s without capture: %s", name, trouble)
            return None
        action = Action(self.next_run_id(), name, subject, capture, facts)
        self._state.action = action
        self.sc.setLocalProperty(RUN_PROPERTY, action.run)
        self.sc.setLocalProperty(STRATEGY_PROPERTY, capture.strategy)
        return action

    def leave(self, action: Action) -> None:
        """This thread's jobs are nobody's again; those of ``action`` may still be running."""
        self._state.action = None
        for name in (RUN_PROPERTY, STRATEGY_PROPERTY):
            self.sc.setLocalProperty(name, None)  # type: ignore[arg-type]

    def finish(self, action: Action, status: str) -> None:
        """Make a run of an action whose jobs have ended. Whatever goes wrong here, the user's result comes first."""
        try:
            with self.plain():
                self.runs.add(action, status)
        except Exception as trouble:
            _log(f"bigdebug could not record the run of {action.name}", trouble)

    def _measure(self, subject: Captured, began: int) -> dict[int, SourceFacts]:
        from bigdebug.spark.rdd.sources import measured

        with self.plain():
            return measured(subject, began)


def _forgotten(run: Run, *_: Any) -> NoReturn:
    raise NotCapturedError("This run has been forgotten", value=run.name, remedy="Run the job again under capture.")


def _log(what: str, trouble: Exception) -> None:
    """One line; the rest is for those who ask for it."""
    first = (str(trouble).strip().splitlines() or [type(trouble).__name__])[0]
    log.warning("%s: %s", what, first)
    log.debug("%s", what, exc_info=trouble)
