"""Executors without bigdebug, and without the driver's disk: as on any cluster but one's own machine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.apart import LINES
from tests.cluster.standalone import standalone
from tests.cluster.test_faults import behind, counted
from tests.conftest import ROOT

pytestmark = pytest.mark.skipif(
    shutil.which("unshare") is None or subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode != 0,
    reason="to hide a directory from a process takes the right to mount",
)

PACKAGES = ("numpy", "numpy.libs", "pyarrow", "pandas", "pandas.libs", "dateutil", "six.py", "pytz", "tzdata")


def bare(folder: Path, packages: Sequence[str] = PACKAGES) -> Path:
    """A Python that has what Spark asks for, and nothing of ours."""
    venv.create(folder)
    theirs = Path(sys.prefix, "lib", f"python{sys.version_info[0]}.{sys.version_info[1]}", "site-packages")
    here = folder / theirs.relative_to(sys.prefix)
    for package in packages:
        if (theirs / package).exists():
            (here / package).symlink_to(theirs / package)
    python = folder / "bin" / "python"
    assert subprocess.run([python, "-c", "import bigdebug"], capture_output=True, cwd=folder, check=False).returncode == 1
    return python


def told(folder: Path, *arguments: str, packages: Sequence[str] = PACKAGES) -> dict[str, Any]:
    """What the program finds on a cluster of its own."""
    (folder / "store").mkdir()
    path = folder / "lines.txt"
    path.write_text("".join(f"{line}\n" for line in LINES))
    with standalone(folder / "cluster", hidden=folder / "store") as master:
        python = str(bare(folder / "bare", packages))
        command = [sys.executable, "-m", "tests.cluster.apart", master, python, str(folder / "store"), str(path), *arguments]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr[-5000:]
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return told(tmp_path_factory.mktemp("apart"))


def test_where_agents_cannot_run_the_job_does_as_without_capture(tmp_path: Path) -> None:
    """And says why it was not captured."""
    found = told(tmp_path, "poor", packages=())
    assert found["poor"] == counted(LINES)
    assert [reason for reason in found["incomplete"] if "ModuleNotFoundError: No module named 'numpy'" in reason] == found["incomplete"] != []


def test_nothing_is_shared(found: dict[str, Any]) -> None:
    assert found["shared"] == [False, False]


@pytest.mark.parametrize("strategy", ["auto", "inject", "lazy"])
def test_runs_are_captured_and_traced(found: dict[str, Any], strategy: str) -> None:
    assert found[strategy] == counted(LINES)
    assert found[f"{strategy} incomplete"] == []
    assert found[f"{strategy} back"] == behind(LINES, "7")
    words = {word for line in LINES if "7" in line.split() for word in line.split()}
    assert found[f"{strategy} ahead"] == [line for line in counted(LINES) if line.split(":")[0] in words]


def test_programs_are_replayed_and_localized(found: dict[str, Any]) -> None:
    """In one task, which has the agents and nothing else of ours."""
    rest = sum(n % 13 for n in range(160) if n % 5 == 77 % 5 and n != 77)
    assert found["replayed"] == [f"2: {rest + 9999}"]
    assert found["localized"] == [[78], [78]]


def test_crashes_are_found_and_resumed(found: dict[str, Any]) -> None:
    assert found["culprits"] == [[LINES[77], 78]]
    assert found["resumed"] == counted([line for line in LINES if "bad" not in line])
    assert found["udf"] == ["Row(value='bad 2')"]
    assert found["maps"] == ["Row(id=2)"]
    assert len(found["shapes"]) == 1


def test_a_worker_that_ended_tells_on_which_record(found: dict[str, Any]) -> None:
    assert (found["exits"], found["unknown"]) == ([["WorkerEnded", LINES[77], 78]], [])


def test_dead_letters_that_nobody_would_find_are_told(found: dict[str, Any]) -> None:
    assert found["skipped"] == counted([line for line in LINES if "bad" not in line])
    assert any("name one that the driver and all executors see" in told for told in found["letters"])


def test_queries_are_traced(found: dict[str, Any]) -> None:
    assert found["frame"] == sum(line.startswith("7 ") for line in LINES)


def test_nothing_but_blocks_is_in_the_store(found: dict[str, Any]) -> None:
    assert found["left"] == [".block"]
