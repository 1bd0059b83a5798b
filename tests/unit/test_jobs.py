"""The bar of our own jobs: only where it can be seen and taken away again."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from bigdebug.spark import bars as module
from bigdebug.spark import jobs
from bigdebug.spark.process import own_python


class Context:
    """As much of a SparkContext as a bar asks: a job with a stage of four tasks, three of them done."""

    master, pythonExec = "local[2]", "python3"  # noqa: N815

    def __init__(self) -> None:
        self.tags: list[str] = []
        self._gateway = SimpleNamespace(proc=None)
        of_tag = SimpleNamespace(getJobIdsForTag=lambda tag: [7] if tag in self.tags else [])
        self._jsc = SimpleNamespace(sc=lambda: SimpleNamespace(statusTracker=lambda: of_tag))

    def addJobTag(self, tag: str) -> None:  # noqa: N802
        self.tags.append(tag)

    def removeJobTag(self, tag: str) -> None:  # noqa: N802
        self.tags.remove(tag)

    def statusTracker(self) -> Any:  # noqa: N802
        stage = SimpleNamespace(numCompletedTasks=3, numTasks=4)
        return SimpleNamespace(getJobInfo=lambda job: SimpleNamespace(stageIds=[1]), getStageInfo=lambda stage_id: stage)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    monkeypatch.setattr(module, "_EVERY", 0.01)


@pytest.mark.parametrize(("stream", "bar"), [(io.StringIO, False), (Terminal, True), (lambda: None, False)])
def test_a_bar_is_for_terminals(monkeypatch: pytest.MonkeyPatch, stream: Any, bar: bool) -> None:
    said = stream()
    monkeypatch.setattr(sys, "stderr", said)
    context = Context()
    with module.progress(context, "counting"):  # type: ignore[arg-type]
        assert [jobs.is_ours(tag) for tag in context.tags] == [True]  # so that it is recorded as none of the user's
        time.sleep(0.4)
    assert context.tags == []
    assert (said is not None and "bigdebug: counting" in said.getvalue()) == bar
    if bar:
        assert said.getvalue().rsplit("\r", 2)[1].strip() == ""  # what was drawn is wiped out


def test_a_notebook_brings_bars_of_its_own() -> None:
    seen = []

    @contextmanager
    def bars(what: str) -> Iterator[Any]:
        bar = SimpleNamespace(n=0, total=0, update=lambda more: None)
        yield bar
        seen.append((what, bar.total))

    module.show_bars_with(bars)
    try:
        with module.progress(Context(), "counting"):  # type: ignore[arg-type]
            time.sleep(0.3)
        with module.progress(Context(), "silently", shown=False):  # type: ignore[arg-type]
            time.sleep(0.1)
    finally:
        module.show_bars_with(None)
    assert seen == [("bigdebug: counting", 4)]


def test_questions_that_overlap_give_the_python_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    context: Any = Context()
    first, second = own_python(context), own_python(context)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert context.pythonExec == sys.executable
    second.__exit__(None, None, None)
    assert context.pythonExec == "python3"
