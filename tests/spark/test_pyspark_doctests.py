"""PySpark's own doctests hold for a LineageContext: its behaviour is PySpark's, errors included."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def outcome() -> Any:
    environment = {**os.environ, "PYTHONHASHSEED": "0", "SPARK_LOCAL_IP": "127.0.0.1"}
    program = Path(__file__).with_name("pyspark_doctests.py")
    done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_they_pass_with_capture_off(outcome: Any) -> None:
    assert outcome["off"]["failed"] == {}
    assert outcome["off"]["tried"] > 500
    assert outcome["off"]["runs"] == 0


def test_they_pass_with_capture_on(outcome: Any) -> None:
    assert outcome["on"]["failed"] == {}
    assert outcome["on"]["tried"] > 500
    assert outcome["on"]["runs"] > 150
    assert outcome["on"]["incomplete"] == []
