"""Saving: what of each run a session keeps in a directory, of RDD programs and of DataFrames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bigdebug.spark.across.kept import keep_step
from bigdebug.spark.across.runs import RunSteps
from bigdebug.spark.rdd.saving import program_of
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.spark.sql.saving import query
from bigdebug.trace.run import Run
from bigdebug.trace.saved.runs import Beside
from bigdebug.trace.saved.saving import Keep


def keeping(recorder: Any, steps: RunSteps, *, derive: bool) -> Keep:
    """Keeps what is known of a run, as a step too, and what it takes jobs to ``derive``, if it is to."""

    def keep(run: Run, home: Path, name: str) -> Beside:
        if not isinstance(run, FrameRun):
            beside = program_of(recorder, run, home, name, derive=derive)
            beside.step = keep_step(steps.step_of(run), home, name, None, derive=derive)
            return beside
        beside, known = query(run, home, name, derive=derive)
        beside.step = keep_step(steps.step_of(run), home, name, known, derive=derive)
        return beside

    return keep
