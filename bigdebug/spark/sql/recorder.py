"""The recorder of DataFrames: sees the actions of one SparkSession, and makes runs of those under capture."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from bigdebug.agents.guards.policy import Policy
from bigdebug.errors import BigdebugError, IncompleteLineageError
from bigdebug.model import Statistics
from bigdebug.outside import from_outside
from bigdebug.spark.cancelled import UNTOLD, is_cancelled
from bigdebug.spark.captures import OpenCapture
from bigdebug.spark.crashes import crashed, tell
from bigdebug.spark.interruption import planning
from bigdebug.spark.jobs import USERS, tagged
from bigdebug.spark.sql.action import Action
from bigdebug.spark.sql.conditions import Conditions
from bigdebug.spark.sql.crashes.diagnosis import FrameDiagnosis
from bigdebug.spark.sql.crashes.going_on import going_on
from bigdebug.spark.sql.crashes.heard import Heard
from bigdebug.spark.sql.crashes.resume import FrameResume
from bigdebug.spark.sql.crashes.unfinished import Failure
from bigdebug.spark.sql.failures import is_users
from bigdebug.spark.sql.frame_runs import FrameRuns, Program
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.commands import writing
from bigdebug.spark.sql.plans.executions import KEPT
from bigdebug.spark.sql.recognized import index
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.spark.sql.stand_ins import WHOLE, stand_in
from bigdebug.spark.sql.think_time import ThinkTime

log = logging.getLogger("bigdebug")

KEPT_ROWS = 100_000
"""Rows of a result that a run keeps; they are the user's own objects, so a row costs a reference."""

_BESIDE = 4
"""Actions whose conditions are noted at the same time, each while its job runs; it takes some ms."""

PATIENCE = 5.0
"""Seconds for which an action that has ended waits for its conditions: what is found out later may not be of then."""


class _ThreadState(threading.local):
    acting = False


