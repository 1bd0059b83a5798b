"""The example of provenance graphs from top to bottom, on data that it makes for itself: what it finds is what its text says."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

FINDINGS = [
    *("flights 331 3", "weather 24 2", "departures 331 2", "wind 1 1", "daily 10 1"),
    *("flights: 331 records by the graph, the same by the pipeline: True", "weather: 24 records by the graph, the same by the pipeline: True"),
    *("EWR 2 12 3 1048.36058", "weather[1009]", "report 10 2", "by the trace: True"),
    *("from_mph is derived from mph of wind", "from_mph is derived from wind_speed of weather", "flown is derived from flown of daily"),
    *("delay is derived from flown, minutes of daily", "delay is derived from dep_delay of flights"),
    "the same: True",
]
"""Lines of the printed story; blanks stand for any number of them."""


def test_the_graph_and_the_traces_find_the_same(tmp_path: Path) -> None:
    for name in ("provenance_graph.ipynb", "flights_data.py"):
        shutil.copy(EXAMPLES / name, tmp_path)
    command = [sys.executable, EXAMPLES / "run_demo.py", tmp_path / "provenance_graph.ipynb", "--output", tmp_path / "executed.ipynb"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    story = [" ".join(line.split()) for line in done.stdout.split("\n")]
    assert [finding for finding in FINDINGS if finding not in story] == []
