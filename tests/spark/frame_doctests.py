"""A program: the doctests of PySpark's DataFrames and groups with bigdebug attached and capture on.

A process of its own, because PySpark runs them in one, with four cores. Prints what happened as JSON, in the last line.
"""

from __future__ import annotations

import contextlib
import doctest
import json
import os
import sys
import tempfile
from typing import Any

import pyspark.sql.dataframe
import pyspark.sql.group
from pyspark.sql import SparkSession

import bigdebug

MODULES = (pyspark.sql.dataframe, pyspark.sql.group)

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.REPORT_NDIFF
"""As PySpark runs them."""


def outcome() -> dict[str, Any]:
    """How many examples were tried, what those that failed said, and how many runs were made of their actions."""
    settings = {
        "spark.ui.enabled": False, "spark.ui.showConsoleProgress": False, "spark.python.unix.domain.socket.enabled": True,
        "spark.sql.shuffle.partitions": 4, "spark.python.daemon.module": "tests.daemon",
    }
    spark = SparkSession.builder.master("local[4]").appName("doctests").config(map=settings).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    dbg = bigdebug.attach(spark)
    dbg.context.setCaptureLineage(True)
    failed: dict[str, str] = {}
    tried = 0
    for module in MODULES:
        runner = doctest.DocTestRunner(optionflags=FLAGS)
        for test in doctest.DocTestFinder().find(module, globs={**vars(module), "spark": spark}):
            said: list[str] = []
            tried += runner.run(test, out=said.append).attempted
            if said:
                failed[test.name] = "".join(said)
    runs = len(dbg.runs)
    spark.stop()
    return {"tried": tried, "failed": failed, "runs": runs}


if __name__ == "__main__":
    os.environ["PYSPARK_PYTHON"] = sys.executable
    with contextlib.redirect_stdout(sys.stderr), tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # some write where they are
        found = outcome()
    print(json.dumps(found))  # noqa: T201
