"""Saving: what of each run a session keeps in a directory, of RDD programs and of DataFrames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bigdebug.spark.rdd.saving import program_of
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.spark.sql.saving import query
from bigdebug.trace.run import Run
from bigdebug.trace.saved_runs import Beside
from bigdebug.trace.saving import Keep


def keeping(recorder: Any, *, derive: bool) -> Keep:
    """Keeps what is known of a run, and what it takes jobs to ``derive``, if it is to."""

    def keep(run: Run, home: Path, name: str) -> Beside:
        if isinstance(run, FrameRun):
            return query(run, home, name, derive=derive)
        return program_of(recorder, run, home, name, derive=derive)

    return keep
