"""The leash of the browser tests: their JupyterLab ends with them, also if they are killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LEASH = Path(__file__).resolve().parents[1] / "browser" / "leash.py"
SLEEPS = "import sys, time; print('here', flush=True); time.sleep(60)"


def test_a_command_ends_when_who_started_it_has_gone() -> None:
    with subprocess.Popen([sys.executable, LEASH, sys.executable, "-c", SLEEPS], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as leash:
        assert leash.stdout is not None
        assert leash.stdin is not None
        assert leash.stdout.readline() == b"here\n"
        leash.stdin.close()
        assert leash.wait(20) < 0 or leash.returncode > 0
        assert leash.stdout.read() == b""  # nobody holds the other end: the command has ended, too


def test_a_command_that_ends_by_itself_says_how() -> None:
    with subprocess.Popen([sys.executable, LEASH, sys.executable, "-c", "raise SystemExit(7)"], stdin=subprocess.PIPE) as leash:
        assert leash.wait(20) == 7
