"""P1 and P2: what capturing lineage costs, in time and in bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.inputs import Inputs
from benchmarks.jobs import JOBS, Job
from benchmarks.pairs import Pairs, job_pairs, run_job
from benchmarks.results import Result, of_sample
from benchmarks.sides import Sides

MOST_TIME = 1.00
MOST_BYTES = 0.25


def cost_in_time(sides: Sides, inputs: Inputs, scratch: Path, repeats: int, jobs: Sequence[Job] = JOBS) -> Iterator[Result]:
    """P1: the time of each job with capture / its time in plain PySpark."""
    for job in jobs:
        yield ratio_of(job, job_pairs(job, sides, inputs, scratch, repeats), sides, inputs)


def ratio_of(job: Job, pairs: Pairs, sides: Sides, inputs: Inputs) -> Result:
    """The result of P1 for pairs that have been measured."""
    remark = f"{sides.plain.name} {pairs.first.median:.2f} s, {sides.second.name} {pairs.second.median:.2f} s"
    detail = {
        "plain_seconds": pairs.first.values, "second_seconds": pairs.second.values, "first_pair": pairs.warmup,
        "plain_median": pairs.first.median, "plain_quartiles": pairs.first.quartiles,
        "second_median": pairs.second.median, "second_quartiles": pairs.second.quartiles,
        "second_side": sides.second.name, "input_bytes": job.input_bytes(inputs),
    }
    must = None if sides.stand_in else MOST_TIME
    return of_sample("P1", job.name, "x", pairs.ratios, inputs.scale, must=must, remark=remark, detail=detail)


def cost_in_bytes(sides: Sides, inputs: Inputs, scratch: Path, repeats: int) -> Iterator[Result]:
    """P2: the lineage of each job on disk / its input, both in bytes. One run each: the bytes do not vary."""
    for job in JOBS:
        read = job.input_bytes(inputs)
        run_job(job, sides.second, sides, inputs, scratch)
        if (kept := sides.second.lineage_bytes) is None:
            continue
        remark = f"{kept / 1e6:.1f} MB of {read / 1e6:.1f} MB"
        detail = {"lineage_bytes": kept, "input_bytes": read}
        yield Result("P2", job.name, "of input", kept / read, None, inputs.scale, MOST_BYTES, remark, detail)
