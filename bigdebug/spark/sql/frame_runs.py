"""Runs of DataFrames that one session knows: those of actions, and those that questions begin."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any, Protocol
from weakref import WeakKeyDictionary, WeakSet

from bigdebug.model import Statistics
from bigdebug.spark.captures import Captures
from bigdebug.spark.process import answering
from bigdebug.spark.sql.conditions import Conditions, stamps_of
from bigdebug.spark.sql.declared import Declared
from bigdebug.spark.sql.plans.catalyst import Catalyst, same_query
from bigdebug.spark.sql.plans.executions import planned_at
from bigdebug.spark.sql.plans.reading import PlanOperator
from bigdebug.spark.sql.questions import Questions
from bigdebug.spark.sql.runs import FrameRun, called
from bigdebug.spark.sql.sessions import Sessions
from bigdebug.spark.sql.workloads import Workload
from bigdebug.trace.run import NO_ACTION


class Program(Protocol):
    """What the recorders of a program share, those of RDDs and of DataFrames."""

    captures: Captures
    armed: bool

    def next_run_id(self) -> str: ...


class FrameRuns:
    """The runs of the DataFrames of one SparkSession, oldest first in ``runs``, and how each can be asked. Thread-safe."""

    def __init__(self, spark: Any, program: Program) -> None:
        self.spark = spark
        self.runs: tuple[FrameRun, ...] = ()
        self.users = Catalyst(spark)
        self.crossing: Any = None
        self._program = program
        self._workloads: WeakKeyDictionary[Any, Workload] = WeakKeyDictionary()
        self._apart: WeakSet[Any] = WeakSet()
        self._sessions = Sessions(spark)
        self._alone = threading.RLock()

    @property
    def armed(self) -> bool:
        """Whether actions are recorded: bigdebug is attached."""
        return self._program.armed

    def asked(self, frame: Any) -> FrameRun:
        """The latest run of a DataFrame; a new one, of no action, if there is none, or if Spark lists more files for it since there was one of none."""
        answering(self.spark.sparkContext)
        for run in reversed(self.runs):
            if same_query(run.frame, frame):
                if run.action != NO_ACTION or not run.questions.moved:
                    return run
                self.forget(run)
        run = self.aside(frame, called(frame))
        self.add(run)
        return run

    def apart(self, frame: Any) -> Any:
        """A DataFrame of ours in which expressions that throw are tamed: questions about it keep them so."""
        self._apart.add(frame)
        return frame

    def aside(self, frame: Any, name: str = "lineage", apart: bool = False) -> FrameRun:
        """A run of no action, for a question of ours: it is none of the user's, and not among ``runs``."""
        answering(self.spark.sparkContext)
        frame = self.apart(frame) if apart else frame
        done: Future[Conditions] = Future()
        done.set_result(self.conditions(frame))
        return FrameRun(
            self._program.next_run_id(), name, NO_ACTION, "succeeded", frame, self.questions(frame, done), Statistics(-1, -1, -1),
            self.crossing,
        )

    def declare(self, frame: Any, workload: Workload) -> Workload:
        """From here on indexes of a DataFrame hold what ``workload`` says: it is given with columns called as they are.

        Raises an error of ours if it cannot be asked.
        """
        workload = workload.checked(self.users, self.asked(frame).questions.leaves)
        with self._alone:
            for known in [known for known in self._workloads if same_query(known, frame)]:
                del self._workloads[known]
            self._workloads[frame] = workload
            for run in self.runs:
                if same_query(run.frame, frame):
                    run.questions.declared = Declared(workload, self.users)
        return workload

    def forget(self, run: FrameRun) -> None:
        """Let go of a run."""
        with self._alone:
            self.runs = tuple(other for other in self.runs if other is not run)

    def add(self, run: FrameRun) -> None:
        """Keep a run."""
        with self._alone:
            self.runs = (*self.runs, run)

    def questions(self, frame: Any, conditions: Future[Conditions], executed: PlanOperator | None = None) -> Questions:
        """What can be asked about a query, under conditions that may become known later; of ``executed``, if that ran in its place."""
        questions = Questions(self.spark, frame, conditions, self.crossing.seams.given, executed)
        with self._alone:
            workload = next((workload for known, workload in self._workloads.items() if same_query(known, frame)), None)
        questions.declared = None if workload is None else Declared(workload, self.users)
        return questions

    def conditions(self, frame: Any, began: float | None = None, planned: int | None = None) -> Conditions:
        """Those of now; of the plan that the frame keeps, if it was planned before an action ``began`` that executes it, or was ``planned`` then, in milliseconds."""
        planned = planned if began is None else planned_at(frame, began)
        stamps = stamps_of(self.users, Catalyst.plan(frame), planned)
        return Conditions(self._sessions.of_now(sum(stamp.size for stamp in stamps.values()), frame in self._apart), stamps)
