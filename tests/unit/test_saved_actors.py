"""A saved session takes the actors along that are joined with its files, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from bigdebug import actors
from bigdebug.actors.copying import copy_joined


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "actors"


def made(folder: Path, name: str, read: str, wrote: str) -> actors.Actor:
    for each in (read, wrote):
        (folder / each).write_text("x\n")
    with actors.register(name) as actor:
        actor.add_input(at=actors.Place.line(str(folder / read), 0))
        actor.add_output(at=actors.Place.line(str(folder / wrote), 0))
    return actor


def test_actors_are_copied_that_are_joined_by_files_or_links(tmp_path: Path) -> None:
    first, second, linked, other = (made(tmp_path, *given) for given in (("first", "a", "b"), ("second", "b", "c"), ("linked", "y", "z"), ("other", "p", "q")))
    actors.flow_link(second, linked)
    waiting = actors.register("waiting")
    copied = copy_joined(tmp_path / "copy", {str(tmp_path / "a")})
    assert copied == sorted([first.id, second.id, linked.id])
    opened = {step.id: step for step in actors.steps(tmp_path / "copy")}
    assert set(opened) == set(copied)
    known = {step.id: step for step in actors.steps()}
    for name, step in opened.items():
        assert (step.name, list(step.reads), list(step.writes)) == (known[name].name, list(known[name].reads), list(known[name].writes))
    assert other.id in known
    assert waiting.id in known


def test_nothing_is_made_where_nothing_is_joined(tmp_path: Path) -> None:
    assert copy_joined(tmp_path / "copy", {"/nowhere"}) == []
    made(tmp_path, "one", "a", "b")
    assert copy_joined(tmp_path / "copy", {"/nowhere"}) == []
    assert not (tmp_path / "copy").exists()
