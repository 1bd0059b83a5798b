"""T11: how soon a saved word count answers in a process that has no Spark: opened, and one record traced back to its lines and ahead to its words.

At scale 1 it has 24 million associations. Each process asks about words and lines that nobody has asked about; the first answer of each is told apart, for it maps
the files. They were written a moment ago, so the disk is not asked.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark import RDD, SparkContext

from benchmarks.inputs import Inputs
from benchmarks.jobs import PARTITIONS, words
from benchmarks.results import Result
from benchmarks.sides import Captured, Sides

MOST_OPENING_MS, MOST_TRACE_MS = 100.0, 50.0
ASKED = 50
"""Records that each process traces each way."""

_FRESH = """
import json, sys, time
began = time.perf_counter()
import bigdebug, numpy as np
import bigdebug.trace.saved.session
imported = time.perf_counter()
session = bigdebug.open(sys.argv[1])
opened = time.perf_counter()
drawn, trace = np.random.default_rng(int(sys.argv[2])), session.lineage(session.runs[0])
total = trace.count()

def timed(ask, count):
    found = []
    for number in drawn.integers(0, count, int(sys.argv[3])).tolist():
        start = time.perf_counter()
        ask(number)
        found.append((time.perf_counter() - start) * 1e3)
    return found

run = session.runs[0]
back = timed(lambda n: session.lineage(run).numbered([n]).goBackAll().rids(), total)
source = session.lineage(run, run.graph.sources[0].id)
ahead = timed(lambda n: source.numbered([n]).goNextAll().rids(), source.count())
origins = timed(lambda n: session.lineage(run).numbered([n]).goBackAll().origins()[:3], min(total, 5))
print(json.dumps({"import": (imported - began) * 1e3, "open": (opened - imported) * 1e3, "back": back, "ahead": ahead, "origins": origins,
                  "pairs": run.associated.pairs, "bytes": run.associated.bytes}))
"""


def saved_times(sides: Sides, inputs: Inputs, scratch: Path, repeats: int) -> Iterator[Result]:
    """T11: saving, opening, and traces both ways."""
    if not isinstance(sides.second, Captured):
        return

    def text(sc: SparkContext) -> RDD[str]:
        return sc.textFile(str(inputs.text), PARTITIONS)

    saved = scratch / "saved"
    job, seconds = sides.second.saved(text, words, saved)
    asked = [_asked(saved, seed) for seed in range(max(3, repeats))]
    pairs, size = asked[0]["pairs"], asked[0]["bytes"]
    whole = sum(path.stat().st_size for path in saved.rglob("*") if path.is_file())
    yield Result("T11", "saving", "s", seconds, None, inputs.scale, remark=f"the job {job:.1f} s")
    yield Result("T11", "bytes for an association", "B", size / pairs, None, inputs.scale, remark=f"{pairs:,} of them, {size / 1e6:.0f} MB; with blocks {whole / 1e6:.0f} MB")
    yield _result("opening", [each["open"] for each in asked], inputs.scale, MOST_OPENING_MS, f"imports before it {statistics.median(each['import'] for each in asked):.0f} ms")
    for way, key in (("backward", "back"), ("forward", "ahead")):
        yield _result(f"{way}, the first", [each[key][0] for each in asked], inputs.scale, MOST_TRACE_MS)
        yield _result(f"{way}, rids", [time for each in asked for time in each[key][1:]], inputs.scale, MOST_TRACE_MS)


def _result(subject: str, times: list[float], scale: float, must: float, remark: str = "") -> Result:
    ends = statistics.quantiles(times, n=4)
    return Result("T11", subject, "ms", statistics.median(times), (ends[0], ends[2]), scale, must, remark or f"at most {max(times):.1f} ms")


def _asked(saved: Path, seed: int) -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-c", _FRESH, str(saved), str(seed), str(ASKED)], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found
