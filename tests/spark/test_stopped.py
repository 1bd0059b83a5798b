"""Spark that is stopped while something runs: the user's action fails as in plain PySpark, questions are refused by name, and a new session works."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow  # each is a SparkContext of its own

SHUT_DOWN = "SparkContext was shut down"


@pytest.fixture(scope="module")
def done() -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "tests.spark.stopped"], capture_output=True, text=True, check=True, timeout=200)


@pytest.fixture(scope="module")
def told(done: subprocess.CompletedProcess[str]) -> dict[str, list[str]]:
    return dict(json.loads(done.stdout.splitlines()[-1]))


def test_an_action_that_is_captured_fails_as_any(told: dict[str, list[str]]) -> None:
    assert told["rdd_captured"][:2] == told["plain"][:2]
    assert SHUT_DOWN in told["rdd_captured"][2]
    # Of what PySpark's own collect() fails, the moment decides.
    assert any(text in told["frame_captured"][2] for text in (SHUT_DOWN, "setCallSite", "java.lang.NullPointerException"))


@pytest.mark.parametrize("question", ["rdd_traced", "rdd_diagnosed", "frame_traced", "frame_diagnosed"])
def test_a_question_is_refused_by_name(told: dict[str, list[str]], question: str) -> None:
    raised, ours, text = told[question]
    assert (raised, ours) == ("IncompleteLineageError", "ours"), text
    assert "stopped" in text


def test_a_watch_of_jobs_that_no_one_can_run_is_refused_by_name(told: dict[str, list[str]]) -> None:
    raised, ours, text, *listening = told["watched"]
    assert (raised, ours, listening) == ("IncompleteLineageError", "ours", [])
    assert "A watch looks at jobs, and the SparkContext has been stopped" in text


def test_a_new_session_works(told: dict[str, list[str]]) -> None:
    assert told["afterwards"] == ["gave", "", "60"]


def test_no_thread_of_ours_ends_with_an_exception(done: subprocess.CompletedProcess[str]) -> None:
    assert "(bigdebug" not in done.stderr
    assert "bigdebug/" not in done.stderr
