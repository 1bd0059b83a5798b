"""Asking a saved session in a new process that has no Spark; questions are programs that put what they find into ``answer``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

FRESH = """
import json, sys
import bigdebug
session = bigdebug.open(sys.argv[1])
answer = {}
try:
    exec(sys.argv[2])
except bigdebug.BigdebugError as error:
    answer = {"error": type(error).__name__, "message": str(error)}
assert not [name for name in sys.modules if name.split(".")[0] in ("pyspark", "py4j")], "Spark was imported"
print(json.dumps(answer))
"""


def fresh(saved: Path, script: str) -> Any:
    """The answer of ``script`` in a new process; ``{"error": ..., "message": ...}`` if it ended in an error of ours."""
    done = subprocess.run([sys.executable, "-c", FRESH, str(saved), script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# Everything that a trace over all outputs, called ``trace``, can say: here and there.
QUESTIONS = """
def places(trace):
    return {str(o): trace.standing.get(o, {}) and {str(p): at.tolist() for p, at in sorted(trace.standing[o].items())}
            for o in trace.operators}

rids = trace.rids().tolist()
answer["rids"], answer["count"] = rids, trace.count()
answer["inputs"] = list(trace.goBackAll().inputs)
answer["back"] = [places(trace.at([rid]).goBackAll()) for rid in rids]
answer["origins"] = [[str(origin) for origin in trace.at([rid]).goBackAll().origins()] for rid in rids]
answer["one step"] = [places(trace.at([rid]).goBack()) for rid in rids]
answer["two steps"] = [places(trace.at([rid]).goBack(2)) for rid in rids]
answer["ahead"] = {}
sources = trace.goBackAll()
for name in sources.inputs:
    part = sources[name]
    answer["ahead"][name] = [places(part.at([rid]).goNextAll()) for rid in part.rids().tolist()]
    answer["ahead"][name + " by a step"] = [places(part.at([rid]).goNext()) for rid in part.rids().tolist()]
answer["lines"] = [[known.record, known.rid, known.origin.line] for known in sources["lines.txt"].source_records()]
run = trace.run
answer["table"] = [list(map(list, [run.table().header, *run.table().rows])), list(run.table().notes)]
answer["graph"] = [[o.id, o.name, o.kind.value, o.form.value, list(o.parents), o.partitions, str(o)] for o in run.graph]
answer["run"] = [run.id, run.name, run.action, run.status, run.subject, run.statistics.bytes, run.statistics.records_in]
"""

# What is behind each output, or the name of the error.
EACH = """
trace = session.lineage('report')
for rid in trace.rids().tolist():
    try:
        answer[rid] = trace.at([rid]).goBackAll().rids().tolist()
    except bigdebug.BigdebugError as error:
        answer[rid] = type(error).__name__
"""
