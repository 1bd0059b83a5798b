"""A saved session takes the actors along that are joined with its files, and no others."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bigdebug
from bigdebug import actors
from bigdebug.actors.copying import copy_joined
from bigdebug.errors import StoreError
from bigdebug.shown import MASKED, mask
from bigdebug.store.directory import LineageStore
from bigdebug.trace.across.located import Located, Unit
from bigdebug.trace.saved.saving import save


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


def test_who_failed_on_the_way_is_copied(tmp_path: Path, home: Path) -> None:
    (tmp_path / "in").write_text("x\n")
    for wrote in ("left", "elsewhere"):
        (tmp_path / wrote).write_text("y\n")
        failed = actors.register(wrote)
        if wrote == "left":
            failed.add_input(at=actors.Place.line(str(tmp_path / "in"), 0))
        failed.add_output(at=actors.Place.line(str(tmp_path / wrote), 0))
        failed.fail(error=ZeroDivisionError("token=hunter2"))
        failed.abandon(ZeroDivisionError("token=hunter2"))
    mask(r"token=\S+")
    try:
        session = save([], LineageStore(tmp_path / "store"), tmp_path / "session", besides=lambda to, _: copy_joined(to, {str(tmp_path / "left")}))
    finally:
        mask(None)
    shutil.rmtree(home)
    opened = bigdebug.open(session)
    (step,) = opened.pipeline.steps
    assert "it failed: ZeroDivisionError" in step.incomplete[0]
    assert [str(each) for each in step.culprits] == [f"input 0: in, line 1: ZeroDivisionError: {MASKED}"]
    assert not any(b"hunter2" in file.read_bytes() for file in session.rglob("*") if file.is_file())
    assert opened.problems() == []
    (told,) = (session / "actors").glob("*.failed")
    told.write_text(told.read_text().replace("ZeroDivisionError", "KeyError"))
    (step,) = bigdebug.open(session).pipeline.steps
    assert "KeyError" not in step.incomplete[0]
    assert step.lost
    assert [problem.file for problem in opened.problems()] == [f"actors/{told.name}"]


def test_nothing_is_made_where_nothing_is_joined(tmp_path: Path) -> None:
    assert copy_joined(tmp_path / "copy", {"/nowhere"}) == []
    made(tmp_path, "one", "a", "b")
    assert copy_joined(tmp_path / "copy", {"/nowhere"}) == []
    assert not (tmp_path / "copy").exists()


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A saved session of no run, with two actors that are joined."""
    made(tmp_path, "first", "a", "b")
    made(tmp_path, "second", "b", "c")
    return save([], LineageStore(tmp_path / "store"), tmp_path / "session", besides=lambda to, _: copy_joined(to, {str(tmp_path / "a")}))


def test_an_actor_that_was_altered_in_a_saved_session_is_no_answer(session: Path, tmp_path: Path, home: Path) -> None:
    shutil.rmtree(home)
    first, second = actors.steps(session / "actors")
    catalog = session / "actors" / second.id / "actor.json"
    catalog.write_text(catalog.read_text().replace('"second"', '"anothr"'))
    found = {step.id: step for step in bigdebug.open(session).pipeline.steps}
    assert any("altered" in why for why in found[second.id].incomplete)
    back = found[first.id].backward([Located.of(str(tmp_path / "b"), Unit.LINE, [0])])
    assert [each.path for each in back] == [str(tmp_path / "a")]


@pytest.mark.parametrize("change", [
    lambda told: told["associations"]["members"].update(steps=[0, 1, 1 << 50]), lambda told: told["associations"]["members"].update(steps=[0, 0, 1 << 50]),
    lambda told: told["associations"]["outputs"].update(steps=[0, 1, 2]), lambda told: told["inputs"]["places"]["number"].update(steps=[0, 1, 1 << 50]),
    lambda told: told["outputs"]["valued"].update(steps=[0, 1, 1 << 50]),
])
def test_a_catalog_of_an_actor_that_claims_more_than_it_counts_is_refused(tmp_path: Path, home: Path, change: Callable[[dict[str, Any]], None]) -> None:
    actor = made(tmp_path, "one", "a", "b")
    catalog = home / actor.id / "actor.json"
    change(told := json.loads(catalog.read_text()))
    catalog.write_text(json.dumps(told))
    with pytest.raises(StoreError, match="no committed actor, or it was altered"):
        _ = actors.step(actor).reads


def test_one_damaged_actor_stops_no_other(tmp_path: Path, home: Path) -> None:
    fine = made(tmp_path, "fine", "a", "b")
    with actors.register("damaged") as damaged:
        for n in (0, 1, 5, 7, 8, 9, 20):
            damaged.add_input(at=actors.Place.line(str(tmp_path / "p"), n))
            damaged.add_output(n)
    with actors.register("takes") as takes:
        takes.add_input(7)
        takes.add_output(at=actors.Place.line(str(tmp_path / "q"), 0))
    actors.flow_link(damaged, takes)
    count = home / damaged.id / "inputs.count"
    count.write_bytes(count.read_bytes()[:-1])
    assert copy_joined(tmp_path / "copy", {str(tmp_path / "a")}) == [fine.id]
    pipeline = bigdebug.pipeline(actors.steps)
    assert [Path(str(each.located.path)).name for each in pipeline.backward(str(tmp_path / "b"), lines=[1]).sources] == ["a"]
    known = {step.id: step.incomplete for step in actors.steps()}
    assert [len(known[each.id]) for each in (fine, damaged, takes)] == [0, 1, 0]
    assert "bytes instead of" in known[damaged.id][0]
    (home / damaged.id / "actor.json").write_text("{}")
    assert [f"What the actor {damaged.id} gave" in why for why in actors.step(takes).incomplete] == [True]
    assert [each.path for each in actors.step(takes).reads] == [f"item:{takes.id}/in"]


@pytest.mark.parametrize("gone", ["actor.json", "directory", "all"])
def test_a_flow_that_may_come_through_a_damaged_actor_is_not_exact(session: Path, tmp_path: Path, home: Path, gone: str) -> None:
    shutil.rmtree(home)
    second = actors.steps(session / "actors")[1].id
    if gone == "actor.json":
        (session / "actors" / second / "actor.json").write_bytes(b"{")
    else:
        shutil.rmtree(session / "actors" / ("" if gone == "all" else second))
    pipeline = bigdebug.open(session).pipeline
    if gone == "all":
        assert len([step for step in pipeline.steps if step.incomplete]) == 2
        return
    for flow in (pipeline.forward(str(tmp_path / "a"), lines=[1]), pipeline.backward(str(tmp_path / "b"), lines=[1])):
        assert not flow.exact
        assert any(f"What {second!r} read and wrote is not known" in note for note in flow.notes)
