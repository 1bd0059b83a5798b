"""PySpark's own doctests hold with bigdebug: its behaviour is PySpark's, errors included."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.slow

_PROGRAMS = ("pyspark_doctests.py", "frame_doctests.py")


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """What the programs say at their end; they run side by side."""
    environment = {**os.environ, "PYTHONHASHSEED": "0", "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": str(ROOT)}
    running = {}
    for program in _PROGRAMS:
        folder = tmp_path_factory.mktemp("doctests")
        with (folder / "out").open("w") as out, (folder / "err").open("w") as err:
            command = [sys.executable, str(Path(__file__).with_name(program))]
            running[program] = subprocess.Popen(command, env=environment, stdout=out, stderr=err), folder
    try:
        for process, folder in running.values():
            process.wait(timeout=900)
            assert process.returncode == 0, (folder / "err").read_text()[-3000:]
        # Streams write to the console, too: what counts is the last line.
        records, frames = (json.loads((folder / "out").read_text().splitlines()[-1]) for _, folder in running.values())
        yield {**records, "frames": frames}
    finally:
        for process, _ in running.values():
            process.kill()
            process.wait()


def test_they_pass_with_capture_off(outcomes: Any) -> None:
    assert outcomes["off"]["failed"] == {}
    assert outcomes["off"]["tried"] > 500
    # Without capture, only what crashes is a run. Two examples have their jobs cancelled, and those did not crash.
    assert outcomes["off"]["runs"] == outcomes["off"]["crashed"] == 0


def test_they_pass_with_capture_on(outcomes: Any) -> None:
    assert outcomes["on"]["failed"] == {}
    assert outcomes["on"]["tried"] > 500
    assert outcomes["on"]["runs"] > 150
    assert outcomes["on"]["incomplete"] == []


def test_those_of_data_frames_and_groups_pass_attached_with_capture_on(outcomes: Any) -> None:
    assert outcomes["frames"]["failed"] == {}
    assert outcomes["frames"]["tried"] > 500
    assert outcomes["frames"]["runs"] > 150
