"""Saving programs: what is kept of an RDD program's run in a directory: its lineage, and the records of its result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bigdebug.spark.rdd.lineage_rdd import trace_of
from bigdebug.spark.unsaved import TROUBLE, why_of
from bigdebug.trace.run import Run
from bigdebug.trace.saved.outputs import encode_records
from bigdebug.trace.saved.runs import Beside
from bigdebug.trace.saved.saving import keep_outputs, program

MOST = 10_000
"""Records of a result that are kept."""


def program_of(recorder: Any, run: Run, home: Path, name: str, *, derive: bool) -> Beside:
    """As ``program``; if it is to ``derive``, with the records that the action was called on, if they are 10,000 at most, by a job."""
    derive = derive and run in recorder.runs
    trace = trace_of(recorder, run, run.subject) if derive else None  # from here on the run knows how to derive
    beside = program(run, home, name, TROUBLE, why_of, derive=derive)
    if trace is not None:
        try:
            if trace.count() <= MOST:
                records = trace.collect()
                beside.outputs = keep_outputs(home, name, encode_records(records), len(records))
        except TROUBLE as why:  # the lineage is there all the same
            beside.unsaved = beside.unsaved or f"the records of its result were not saved: {why_of(why)}"
    return beside
