"""PySpark's own doctests hold with bigdebug: its behaviour is PySpark's, errors included."""

from __future__ import annotations

import json
from typing import Any

import pytest


@pytest.fixture(scope="module")
def outcomes(doctests: Any) -> Any:
    found = {}
    for name, (process, folder) in doctests.items():
        process.wait(timeout=900)
        assert process.returncode == 0, (folder / "err").read_text()[-3000:]
        found[name] = json.loads((folder / "out").read_text().splitlines()[-1])  # streams write to the console above it
    return found


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
