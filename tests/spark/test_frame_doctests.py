"""PySpark's own doctests of DataFrames and groups hold with bigdebug attached and capture on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT


def test_they_pass() -> None:
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": str(ROOT)}
    program = Path(__file__).with_name("frame_doctests.py")
    done = subprocess.run([sys.executable, program], env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    outcome = json.loads(done.stdout.splitlines()[-1])  # streams write to the console above it
    assert outcome["failed"] == {}
    assert outcome["tried"] > 500
    assert outcome["runs"] > 150
