"""Which cell ran at a time."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import bigdebug
from bigdebug.datasets.model import Cell
from bigdebug_kernel.celltimes import CellTimes


@pytest.fixture
def timed() -> Any:
    shell: Any = InteractiveShell()
    shell.times = CellTimes(shell)  # where cells find it
    shell.user_ns.update(shell=shell, now=lambda: datetime.now(timezone.utc))
    shell.events.register("pre_run_cell", shell.times.started)
    shell.events.register("post_run_cell", shell.times.ended)
    return shell


def test_the_cell_that_runs_is_named_and_no_other(timed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JPY_SESSION_NAME", "/a/b.ipynb")
    before = datetime.now(timezone.utc) - timedelta(seconds=1)
    timed.run_cell("found = shell.times.at(now())", store_history=True, cell_id="c1")
    timed.run_cell("other = shell.times.at(now()); at = now()", store_history=True, cell_id="c2")
    assert timed.user_ns["found"] == Cell("/a/b.ipynb", "c1", 1)
    assert timed.user_ns["other"] == Cell("/a/b.ipynb", "c2", 2)
    assert timed.times.at(timed.user_ns["at"]) == Cell("/a/b.ipynb", "c2", 2)
    assert timed.times.at(before) is None
    assert timed.times.at(datetime.now(timezone.utc) + timedelta(seconds=1)) is None


def test_a_cell_within_a_cell_is_the_one_that_runs(timed: Any) -> None:
    timed.run_cell("shell.run_cell('inner = shell.times.at(now())', cell_id='in'); outer = shell.times.at(now())", store_history=True, cell_id="out")
    assert (timed.user_ns["inner"].id, timed.user_ns["outer"].id) == ("in", "out")


def test_empty_cells_and_cells_that_fail_end_no_other(timed: Any) -> None:
    timed.run_cell("shell.run_cell('   '); shell.run_cell('1 / 0'); outer = shell.times.at(now())", cell_id="out")
    assert timed.user_ns["outer"].id == "out"


def test_what_visual_studio_calls_the_notebook_comes_first(timed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JPY_SESSION_NAME", "/a/b.ipynb")
    timed.user_ns["__vsc_ipynb_file__"] = "/c/d.ipynb"
    timed.run_cell("found = shell.times.at(now())", cell_id="x")
    assert timed.user_ns["found"].notebook == "/c/d.ipynb"


def test_a_time_in_whole_milliseconds_is_not_before_its_cell() -> None:
    times = CellTimes(SimpleNamespace(execution_count=1, user_ns={}))
    times.started(SimpleNamespace(store_history=True, cell_id="x"))
    now = datetime.now(timezone.utc)
    assert times.at(now.replace(microsecond=now.microsecond // 1000 * 1000)) is not None


def test_jobs_are_recorded_with_the_cell_that_ran_them(shell: Any) -> None:
    shell.run_cell("spark.range(5).count()", store_history=True, cell_id="abc")
    dbg = bigdebug.attach(shell.user_ns["spark"])
    dbg.datasets.find("")
    cells = [process.cell for process in dbg.datasets.store.each() if process.cell is not None and process.cell.id == "abc"]
    assert [cell.count for cell in cells] == [shell.execution_count - 1]
