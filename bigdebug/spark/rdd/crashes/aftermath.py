"""Aftermath: what is made of the crashes of an action that has ended, whether it failed of them or went on."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bigdebug.agents.guards.policy import Choice, Policy
from bigdebug.shown import counted
from bigdebug.spark.cancelled import UNTOLD, is_cancelled
from bigdebug.spark.crashes import crashed, tell
from bigdebug.spark.rdd.crashes.blamed import Blamed, iterators, told_once
from bigdebug.spark.rdd.crashes.diagnosis import CrashDiagnosis
from bigdebug.spark.rdd.crashes.governed import Governed
from bigdebug.spark.rdd.crashes.resume import Resume
from bigdebug.spark.rdd.outputs import let_go
from bigdebug.trace.run import Run

if TYPE_CHECKING:
    from bigdebug.spark.rdd.action import Action
    from bigdebug.spark.rdd.recorder import Recorder

_FOR_EFFECT = ("foreach", "foreachPartition")
"""Actions whose functions are there for what they do, not for what they give."""


def settle(recorder: Recorder, run: Run, action: Action) -> None:
    """Tell watches what tasks reported. Let the culprits of a run be known or found, and the run be resumed if it has any."""
    recorder.watching.hearing.settle(run, action.watches, recorder.runs.watched_of(run))
    failed = action.problem is not None and crashed(action.problem, action.before)
    if action.policy is not None:
        _note(recorder, run, action, action.policy)
    else:
        recorder.runs.unsettled.update(_untold(run, action))
    if failed or action.policy is not None:
        run.resuming.append(Resume(recorder, run, action))
    if failed:
        assert action.problem is not None
        # What is asked of its records passes through the functions that crashed once more, guarded as they were when that was found out.
        recorder.policies.setdefault(run.id, Governed(Policy(Choice(True, None)).packed()))
        run.culprits.find_by(CrashDiagnosis(recorder, run, action).more)
        tell(recorder.sc, run.culprits, action.problem, wait=action.name not in _FOR_EFFECT)
    elif action.problem is not None and is_cancelled(action.problem):
        run.culprits.unknown.append(UNTOLD)


def _note(recorder: Recorder, run: Run, action: Action, packed: str) -> None:
    """Note the crashes that tasks went on from, and let Spark hold nothing of what they gave: it is not all."""
    blamed, reports, policy = Blamed(recorder, run), recorder.runs.crashes_of(run), Policy.unpacked(packed)
    stages = {stage.id: stage for stage in run.graph.stages}
    release = partial(release_made, recorder, action, {report.stage for report in reports} | _untold(run, action))
    recorder.policies[run.id] = Governed(policy.to_the_end().packed(), release)
    run.culprits.known += told_once((culprit for r in reports for culprit in blamed.culprits(stages[r.stage], r.partition, r.crashes, ())), ())
    hidden = sum(report.crashed - len(report.crashes) for report in reports)
    if hidden:
        run.culprits.unknown.append(f"{hidden:,} more crashed than are kept in full.")
    run.culprits.unknown += iterators([report.crashes for report in reports])
    chosen = {place for place, each in policy.known.items() if each.instead}
    came = {place for report in reports for place in report.met}
    if chosen - came:
        run.culprits.unknown.append(f"{counted(len(chosen - came))} that something was chosen for did not crash once more, so nothing came of that.")
    run.culprits.unknown += sorted({f"Dead letters could not be written: {report.unposted}" for report in reports if report.unposted})
    release()


def _untold(run: Run, action: Action) -> set[str]:
    """The stages of which not all tasks have told what they left out, where the action failed: one of them may have filled a cache before it did."""
    if action.problem is None:
        return set()
    return {
        stage.id for stage in run.graph.stages if stage.id in action.runs
        and not run.computed.get(stage.id, {}).keys() >= {*action.asked.get(stage.id, range(run.graph[stage.ends].partitions))}
    }


def release_made(recorder: Recorder, action: Action, stages: set[str]) -> None:
    """Have Spark hold nothing that is made of what tasks of some stages gave."""
    numbers = {stage: recipe.rdd_id for stage, recipe in action.recipes.items()}
    made_by = {number for stage in stages if (number := numbers[stage]) is not None}
    if made_by:
        gone = let_go(recorder.sc, action.jrdds, made_by)
        recorder.runs.let_go([stage for stage, number in numbers.items() if number in gone])
