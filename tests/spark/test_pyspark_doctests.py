"""PySpark's own doctests hold with bigdebug: its behaviour is PySpark's, errors included."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

PROGRAMS = {"off": ("pyspark_doctests.py", "off"), "on": ("pyspark_doctests.py", "on"), "frames": ("frame_doctests.py",)}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What happened: at the same time, because most of it is waiting."""
    environment = {**os.environ, "PYTHONHASHSEED": "0", "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": str(ROOT)}
    logs = {name: tmp_path_factory.mktemp(name) / "log" for name in PROGRAMS}
    running = {}
    for name, (program, *arguments) in PROGRAMS.items():
        with logs[name].open("w") as log:
            command = [sys.executable, str(Path(__file__).with_name(program)), *arguments]
            running[name] = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
    said = {name: process.communicate(timeout=900)[0] for name, process in running.items()}
    for name, process in running.items():
        assert process.returncode == 0, logs[name].read_text()[-3000:]
    return {name: json.loads(out.splitlines()[-1]) for name, out in said.items()}  # streams write to the console above it


def test_they_pass_with_capture_off(outcomes: Any) -> None:
    assert outcomes["off"]["failed"] == {}
    assert outcomes["off"]["tried"] > 500
    assert outcomes["off"]["runs"] == 0


def test_they_pass_with_capture_on(outcomes: Any) -> None:
    assert outcomes["on"]["failed"] == {}
    assert outcomes["on"]["tried"] > 500
    assert outcomes["on"]["runs"] > 150
    assert outcomes["on"]["incomplete"] == []


def test_those_of_data_frames_and_groups_pass_attached_with_capture_on(outcomes: Any) -> None:
    assert outcomes["frames"]["failed"] == {}
    assert outcomes["frames"]["tried"] > 500
    assert outcomes["frames"]["runs"] > 150
