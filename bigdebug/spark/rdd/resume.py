"""Resume: the action of a run that crashed once more, with what its culprits are to become (BigDebug 5).

The program is the same, compiled as it was: what Spark holds of stages that had finished, also in part, it does not run again.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from bigdebug.agents.guards.crash import Raised
from bigdebug.agents.guards.flight import ENDED
from bigdebug.agents.guards.policy import Choice, Place, Policy
from bigdebug.agents.segments import Filter, FlatMap, Map, Step
from bigdebug.errors import ReplayError
from bigdebug.graph import Operator
from bigdebug.shown import shown
from bigdebug.spark.crashes import ended
from bigdebug.spark.jobs import answering
from bigdebug.spark.policies import function_of_one
from bigdebug.spark.rdd.definition import Narrow
from bigdebug.spark.rdd.outputs import check_letting_go
from bigdebug.trace.culprits import CrashCulprit
from bigdebug.trace.resumed import Resumed
from bigdebug.trace.run import Run
from bigdebug.trace.trace import operator_of

if TYPE_CHECKING:
    from bigdebug.spark.rdd.recorder import Recorder
    from bigdebug.spark.rdd.runs import Action

MOST = 10_000
"""Culprits of a task that are kept in full, as many as are looked for."""

_LEFT_BEHIND = "FileAlreadyExistsException"

Repair = Mapping[CrashCulprit, Any] | Callable[[Any], Any]


class Resume:
    """Resumes one run."""

    def __init__(self, recorder: Recorder, run: Run, action: Action) -> None:
        self._recorder = recorder
        self._run = run
        self._action = action

    def __call__(self, skip: Any, repair: Repair | None, fix: Mapping[Any, Callable[[Any], Any]] | None) -> Resumed:
        again = self._action.again
        if again is None:
            raise ReplayError(
                f"{self._run.action}() cannot be called again: what it gives is taken up record by record, or is an RDD",
                remedy="Resume a run of collect(), count(), saveAsTextFile() or another action that gives all at once. What crashes where an RDD is "
                "defined (sortBy, zipWithIndex) crashes in an action on its input as well: resume a run of that.",
            )
        answering(self._recorder.sc)
        check_letting_go(self._recorder.sc)
        policy = self._policy(skip, repair, fix or {})
        self._recorder.questions(self._run).check_sources(self._run.subject)
        runs: list[Run] = []
        captures = self._recorder.captures
        with captures.opened(f"{self._run.name}, resumed", self._action.capture.strategy, runs.append, policy.packed()):
            try:
                result = again()
            except (PySparkException, Py4JError) as problem:
                if _LEFT_BEHIND in str(problem):
                    raise ReplayError(
                        f"{self._run.action}() has left the directory behind that it wrote to when it crashed", remedy="Remove it, and resume once more.",
                    ) from problem
                if ended(problem) and not self._run.culprits.complete:
                    self._find_all()
                    return self(skip, repair, fix)
                if skip is not True:  # there are others, and they are told as before
                    raise
                raise ReplayError("The program fails without them, too, and Spark says above why", remedy="See what run.culprits.unknown says.") from problem
        run = runs[-1]
        ran = self._recorder.runs.computed_by(run)
        return Resumed(result, run, sum(map(len, run.computed.values())) - ran, ran)

    def _policy(self, skip: Any, repair: Repair | None, fix: Mapping[Any, Callable[[Any], Any]]) -> Policy:
        if not (skip or repair or fix):
            raise ReplayError(
                "There is nothing to go on with: the same records would crash", remedy="run.resume(skip=True) leaves out all that crash, skip=[...] "
                "some culprits; repair={culprit: record} or repair=function puts others in their place; fix={operator: function} calls another function.",
            )
        culprits = self._run.culprits
        if ended(self._action.problem):
            self._find_all()
        for culprit in culprits.known:
            _check_here(culprit)
        chosen: dict[Place, bytes | None] = {_place(c): None for c in culprits.chosen(() if isinstance(skip, bool) else skip or ())}
        every = None
        if isinstance(repair, Mapping):
            for culprit in culprits.chosen(repair):
                self._check_recordwise(culprit.operator, "repaired")
                chosen[_place(culprit)] = _pickled(repair[culprit], culprit)
        elif repair is not None:
            every = function_of_one(repair, "repair")
        fixes: dict[int, Choice] = {}
        for what, function in fix.items():
            operator = operator_of(self._run, what)
            self._check_recordwise(operator, "fixed")
            fixes[operator.id] = Choice(fix=function_of_one(function, f"the fix of {operator}"))
        policy = Policy(Choice(skip is True, every), chosen, fixes, MOST)
        return replace(policy, left={culprit.place: told for culprit in culprits.known if (told := self._left(culprit, policy))})

    def _find_all(self) -> None:
        """What ends a worker cannot be caught where it crashes: it has to be known before."""
        deque(self._run.culprits, maxlen=0)

    def _left(self, culprit: CrashCulprit, policy: Policy) -> tuple[bytes, Raised] | None:
        """What is to be known of a record that a function is not given again, None of one that it is.

        To find out by a call that it crashes is not possible where that ends the worker. A function over an iterator would have to be
        called anew behind what is left out, and may have kept something.
        """
        raised = culprit.told.raised
        if culprit.again or not policy.goes_on(culprit.place) or not (raised.exception == ENDED or self._leaves_out(culprit, policy)):
            return None
        try:
            return pickle.dumps(culprit.record), raised
        except Exception:  # then it is left out where it crashes
            return None

    def _leaves_out(self, culprit: CrashCulprit, policy: Policy) -> bool:
        """Whether a function over an iterator gets nothing in the place of a record."""
        step = self._step(culprit.operator)
        return not (step is None or isinstance(step, Map | Filter | FlatMap)) and policy.leaves_out(culprit.place)

    def _step(self, operator: Operator) -> Step | None:
        """What an operator does with the records of a partition; None if it moves them to others."""
        lowering = self._recorder.questions(self._run).definition(operator.id).lowering
        return lowering.step if isinstance(lowering, Narrow) else None

    def _check_recordwise(self, operator: Operator, done: str) -> None:
        if not isinstance(self._step(operator), Map | Filter | FlatMap):
            raise ReplayError(
                f"{operator} takes more than a record at a time, so a record in it cannot be {done}",
                remedy="Leave it out with skip=, or repair it at an operator before: trace.replay(exclude=True, edit=...).",
            )


def _check_here(culprit: CrashCulprit) -> None:
    if not isinstance(culprit.place, Place):
        raise ReplayError(
            f"{culprit.operator} crashed in the query of a DataFrame, below this program",
            remedy="Filter the rows out of the DataFrame: culprit.sources tells where they come from.",
        )


def _place(culprit: CrashCulprit) -> Place:
    place: Place = culprit.place
    if place.position is None:
        raise ReplayError(
            f"{culprit.operator} crashed before it had read a record, or on no single one: there is none to leave out or to repair",
            remedy="Change the program and run it.",
        )
    return place


def _pickled(record: Any, culprit: CrashCulprit) -> bytes:
    try:
        return pickle.dumps(record)
    except Exception as problem:
        raise ReplayError(f"What is to stand for {shown(culprit.record)} cannot be pickled: {problem}") from problem

