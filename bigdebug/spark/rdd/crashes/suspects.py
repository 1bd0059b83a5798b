"""Suspects: RDDs whose records an action on something else computed, a DataFrame that was made of them, and may have crashed on."""

from __future__ import annotations

import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from bigdebug.spark.captures import OpenCapture
from bigdebug.spark.rdd.action import Action
from bigdebug.spark.rdd.crashes.diagnosis import CrashDiagnosis
from bigdebug.trace.origins import SourceFacts
from bigdebug.trace.run import Run

if TYPE_CHECKING:
    from bigdebug.spark.rdd.recorder import Recorder


def comes_from(rdd: Any, other: Any) -> bool:
    """Whether ``rdd`` is made of the records of ``other``, one after the other, or is that."""
    while rdd is not other:
        parents = rdd._definition.parents
        if len(parents) != 1:
            return False
        rdd = parents[0]
    return True


def suspected(recorder: Recorder, rdd: Any) -> Run:
    """A run of no action, as if one had failed before any partition of ``rdd`` was computed: its culprits are found by computing all.

    Costs no job by itself.
    """
    facts: Future[dict[int, SourceFacts]] = Future()
    facts.set_result(recorder.measured(rdd))
    action = Action(recorder.next_run_id(), "lineage", rdd, OpenCapture(alone=True), facts, began=time.time_ns(), ran=False)
    recorder.compiled_for(action, rdd)
    with recorder.plain():
        run = recorder.runs.add(action, "failed")
        run.culprits.find_by(CrashDiagnosis(recorder, run, action).more)
    return run
