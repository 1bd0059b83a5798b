"""Acting: what happens around an action, and the run that becomes of it."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JNetworkError

from bigdebug.spark.captures import Captures, OpenCapture
from bigdebug.spark.crashes import crashed
from bigdebug.spark.deferred import undisturbed
from bigdebug.spark.interruption import planning
from bigdebug.spark.jobs import USERS, tagged
from bigdebug.spark.process import alive
from bigdebug.spark.rdd.action import NOTHING_GIVEN, Action, Given
from bigdebug.spark.rdd.compiler import Compiler
from bigdebug.spark.rdd.definition import definitions
from bigdebug.spark.rdd.in_progress import InProgress, Uncaptured
from bigdebug.spark.rdd.outputs import holds_more
from bigdebug.spark.rdd.runs import Runs
from bigdebug.spark.rdd.sent import POLICY_PROPERTY, RUN_PROPERTY, STRATEGY_PROPERTY, WATCH_PROPERTY
from bigdebug.spark.rdd.watches.watching import Watching
from bigdebug.store.directory import LineageStore
from bigdebug.trace.origins import SourceFacts
from bigdebug.trace.run import Run

if TYPE_CHECKING:
    from pyspark import SparkContext

    from bigdebug.spark.rdd.crashes.governed import Governed
    from bigdebug.spark.rdd.recorded import Recorded as Captured

log = logging.getLogger("bigdebug")

_BESIDE = 4
"""Actions whose files are looked at at the same time, each while its job runs."""


class Acting(InProgress):
    """What happens around an action: it is compiled, and a run is made of it, if it is captured or fails."""

    compiler: Compiler

    def __init__(self, sc: SparkContext, store: LineageStore) -> None:
        super().__init__(sc)
        self.captures = Captures()
        self.runs = Runs(sc, store)
        recorder: Any = self
        self.watching = Watching(recorder)
        self.rest()
        self.policies: dict[str, Governed] = {}
        """What becomes of crashes in questions about runs that crashed, by the ids of these."""
        self.following: Callable[[str], AbstractContextManager[None]] = lambda run: nullcontext()
        """Told of the jobs of a run, by its id."""
        self.unreached = ""
        """Why tasks do not reach the store, which is at a URI: they give the driver their blocks."""
        self.ended: list[Callable[[Run, Action], None]] = []
        """Told of each run when its action has ended, and what that was called with."""
        self._run_ids = itertools.count(1)

    def rest(self) -> None:
        """Let threads end that are idle: those of a pool do when nobody holds it any more."""
        self.beside = ThreadPoolExecutor(_BESIDE, "bigdebug")

    def next_run_id(self) -> str:
        return f"r{next(self._run_ids)}"

    def interruptible(self) -> AbstractContextManager[None]:
        """Around an action: if it is captured, an interruption cancels its jobs, and leaves the connections to Spark open that what follows needs."""
        return planning() if self.idle and (self.captures.current() or self.watching.asked()) else nullcontext()

    @contextmanager
    def acting(self, name: str, subject: Captured, again: Callable[[], Any], given: Given = NOTHING_GIVEN) -> Iterator[None]:
        """The user called action ``name``: if capture is on, or the action fails, all jobs within belong to one run."""
        action = self.begin(name, subject, again, given)
        if action is None:
            with self._uncaptured(name, subject, again):
                yield
            return
        status = "failed"
        try:
            with self.following(action.run), tagged(self.sc, USERS):
                yield
            status = "succeeded"
        except BaseException as problem:
            action.problem = problem
            raise
        finally:
            try:
                self.leave(action)
            finally:  # also where the interruption comes just now
                self.finish(action, status)

    @contextmanager
    def _uncaptured(self, name: str, subject: Captured, again: Callable[[], Any] | None) -> Iterator[None]:
        with self.beginning() as uncaptured:
            try:
                yield
            except Exception as problem:
                if uncaptured is not None:
                    self.failed(name, subject, uncaptured, problem, again)
                raise

    def failed(self, name: str, subject: Captured, uncaptured: Uncaptured, problem: Exception, again: Callable[[], Any] | None) -> None:
        """An action that was not captured has failed: if it has crashed, a run is made of it."""
        if crashed(problem, uncaptured.before) and self.sc._jsc is not None:
            self._crashed(name, subject, uncaptured, problem, again)

    @contextmanager
    def reading(self, name: str, subject: Captured) -> Iterator[None]:
        """Within: operator ``name`` is defined, for which Spark reads ``subject`` in jobs of its own. If they fail, a run is made of them."""
        with self._uncaptured(name, subject, None):
            yield

    def _crashed(
        self, name: str, subject: Captured, uncaptured: Uncaptured, problem: Exception, again: Callable[[], Any] | None,
    ) -> None:
        """Make a run of an action that was not captured and has failed, so that its culprits can be found."""
        try:
            facts: Future[dict[int, SourceFacts]] = Future()
            facts.set_result(self._measure(subject, uncaptured.began))
            action = Action(
                self.next_run_id(), name, subject, OpenCapture(), facts, partitions=uncaptured.partitions,
                problem=problem, began=uncaptured.began, again=again, ran=False, before=uncaptured.before,
            )
            self.compiled_for(action, uncaptured.target or subject)
            self.finish(action, "failed")
        except Exception as trouble:
            _log(f"bigdebug could not find out what {name} crashed on", trouble)

    def begin(self, name: str, subject: Captured, again: Callable[[], Any] | None = None, given: Given = NOTHING_GIVEN) -> Action | None:
        """From here on this thread's jobs belong to a new run; None if they do not, or belong to one already."""
        if not self.idle:
            return None
        capture, watches = self.captures.current(), self.watching.asked()
        if capture is None and watches is not None:  # tasks tell of what passes in the stages that we compile
            capture = OpenCapture(strategy="lazy")
        if capture is None:
            return None
        # The driver has nothing to do while the job runs: then it looks at the files that the job reads.
        try:
            facts = self.beside.submit(self._measure, subject, time.time_ns())
        except RuntimeError as trouble:  # this process is ending, and begins nothing any more
            log.info("bigdebug runs %s without capture: %s", name, trouble)
            return None
        action = Action(self.next_run_id(), name, subject, capture, facts, again=again, policy=capture.policy, given=given)
        try:
            self.runs.begin(action.run)
            self.thread.action = action
            self.sc.setLocalProperty(RUN_PROPERTY, action.run)
            self.sc.setLocalProperty(STRATEGY_PROPERTY, capture.strategy)
            self.sc.setLocalProperty(POLICY_PROPERTY, capture.policy)  # type: ignore[arg-type]  # None: whoever was interrupted may have left one
            if watches is not None and not capture.alone:
                action.watches = frozenset(each.watch for each in watches.wanted)
                self.sc.setLocalProperty(WATCH_PROPERTY, watches.packed())
        except BaseException:  # an interruption
            self.leave(action)
            raise
        return action

    def leave(self, action: Action) -> None:
        """This thread's jobs are nobody's again; those of ``action`` may still be running."""
        self.thread.action = None
        if not alive(self.sc):
            return
        with undisturbed(), suppress(Py4JNetworkError):  # after an interruption: the thread of Spark's that had them is gone
            for name in (RUN_PROPERTY, STRATEGY_PROPERTY, POLICY_PROPERTY, WATCH_PROPERTY):
                self.sc.setLocalProperty(name, None)  # type: ignore[arg-type]

    def finish(self, action: Action, status: str) -> None:
        """Make a run of an action whose jobs have ended. Whatever goes wrong here, the user's result comes first."""
        from bigdebug.spark.rdd.crashes.aftermath import settle

        recorder: Any = self
        try:
            with self.plain():
                run = self.runs.add(action, status)
                for told in self.ended:
                    told(run, action)
                settle(recorder, run, action)
        except Exception as trouble:
            _log(f"bigdebug could not record the run of {action.name}", trouble)

    def measured(self, subject: Captured) -> dict[int, SourceFacts]:
        """What is known now of the sources of an RDD."""
        return self._measure(subject, time.time_ns())

    def _measure(self, subject: Captured, began: int) -> dict[int, SourceFacts]:
        from bigdebug.spark.rdd.sources import measured

        with self.plain():
            return measured(subject, began)

    def compiled_for(self, action: Action, rdd: Captured) -> Any:
        """The Java RDD with agents for ``rdd``, or PySpark's own if it cannot be compiled: then the run says so."""
        with self.plain(), self.compiler.alone:
            try:
                jrdd = self.compiler.action_jrdd(rdd)
                if self.unreached:
                    action.notes.add(self.unreached)
                if action.capture.fitted is not None:
                    action.policy = action.capture.fitted(each._definition.operator for each in definitions(*action.targets, rdd))
                    self.sc.setLocalProperty(POLICY_PROPERTY, action.policy)
                if action.watches:
                    self.watching.hearing.compiled(definitions(rdd))
                if rdd not in action.targets:
                    action.targets.append(rdd)
                action.jrdds.append(jrdd)
                for recipe, adopted in self.compiler.recipes(rdd):
                    action.recipes[recipe.stage.id] = recipe
                    if not adopted:
                        action.runs.add(recipe.stage.id)
                self._settle(action)
                if action.partitions is not None and recipe.stage.ends == rdd._definition.operator.id:
                    action.asked[recipe.stage.id] = action.partitions
                return jrdd
            except Exception as trouble:  # the user's job comes first
                _log(f"bigdebug runs {action.name} without capture", trouble)
                action.trouble.append(f"{type(trouble).__name__}: {trouble}")
                action.uncompiled.add(rdd)
                return rdd._plain_jrdd()

    def _settle(self, action: Action) -> None:
        """Have Spark compute anew what tasks have cached that told nothing of it, for their job had failed by then."""
        from bigdebug.spark.rdd.crashes.aftermath import release_made

        recorder: Any = self
        held = self.runs.held(self.runs.unsettled & action.recipes.keys())
        release_made(recorder, action, {stage for stage, known in held.items() if holds_more(self.sc, action.recipes[stage].rdd_id, known)})


def _log(what: str, trouble: Exception) -> None:
    """One line; the rest is for those who ask for it."""
    first = (str(trouble).strip().splitlines() or [type(trouble).__name__])[0]
    log.warning("%s: %s", what, first)
    log.debug("%s", what, exc_info=trouble)
