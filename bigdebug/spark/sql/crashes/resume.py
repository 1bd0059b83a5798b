"""Resume: the action of a run of a DataFrame that crashed once more, over the query without its culprits, or with others in their place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from bigdebug.errors import ReplayError
from bigdebug.shown import shown
from bigdebug.spark.interruption import planning
from bigdebug.spark.jobs import USERS, tagged
from bigdebug.spark.process import answering
from bigdebug.spark.sql.crashes.accounts import type_of
from bigdebug.spark.sql.crashes.diagnosis import FrameDiagnosis
from bigdebug.spark.sql.crashes.repairing import Repairing, others, own_key, place_of
from bigdebug.spark.sql.crashes.telling import key_of
from bigdebug.spark.sql.crashes.unfinished import Failure
from bigdebug.spark.sql.crashes.waves import MOST
from bigdebug.spark.sql.failures import brief
from bigdebug.spark.sql.fitting import fitting
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.trace.culprit import CrashCulprit
from bigdebug.trace.culprits import Culprits
from bigdebug.trace.resumed import Resumed
from bigdebug.trace.run import Run

if TYPE_CHECKING:
    from bigdebug.spark.sql.action import Action
    from bigdebug.spark.sql.recorder import FrameRecorder

ROUNDS = 10
"""How often rows that were repaired may crash further up, and be repaired there."""


class FrameResume:
    """Resumes one run."""

    def __init__(self, recorder: FrameRecorder, run: FrameRun, action: Action, failure: Failure) -> None:
        self._recorder = recorder
        self._run = run
        self._action = action
        self._failure = failure

    @planning()
    def __call__(self, skip: Any, repair: Any, fix: Any) -> Resumed:
        again = self._again()
        if fix:
            raise ReplayError(
                "A function in a DataFrame is not replaced for the rows that it crashes on",
                remedy="Give repair=, which changes the rows, or define it anew.",
            )
        if not (skip or repair):
            raise ReplayError(
                "There is nothing to go on with: the same rows would crash",
                remedy="run.resume(skip=True) leaves out all that crash, skip=[...] some culprits; repair={culprit: row} or repair=function "
                "puts other rows in their place.",
            )
        self._run.questions.check()
        if not self._recorder.armed:
            raise ReplayError("bigdebug is detached, and would not record what is resumed", remedy="Call bigdebug.attach(spark), and resume then.")
        diagnosis, left, unknown = self._without(skip, repair)
        frame = diagnosis.frame
        runs: list[Run] = []
        with self._recorder.captures.opened(f"{self._run.name}, resumed", "auto", runs.append, own=True):
            try:
                result = again(frame)
                if self._action.lazy:  # it ends with the last of its rows
                    with tagged(self._recorder.spark.sparkContext, USERS):
                        result = iter(list(result))
            except (PySparkException, Py4JError) as problem:
                why = " ".join(diagnosis.elsewhere) or "Which rows do that is not known: in all that was looked at, none is left that crashes."
                raise ReplayError(
                    f"The query fails without them, too, and Spark says above why. {why.rstrip('.')}", remedy="Filter out of the input what it fails on.",
                ) from problem
        runs[-1].culprits.known += left
        runs[-1].culprits.unknown += unknown
        return Resumed(result, runs[-1], 0, -1)

    def check(self) -> None:
        self._again()

    def check_repair(self, culprit: CrashCulprit, record: Any) -> None:
        own_key(culprit)
        place_of(culprit)
        answering(self._recorder.spark.sparkContext)
        if (kind := type_of(culprit)) is not None:
            fitting(record, kind)

    def defined(self, operator: int) -> None:
        """None: Spark has a UDF in its plan."""

    @property
    def held(self) -> None:
        return None

    def _again(self) -> Callable[[Any], Any]:
        """Calls the action on another DataFrame."""
        if self._action.again is None:
            raise ReplayError(
                f"{self._run.action} of a DataFrame writes, and is not called again on another one",
                remedy="Write what run.resume(...) of collect() or toPandas() gives, or filter the culprits out of the input.",
            )
        return self._action.again

    def _without(self, skip: Any, repair: Any) -> tuple[FrameDiagnosis, list[CrashCulprit], list[str]]:
        """What has the query over what does not crash, the culprits that are not in it, and what is not known of them."""
        repairing = Repairing(self._run.culprits, skip, repair)
        for _ in range(ROUNDS):
            found = Culprits()
            diagnosis = FrameDiagnosis(self._recorder, self._run, self._failure, found, repairing.besides)
            found.find_by(diagnosis.more)
            culprits = _all(found)
            if not culprits:
                raise ReplayError(
                    f"There is no row to leave out, or to repair. {_said(found)}",
                    remedy="See what the action's own exception says, and call it again.",
                )
            new = repairing.undecided(culprits)
            if not new:
                break
            if repairing.function is None:
                raise self._refusal(culprits)
            if diagnosis.truncated:
                raise ReplayError(
                    f"More than {MOST:,} rows crash in an operator, and no more are repaired one by one", remedy="Repair them in the input, or leave them out with skip=True.",
                )
            repairing.repair(new)
        else:
            raise ReplayError(f"Rows in the place of those that crashed still crash after {ROUNDS} rounds", remedy="Repair them in the input, or leave them out with skip=True.")
        if diagnosis.frame is None:
            raise ReplayError(
                f"Not all of the query can be run without its culprits: {_said(found)}", remedy="Filter them out of the input.",
            )
        diagnosis.check_places(repairing.besides)
        again = {id(culprit) for culprit in self._in_the_place(culprits)}
        return diagnosis, [replace(culprit, again=True) if id(culprit) in again else culprit for culprit in culprits], found.unknown

    def _refusal(self, culprits: Sequence[CrashCulprit]) -> BaseException:
        """Why the query does not go on: of rows that crash nothing was decided, and they may be the user's own."""
        if worse := self._in_the_place(culprits):
            return ReplayError(
                f"A row that is given in the place of one that crashed crashes, too: {shown(worse[0].record)}: {worse[0].exception_type}: {worse[0].message}",
                remedy="Give another one, or skip=True.",
            )
        return self._failure.problem

    def _in_the_place(self, culprits: Iterable[CrashCulprit]) -> list[CrashCulprit]:
        """Those that the run did not have: they came in the place of others. None, if not all that it had are known."""
        known = self._run.culprits
        return others(culprits, Counter(map(key_of, known.known))) if known.complete else []


def _said(culprits: Culprits) -> str:
    """What is not known of culprits, as the end of a sentence."""
    return " ".join(culprits.unknown).rstrip(".")


def _all(culprits: Culprits) -> list[CrashCulprit]:
    try:
        return list(culprits)
    except (PySparkException, Py4JError) as problem:
        raise ReplayError(f"The rows that are to come in the place of others do not fit: {brief(problem).rstrip('.')}") from problem
