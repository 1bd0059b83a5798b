"""Acting: the actions in progress, by thread, and the runs that become of them."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JNetworkError

from bigdebug.graph import Form
from bigdebug.spark.captures import Captures, OpenCapture
from bigdebug.spark.crashes import crashed
from bigdebug.spark.deferred import undisturbed
from bigdebug.spark.interruption import handled, planning
from bigdebug.spark.jobs import USERS, tagged
from bigdebug.spark.process import alive
from bigdebug.spark.rdd.action import NOTHING_GIVEN, Action, Given
from bigdebug.spark.rdd.compiler import Compiler
from bigdebug.spark.rdd.definition import definitions
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


@dataclass
class Uncaptured:
    """An action in progress of which no run is made, unless it fails: when it began, what its last job computes, and what was being handled before."""

    began: int
    target: Captured | None = None
    partitions: Collection[int] | None = None
    before: BaseException | None = field(default_factory=handled)


class ThreadState(threading.local):
    depth = 0
    action: Action | None = None
    uncaptured: Uncaptured | None = None
    composing: Form | None = None


class Acting:
    """What happens around an action: it is compiled, and a run is made of it, if it is captured or fails."""

    compiler: Compiler

    def __init__(self, sc: SparkContext, store: LineageStore) -> None:
        self.sc = sc
        self.captures = Captures()
        self.runs = Runs(sc, store)
        recorder: Any = self
        self.watching = Watching(recorder)
        self.rest()
        self.armed = True
        """Whether actions that fail are diagnosed also if they were not captured."""
        self.policies: dict[str, Governed] = {}
        """What becomes of crashes in questions about runs that crashed, by the ids of these."""
        self.following: Callable[[str], AbstractContextManager[None]] = lambda run: nullcontext()
        """Told of the jobs of a run, by its id."""
        self.unreached = ""
        """Why tasks do not reach the store, which is at a URI: they give the driver their blocks."""
        self.ended: list[Callable[[Run, Action], None]] = []
        """Told of each run when its action has ended, and what that was called with."""
        self._run_ids = itertools.count(1)
        self._state = ThreadState()

    def rest(self) -> None:
        """Let threads end that are idle: those of a pool do when nobody holds it any more."""
        self.beside = ThreadPoolExecutor(_BESIDE, "bigdebug")

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

    def next_run_id(self) -> str:
        return f"r{next(self._run_ids)}"

    # ---- actions ----------------------------------------------------------------------------------------------

    @property
    def action(self) -> Action | None:
        """The action that is being captured in this thread, if PySpark asks for something to run."""
        return None if self.defining else self._state.action

    @property
    def current(self) -> Action | None:
        """The action in progress in this thread, also while it is being compiled."""
        return self._state.action

    def interruptible(self) -> AbstractContextManager[None]:
        """Around an action: if it is captured, an interruption cancels its jobs, and leaves the connections to Spark open that what follows needs."""
        return planning() if self._idle and (self.captures.current() or self.watching.asked()) else nullcontext()

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
    def beginning(self) -> Iterator[Uncaptured | None]:
        """Within: an action begins that is not captured. Gives what is to be known of it if it fails, also later; None if it is a part of another one."""
        state = self._state
        if self.defining or state.action is not None or state.uncaptured is not None or not self.armed:
            yield None
            return
        state.uncaptured = Uncaptured(time.time_ns())
        try:
            yield state.uncaptured
        finally:
            state.uncaptured = None

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

    def plain_jrdd(self, rdd: Captured) -> Any:
        """PySpark's own Java RDD of ``rdd``, for a job of an action that is not captured, or for an RDD that is made of this one."""
        uncaptured = self._state.uncaptured
        if uncaptured is None or self.defining:
            return rdd._plain_jrdd()
        uncaptured.target = rdd
        with self.plain():  # it may ask for those of others
            return rdd._plain_jrdd()

    @property
    def _idle(self) -> bool:
        """Whether no action is in progress in this thread, so that one may begin."""
        return not self.defining and self._state.action is None and self.sc._jsc is not None

    def begin(self, name: str, subject: Captured, again: Callable[[], Any] | None = None, given: Given = NOTHING_GIVEN) -> Action | None:
        """From here on this thread's jobs belong to a new run; None if they do not, or belong to one already."""
        if not self._idle:
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
            self._state.action = action
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
        self._state.action = None
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

    @contextmanager
    def asking_for(self, partitions: Collection[int] | None) -> Iterator[None]:
        """Within: jobs of the action in progress compute some partitions only."""
        action = self._state.action or self._state.uncaptured
        if action is None:
            yield
            return
        before, action.partitions = action.partitions, partitions
        try:
            yield
        finally:
            action.partitions = before

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
                if action.partitions is not None and recipe.stage.ends == rdd._definition.operator.id:
                    action.asked[recipe.stage.id] = action.partitions
                return jrdd
            except Exception as trouble:  # the user's job comes first
                _log(f"bigdebug runs {action.name} without capture", trouble)
                action.trouble.append(f"{type(trouble).__name__}: {trouble}")
                action.uncompiled.add(rdd)
                return rdd._plain_jrdd()


def _log(what: str, trouble: Exception) -> None:
    """One line; the rest is for those who ask for it."""
    first = (str(trouble).strip().splitlines() or [type(trouble).__name__])[0]
    log.warning("%s: %s", what, first)
    log.debug("%s", what, exc_info=trouble)
