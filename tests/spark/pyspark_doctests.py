"""A program: the doctests of PySpark's RDDs and contexts with a LineageContext as ``sc``, with capture off and then on.

A process of its own, because PySpark runs them in one: four cores, no hash seed, a checkpoint directory, numbers as
numpy 1 printed them, no SparkSession. Each time has a context of its own; the second finds a JVM that has warmed up. Prints what happened
as JSON.
"""

from __future__ import annotations

import contextlib
import doctest
import json
import os
import sys
import tempfile
from typing import Any

import numpy as np
import pyspark.core.context
import pyspark.core.rdd
from pyspark import SparkConf, SparkContext

from bigdebug import LineageContext

MODULES = (pyspark.core.rdd, pyspark.core.context)

LEFT_OUT = {
    "pyspark.core.context.SparkContext": "starts a context of its own, which Spark allows only if no other runs",
}


def outcome(capture: bool) -> dict[str, Any]:
    """How many examples were tried, what those that failed said, and which runs were made of their actions."""
    settings = {
        "spark.python.daemon.module": "tests.daemon", "spark.python.unix.domain.socket.enabled": "true", "spark.ui.showConsoleProgress": "false",
    }
    conf = SparkConf().setAll(list(settings.items()))
    sc = LineageContext(SparkContext("local[4]", "PythonTest", conf=conf))
    sc.setLogLevel("OFF")
    sc.setCaptureLineage(capture)
    failed: dict[str, str] = {}
    tried = 0
    with tempfile.TemporaryDirectory() as checkpoints:
        sc.setCheckpointDir(checkpoints)
        for module in MODULES:
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            for test in doctest.DocTestFinder().find(module, globs={**vars(module), "sc": sc}):
                if test.name not in LEFT_OUT:
                    said: list[str] = []
                    tried += runner.run(test, out=said.append).attempted
                    if said:
                        failed[test.name] = "".join(said)
    runs = sc._bigdebug.runs
    sc.stop()
    incomplete = [f"{run.action}: {run.incomplete}" for run in runs if run.incomplete]
    crashed = sum(run.status == "failed" for run in runs)
    return {"tried": tried, "failed": failed, "runs": len(runs), "crashed": crashed, "incomplete": incomplete}


if __name__ == "__main__":
    os.environ["PYSPARK_PYTHON"] = sys.executable
    np.set_printoptions(legacy="1.25")  # type: ignore[arg-type]
    with contextlib.redirect_stdout(sys.stderr):
        found = {"off": outcome(capture=False), "on": outcome(capture=True)}
    print(json.dumps(found))
