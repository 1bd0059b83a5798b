"""What shows a localization that takes long: the cell's output in a notebook, a bar in a terminal, and where widgets were not built."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.formatters import DisplayFormatter
from IPython.display import DisplayHandle

from bigdebug.localize.diagnosis import UNSTABLE, Cost, Diagnosis
from bigdebug.localize.oracle import Budget
from bigdebug.localize.search import Search, is_shown
from bigdebug_kernel.searching import SearchDisplay

FOUND = Diagnosis(UNSTABLE, (), (), Cost(3, 0.1), "nothing was found", "it was stopped")
NOTEBOOK = SimpleNamespace(kernel=SimpleNamespace(), display_formatter=DisplayFormatter())
TERMINAL = SimpleNamespace(kernel=None, display_formatter=DisplayFormatter())


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is displayed, in the place of a front end."""
    found: list[Any] = []
    monkeypatch.setattr("bigdebug_kernel.searching.display", lambda data, **how: found.append(data) or DisplayHandle())
    monkeypatch.setattr(DisplayHandle, "update", lambda self, data, **how: found.append(data))
    monkeypatch.setattr("bigdebug.spark.bars.PATIENCE", 0.05)
    return found


@pytest.fixture(params=[True, False], ids=["built", "not built"])
def built(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> bool:
    monkeypatch.setattr("bigdebug.views.bundle._STATIC", tmp_path)
    for name in ("views.js", "views.css") if request.param else ():
        (tmp_path / name).write_text("")
    return bool(request.param)


def search_of(seconds: float, displayed: list[Any], expected: int, found: Diagnosis = FOUND) -> tuple[bool, str]:
    """Whether a search of so many seconds was shown, and how its diagnosis is then, as the cell's last value."""
    search, shows = Search(), SearchDisplay(NOTEBOOK)
    shows.load()
    try:
        with search.running(Budget()):
            shown = is_shown(search)
            search.wait(seconds)
            search.diagnosis = FOUND
        html = NOTEBOOK.display_formatter.format(found)[0]["text/html"]
    finally:
        shows.unload()
    for _ in range(200):
        if len(displayed) >= expected:
            break
        search_pause()
    return shown, html


def search_pause() -> None:
    Search().wait(0.01)


def test_one_that_takes_long_is_shown_and_leaves_its_diagnosis(displayed: list[Any], built: bool) -> None:
    shown, html = search_of(0.5, displayed, 2 if built else 0)
    assert shown is built
    assert ('class="bd-found"' in html) is built
    texts = [data["text/plain"] for data in displayed]
    assert len(texts) == (2 if built else 0)
    if built:
        assert texts[0].startswith("localization running")
        assert "it was stopped" in texts[1]


def test_one_that_is_over_soon_is_not_shown(displayed: list[Any], built: bool) -> None:
    _, html = search_of(0.0, displayed, 0)
    search_pause()
    assert displayed == []
    assert "bd-found" not in html


def test_another_diagnosis_is_shown_as_it_is(displayed: list[Any], built: bool) -> None:
    _, html = search_of(0.5, displayed, 2 if built else 0, replace(FOUND))
    assert "bd-found" not in html


def test_a_terminal_keeps_its_bar() -> None:
    shows = SearchDisplay(TERMINAL)
    shows.load()
    assert not is_shown(Search())
    shows.unload()
