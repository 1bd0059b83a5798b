"""What the culprit view says of a resume before it is asked for one: what it would compute, and which outputs it reaches. As JSON-ready data."""

from __future__ import annotations

from typing import Any

from bigdebug.errors import BigdebugError
from bigdebug.shown import counted
from bigdebug.trace.forecast import Bound, Forecast, Reach, StageForecast, forecast, reach
from bigdebug.trace.run import Run
from bigdebug.views.decisions import Decisions
from bigdebug.views.payload import text

STAGES = 20
"""Stages that a message has; it says how many more there are."""

_PLANNED_ANEW = "The query runs once more, over its input without the culprits, or with what is put in their place. Spark plans it anew: what that takes is not known before it ran."


def refusal(run: Run | None) -> str | None:
    """Why a run cannot be resumed, with what to do; None if it can."""
    if run is None or not run.resuming:
        return "This run did not crash in this session: it is looked at, not resumed."
    try:
        run.resuming[0].check()
    except BigdebugError as why:
        return text(f"{why.what.rstrip('.')}. {why.remedy}")
    return None


def said_before(run: Run, decisions: Decisions) -> dict[str, Any]:
    """What a resume of the run would compute, with what was decided so far. Costs no job."""
    expected = expected_of(run)
    stages = () if expected is None else expected.stages
    return {
        "said": [*([_PLANNED_ANEW] if expected is None else _computed(expected)), *_reached(run, decisions, expected is not None)],
        "stages": [_stage(stage) for stage in stages[:STAGES]], "left": max(0, len(stages) - STAGES),
    }


def tasks_of(run: Run) -> int | None:
    """How many tasks a resume takes; None if that is not known before."""
    expected = expected_of(run)
    again = any(not one.operator.form.record_wise for one in run.culprits.known)  # the action may be called several times
    return None if expected is None or again or expected.bound is not Bound.EXACT else expected.computes


def expected_of(run: Run) -> Forecast | None:
    held = run.resuming[0].held if run.resuming else None
    return None if held is None else forecast(run, held)


def _stage(stage: StageForecast) -> dict[str, Any]:
    return {"operators": [text(str(operator)) for operator in stage.operators], "partitions": stage.partitions, "computes": stage.computes}


def _computed(expected: Forecast) -> list[str]:
    stages = sum(stage.computes > 0 for stage in expected.stages)
    bound = "" if expected.bound is Bound.EXACT else f"{expected.bound.value} "
    said = [f"Resuming computes {bound}{counted(expected.computes, 'partition')} in {counted(stages, 'stage')}."]
    if expected.held:
        said.append(f"{counted(expected.held, 'partition')} that had finished {'is' if expected.held == 1 else 'are'} not computed again, as long as Spark holds {'it' if expected.held == 1 else 'them'}.")
    return said


def _reached(run: Run, decisions: Decisions, known: bool) -> list[str]:
    """How many outputs there are of what was repaired; of the run of a DataFrame, of which less is ``known``, the graph is a plan that would be read."""
    replaced, decided = decisions.replaced(), decisions.counts()
    fixed = [f"What the fixed functions give for {counted(decided.fixed)} is not known before it ran."] if decided.fixed else []
    if not replaced:
        return [*fixed, *(["What is skipped is in no output."] if decided.skipped else [])]
    found = reach(run.graph, run.subject, replaced) if known else Reach(0, Bound.UNKNOWN)
    one = len(replaced) == 1
    match found.bound:
        case Bound.UNKNOWN:
            return [*fixed, f"How many outputs the repaired {'record reaches' if one else 'records reach'} is not known before it ran."]
        case bound:
            what = "The repaired record reaches" if one else f"The {counted(len(replaced), 'repaired record')} reach"
            return [*fixed, f"{what} {'' if bound is Bound.EXACT else f'{bound.value} '}{counted(found.outputs, 'output')}."]