class FrameRecorder(FrameRuns):
    """The actions on DataFrames of one SparkSession, and the runs that become of them. Thread-safe."""

    def __init__(self, spark: Any, program: Program) -> None:
        super().__init__(spark, program)
        self.captures = program.captures
        self.rest()
        self.heard = Heard(self.users)
        self.think_time = ThinkTime(spark)
        self.named: Callable[[], AbstractContextManager[str]] = lambda: nullcontext("")
        self.ran: Callable[[str, str], None] = lambda tag, run: None
        self.stands: Callable[[str, Any], None] = lambda tag, frame: None
        self.ended: list[Callable[[FrameRun, Action], None]] = []
        """Told of each run when its action has ended, and how that was called."""
        self._state = _ThreadState()

    def rest(self) -> None:
        """Let threads end that are idle: those of a pool do when nobody holds it any more."""
        self.beside = ThreadPoolExecutor(_BESIDE, "bigdebug frames")

    def action(self, name: str, frame: Any, again: Callable[[Any], Any] | None = None) -> Action:
        """The action ``name`` that the user calls on ``frame``."""
        return Action(name, frame, again=again)

    def interruptible(self) -> AbstractContextManager[None]:
        """Around an action: if it is captured, an interruption cancels its jobs, and leaves the connections to Spark open that what follows needs."""
        return nullcontext() if self._state.acting or self.captures.current() is None else planning()

    @contextmanager
    def acting(self, action: Action, reads: bool) -> Iterator[None]:
        """An action runs; it ``reads`` the rows of its DataFrame.

        Actions within it are its own; what goes wrong here, and would not without capture, never reaches the user.
        """
        name, frame = action.name, action.frame
        capture = None if self._state.acting else self.captures.current()
        if capture is None:
            with self._uncaptured(action):
                yield
            return
        try:
            conditions = self.beside.submit(self.conditions, frame, time.time() if name in KEPT else None)
        except RuntimeError as trouble:  # this process is ending, and begins nothing any more
            log.info("bigdebug runs %s without capture: %s", name, trouble)
            yield
            return
        self._state.acting = True
        try:
            if reads and capture.strategy in ("auto", "inject"):
                self._keep(action, conditions, inject=capture.strategy == "inject")
            began = time.perf_counter()
            try:
                with self.named() as action.tag, tagged(self.spark.sparkContext, USERS):
                    if action.frame_to_run is not action.frame:
                        self.stands(action.tag, action.frame)
                    yield
                action.status = "succeeded"
            except Exception as problem:
                action.problem, action.ended = problem, time.time_ns()
                raise
            finally:
                action.seconds = time.perf_counter() - began
        finally:
            self._state.acting = False

            def note() -> None:
                try:
                    self._note(action, conditions, capture)
                except Exception as trouble:
                    if from_outside(trouble):
                        raise
                    log.warning("bigdebug could not record the run of %s: %s", name, trouble)

            if action.lazy and action.problem is None:
                action.noting = note
            else:
                note()

    @contextmanager
    def _uncaptured(self, action: Action) -> Iterator[None]:
        """An action of which no run is made, unless it crashes."""
        if self._state.acting or not self.armed:
            yield
            return
        self._state.acting = True
        action.noting = partial(self._note_crash, action) if action.lazy else None
        try:
            yield
        except Exception as problem:
            action.problem, action.ended = problem, time.time_ns()
            self._note_crash(action)
            raise
        finally:
            self._state.acting = False

    @contextmanager
    def commanding(self) -> Iterator[Callable[[Any], None]]:
        """SQL is called within, and what it gives is told: a command that wrote the rows of a query is a run of that, if it is captured."""
        capture = None if self._state.acting else self.captures.current()
        if capture is None:
            yield lambda frame: None
            return
        action, given, began = Action("sql", None), list[Any](), time.perf_counter()
        self._state.acting = True
        try:
            with planning(), self.named() as action.tag, tagged(self.spark.sparkContext, USERS):
                yield given.append
        finally:
            self._state.acting = False
        try:
            action.command = None if not given else writing(given[0])
            if action.command is not None:
                action.frame, action.status, action.seconds = self.users.frame(action.command.query()), "succeeded", time.perf_counter() - began
                conditions: Future[Conditions] = Future()
                conditions.set_result(self.conditions(action.frame, planned=action.began // 1_000_000))
                self._note(action, conditions, capture)
        except Exception as trouble:  # the user's command comes first
            log.warning("bigdebug could not record the run of a command of SQL: %s", trouble)

    def _note_crash(self, action: Action) -> None:
        """Make a run of an action that nobody captured, if it crashed."""
        if action.problem is None or not crashed(action.problem, action.before):
            return
        try:
            conditions: Future[Conditions] = Future()
            conditions.set_result(self.conditions(action.frame))
            self._note(action, conditions, OpenCapture())
        except Exception as trouble:  # the user's exception comes first
            log.debug("bigdebug could not find out what %s crashed on", action.name, exc_info=trouble)

    def suspected(self, frame: Any, problem: BaseException) -> FrameRun:
        """A run of no action, as if one had failed before anything was computed: its culprits are found by computing all. Costs no job by itself."""
        run, now = self.aside(frame), time.time_ns()
        run.culprits.find_by(FrameDiagnosis(self, run, Failure(now, now, problem, None)).more)
        return run

    def forget(self, run: FrameRun) -> None:
        with self._alone:
            super().forget(run)
            if not self.runs:
                self.heard.let_go()

    # ---- runs -------------------------------------------------------------------------------------------------

    def _keep(self, action: Action, conditions: Future[Conditions], inject: bool) -> None:
        """Let the action run on a query that can be asked about, where its own would give something else each time.

        Raises what the action itself would have failed of, and nothing else.
        """
        try:
            stands_in = stand_in(
                self.users, lambda: Catalyst(self.spark, conditions.result(PATIENCE).jsession), action.name, action.frame, inject,
            )
        except Exception as trouble:  # the user's job comes first
            if is_users(self.users, action.frame, trouble, action.name in WHOLE):
                action.problem = trouble
                raise
            expected = isinstance(trouble, (Py4JError, PySparkException) if inject else (Py4JError, PySparkException, BigdebugError))
            level = logging.INFO if expected else logging.WARNING
            log.log(level, "bigdebug keeps nothing of %s: %s", action.name, trouble)
            return
        if stands_in is not None:
            action.executed, action.frame_to_run = stands_in

    def _note(self, action: Action, conditions: Future[Conditions], capture: OpenCapture) -> None:
        value = action.result
        rows = tuple(value) if action.name == "collect" and isinstance(value, list) and len(value) <= KEPT_ROWS else None
        records = len(value) if isinstance(value, list) else value if action.name == "count" and value is not None else -1
        run = FrameRun(
            self._program.next_run_id(), capture.name or action.name, action.name, action.status, action.frame,
            self.questions(action.frame, _in_time(conditions), action.executed),
            Statistics(-1, records, -1, action.seconds), self.crossing, rows=rows, began=action.began / 1e9,
        )
        self.add(run)
        for told in self.ended:
            told(run, action)
        self.ran(action.tag, run.id)
        capture.note(run)
        if action.problem is not None and crashed(action.problem, action.before):
            failure = Failure.of(self.users, action, action.problem, self.heard.plans(action.problem))
            run.culprits.find_by(FrameDiagnosis(self, run, failure).more)
            resume = FrameResume(self, run, action, failure)
            run.resuming.append(resume)
            action.instead = None if capture.policy is None or action.lazy else going_on(run, resume, Policy.unpacked(capture.policy), action.problem)
            if action.instead is None:
                tell(self.spark.sparkContext, run.culprits, action.problem)
        elif action.problem is not None and is_cancelled(action.problem):
            run.culprits.unknown.append(UNTOLD)
        if action.status == "succeeded" and capture.strategy == "inject" and action.frame_to_run is action.frame:
            try:
                index(run)
            except BigdebugError as trouble:
                log.warning("bigdebug did not index the run of %s: %s", action.name, trouble)
        elif action.status == "succeeded" and capture.strategy == "defer":
            self.think_time.add(run)


def _in_time(conditions: Future[Conditions]) -> Future[Conditions]:
    """The conditions of an action that has ended, if they are known; else what a question raises then."""
    wait([conditions], PATIENCE)
    ended = conditions.done() and not conditions.cancelled()
    trouble = conditions.exception() if ended else None
    if ended and trouble is None:
        return conditions
    conditions.cancel()
    why = "" if trouble is None else f": {type(trouble).__name__}"
    unknown = IncompleteLineageError(
        f"The settings and files of this query were not known when it ended{why}", remedy="Run it again under capture.",
    )
    unknown.__cause__ = trouble
    late: Future[Conditions] = Future()
    late.set_exception(unknown)
    return late
