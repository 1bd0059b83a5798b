"""Resume: the action of a run that crashed once more, with what its culprits are to become (BigDebug 5).

The program is the same, compiled as it was: what Spark holds of stages that had finished, also in part, it does not run again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from bigdebug.agents.guards.policy import Policy
from bigdebug.errors import ReplayError
from bigdebug.shown import counted
from bigdebug.spark.cancelled import is_cancelled
from bigdebug.spark.interruption import planning
from bigdebug.spark.process import answering
from bigdebug.spark.rdd.crashes.decisions import Decisions, Repair, renamed
from bigdebug.spark.rdd.outputs import check_letting_go
from bigdebug.trace.culprit import CrashCulprit
from bigdebug.trace.resumed import Resumed
from bigdebug.trace.run import Run

if TYPE_CHECKING:
    from bigdebug.spark.rdd.action import Action
    from bigdebug.spark.rdd.recorder import Recorder

_LEFT_BEHIND = "FileAlreadyExistsException"

_PASSES = 4
"""How often the action is called, at most, until no function over an iterator has to begin anew."""


class Resume:
    """Resumes one run."""

    def __init__(self, recorder: Recorder, run: Run, action: Action) -> None:
        self._recorder = recorder
        self._run = run
        self._action = action

    @planning()
    def __call__(self, skip: Any, repair: Repair | None, fix: Mapping[Any, Callable[[Any], Any]] | None) -> Resumed:
        again = self._again()
        answering(self._recorder.sc)
        check_letting_go(self._recorder.sc)
        self._recorder.questions(self._run).check_sources(self._run.subject)
        decisions = self._decisions()
        policy = decisions.policy(skip, repair, fix or {})
        resumed = self._last(again, decisions, policy, skip)
        for tell in self._recorder.captures.around():
            tell(resumed.run)
        return resumed

    def _decisions(self) -> Decisions:
        return Decisions(self._recorder, self._run, self._action.policy)

    def check(self) -> None:
        self._again()
        self._recorder.questions(self._run)  # of a run that was forgotten there are none

    def check_repair(self, culprit: CrashCulprit, record: Any) -> None:
        self._decisions().instead(culprit, record)

    def defined(self, operator: int) -> Callable[[Any], Any] | None:
        return self._decisions().defined(operator)

    @property
    def held(self) -> Mapping[str, Collection[int]]:
        return self._recorder.runs.held(stage.id for stage in self._run.graph.stages)

    def _again(self) -> Callable[[], Any]:
        """Calls the action once more."""
        if self._action.again is None:
            raise ReplayError(
                f"{self._run.action}() cannot be called again: what it gives is taken up record by record, or is an RDD",
                remedy="Resume a run of collect(), count(), saveAsTextFile() or another action that gives all at once. What crashes where an RDD is "
                "defined (sortBy, zipWithIndex) crashes in an action on its input as well: resume a run of that.",
            )
        return self._action.again

    def _last(self, again: Callable[[], Any], decisions: Decisions, policy: Policy, skip: Any) -> Resumed:
        """What the action gives when no function over an iterator has to begin anew, or may not."""
        resumed = self._passed(again, policy, skip)
        anew = decisions.begun_anew(resumed.run, policy)
        for _ in range(0 if self._has_effects else _PASSES - 1):
            if not anew:
                break
            self._recorder.forget(resumed.run)
            policy = replace(policy, known={**policy.known, **anew})
            resumed = self._passed(again, policy, skip)
            anew = decisions.begun_anew(resumed.run, policy)
        if anew:
            resumed.run.culprits.unknown.append(
                f"Functions over an iterator were called anew behind {counted(len(anew))} that crashed: what they keep from record to record was lost there."
            )
        return resumed

    @property
    def _has_effects(self) -> bool:
        """Whether the action is there for what it does, so that it is called once."""
        return self._action.name.startswith(("save", "foreach"))

    def _remedy(self, resumed: Run) -> str:
        """Where to look, if a run fails without its culprits."""
        if self._run.culprits.unknown:
            return "See what run.culprits.unknown says."
        told = resumed.culprits.summary()
        return f"dbg.runs[-1] is what was resumed, and its culprits are what it failed of.\n{told}".rstrip()

    def _passed(self, again: Callable[[], Any], policy: Policy, skip: Any) -> Resumed:
        """What the action gives under a policy."""
        runs: list[Run] = []
        captures, name, strategy = self._recorder.captures, f"{self._run.name}, resumed", self._action.capture.strategy
        with captures.resuming(name, strategy, runs.append, policy.packed(), lambda now: policy.renamed(renamed(self._run.graph, now)).packed()):
            try:
                result = again()
            except (PySparkException, Py4JError) as problem:
                for tell in captures.around():
                    tell(runs[-1])
                if _LEFT_BEHIND in str(problem):
                    raise ReplayError(
                        f"{self._run.action}() has left the directory behind that it wrote to when it crashed", remedy="Remove it, and resume once more.",
                    ) from problem
                if skip is not True or is_cancelled(problem):  # others crashed, and are told as before, or nothing did
                    raise
                raise ReplayError("The program fails without them, too, and Spark says above why", remedy=self._remedy(runs[-1])) from problem
        run = runs[-1]
        ran = self._recorder.runs.computed_by(run)
        return Resumed(result, run, sum(map(len, run.computed.values())) - ran, ran)
