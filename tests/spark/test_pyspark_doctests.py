"""PySpark's own doctests hold for a LineageContext: its behaviour is PySpark's, errors included."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def outcomes() -> Any:
    """What happened with capture ``off`` and ``on``: at the same time, because most of it is waiting."""
    environment = {**os.environ, "PYTHONHASHSEED": "0", "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": str(ROOT)}
    program = Path(__file__).with_name("pyspark_doctests.py")
    running = {
        capture: subprocess.Popen(
            [sys.executable, program, capture], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) for capture in ("off", "on")
    }
    said = {capture: process.communicate(timeout=600) for capture, process in running.items()}
    for capture, process in running.items():
        assert process.returncode == 0, said[capture][1]
    return {capture: json.loads(found) for capture, (found, _) in said.items()}


def test_they_pass_with_capture_off(outcomes: Any) -> None:
    assert outcomes["off"]["failed"] == {}
    assert outcomes["off"]["tried"] > 500
    assert outcomes["off"]["runs"] == 0


def test_they_pass_with_capture_on(outcomes: Any) -> None:
    assert outcomes["on"]["failed"] == {}
    assert outcomes["on"]["tried"] > 500
    assert outcomes["on"]["runs"] > 150
    assert outcomes["on"]["incomplete"] == []
