"""A program: runs others one after the other, each of which has a Spark session of its own, as if it were alone.

Most of the time of such a program goes into starting a JVM, which they share here. Prints as JSON what each printed and how it ended.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import runpy
import subprocess
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path

from pyspark import SparkContext

from tests.conftest import ROOT

Told = dict[str, tuple[list[str], str]]
"""By the name of a program: the lines that it printed, and the traceback of what it raised, if it did."""


def told_by(programs: dict[str, str], folder: Path, environment: Mapping[str, str] = os.environ) -> Told:
    """What programs tell that are files in ``folder``, and begin there."""
    files = [folder / f"{name}.py" for name in programs]
    for file, program in zip(files, programs.values()):
        file.write_text(program)
    environment = {**environment, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.spark.one_by_one", *map(str, files)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return {name: (said.splitlines(), raised) for name, (said, raised) in zip(programs, json.loads(done.stdout.splitlines()[-1]))}


def told(file: str) -> tuple[str, str]:
    """What a program printed and raised; no context runs behind it."""
    said, raised = io.StringIO(), ""
    os.chdir(Path(file).parent)
    with contextlib.redirect_stdout(said):
        try:
            runpy.run_path(file, run_name="__main__")
        except Exception:
            raised = traceback.format_exc()
    if SparkContext._active_spark_context is not None:
        SparkContext._active_spark_context.stop()
    return said.getvalue(), raised


if __name__ == "__main__":
    print(json.dumps([told(file) for file in sys.argv[1:]]))  # noqa: T201
