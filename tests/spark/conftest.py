"""What the tests on Spark share: PySpark's own doctests, which run beside them in the time that they leave."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

_PROGRAMS = {"off": ("pyspark_doctests.py", "off"), "on": ("pyspark_doctests.py", "on"), "frames": ("frame_doctests.py",)}


@pytest.fixture(scope="session", autouse=True)
def doctests(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[subprocess.Popen[bytes], Path]]]:
    """Programs that were started with the first test, if some test asks how they ended, and the folders that they write ``out`` and ``err`` in."""
    environment = {**os.environ, "PYTHONHASHSEED": "0", "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": str(ROOT)}
    asked = any("outcomes" in getattr(item, "fixturenames", ()) for item in request.session.items)
    running = {}
    for name, (program, *arguments) in _PROGRAMS.items() if asked else ():
        command = ["nice", "-n", "19", sys.executable, str(Path(__file__).with_name(program)), *arguments]
        folder = tmp_path_factory.mktemp(name)
        with (folder / "out").open("w") as out, (folder / "err").open("w") as err:
            running[name] = subprocess.Popen(command, env=environment, stdout=out, stderr=err), folder
    yield running
    for process, _ in running.values():
        process.kill()
        process.wait()
