"""A long session: 500 captured runs, asked and let go of, leave it as it was (issue 10)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="what a process holds is read from /proc")
def test_500_runs_leave_a_session_as_it_was() -> None:
    done = subprocess.run([sys.executable, "-m", "tests.spark.soaked"], capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr
    warm, now = json.loads(done.stdout.splitlines()[-1])
    assert (now["stored"], warm["stored"]) == (0, 0)
    assert now["ours"] == warm["ours"]
    assert now["names"] <= warm["names"] + 2
    assert now["threads"] <= warm["threads"]
    assert now["files"] <= warm["files"] + 2
    assert now["megabytes"] < warm["megabytes"] + 4
