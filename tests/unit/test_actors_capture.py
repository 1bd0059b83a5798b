"""Actors from their registration to a question: Newt's Table 1, containment, flows, and what goes wrong, by name."""

import enum
import errno
import fcntl
import json
import multiprocessing
import os
import shutil
import stat
import string
import subprocess
import sys
import threading
from dataclasses import dataclass, make_dataclass
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigdebug import actors
from bigdebug.actors.values import canonical, digest_of
from bigdebug.errors import (
    ActorError,
    CorruptBlockError,
    IncompleteLineageError,
    StoreError,
    StoreVersionError,
    UnknownActorError,
    UntraceableError,
)
from bigdebug.trace.across.located import FileStamp, Located, Unit


@pytest.fixture
def home(tmp_path):
    return actors.ActorHome(tmp_path / "actors")


def at(path, unit, *positions):
    return Located.of(str(path), unit, positions)


def told(found):
    return {each.path: each.positions.tolist() for each in found}


def upper_lines(home, source, target, lines):
    """A plain step that is captured by calls: every line is given once, and once more in upper case."""
    source.write_text("".join(f"{each}\n" for each in lines))
    with actors.register("upper", home=home) as actor, target.open("w") as out:
        written = 0
        for number, text in enumerate(source.read_text().splitlines()):
            actor.reset()
            actor.add_input(text, at=actors.Place.line(source, number))
            for given_ in (text, text.upper()):
                out.write(f"{given_}\n")
                actor.add_output(given_, at=actors.Place.line(target, written))
                written += 1
    return actor


def test_a_step_tells_of_lines_of_files_both_ways(home, tmp_path):
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    actor = upper_lines(home, source, target, ["a", "b", "<script>alert(1)</script>"])
    (step,) = actors.steps(home)
    assert (step.id, step.name, step.kind, step.incomplete) == (actor.id, "upper", "actor", ())
    assert step.began <= step.ended
    assert [(each.path, each.unit) for each in step.reads] == [(str(source), Unit.LINE)]
    assert [each.stamp.size for each in step.writes] == [target.stat().st_size]
    assert told(step.backward([at(target, Unit.LINE, 3, 4)])) == {str(source): [1, 2]}
    assert told(step.forward([at(source, Unit.LINE, 1)])) == {str(target): [2, 3]}
    assert told(step.made_of("B")) == {str(source): [1]}
    assert told(step.made_from("a")) == {str(target): [0, 1]}
    assert told(step.backward([at(target, Unit.LINE, 99)])) == {}
    assert told(step.backward([at(tmp_path / "other", Unit.LINE, 0)])) == {}
    assert len(list((home.root / actor.id).iterdir())) <= 5


def test_what_is_captured_is_its_owners_alone(home, tmp_path):
    actor = upper_lines(home, tmp_path / "a", tmp_path / "b", ["x", "y", "x"])
    for path in (home.root, home.root / actor.id):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    for path in (home.root / actor.id).iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    waiting = actors.register("waits", home=home)
    assert stat.S_IMODE((home.root / f"{waiting.id}.open").stat().st_mode) == 0o600


def test_capture_associates_one_with_one_whatever_came_before(home):
    with actors.register("map", home=home) as actor:
        assert actor.capture("k", ("k", 1)) is False
        actor.capture("k", ("k", 2))
        actor.capture("l", ("l", 1))
    step = actors.step(actor)
    assert told(step.made_of(("l", 1))) == {f"item:{actor.id}/in": [2]}
    assert told(step.made_from("k")) == {f"item:{actor.id}/out": [0, 1]}
    assert step.hashes(f"item:{actor.id}/in").tolist()[0] == step.hashes(f"item:{actor.id}/in").tolist()[1]
    assert step.hashes("item:other/in") is None


def test_bytes_of_a_file_overlap(home, tmp_path):
    with actors.register("reader", home=home) as actor:
        actor.add_input(at=actors.Place.span(tmp_path / "f", 10, 5))
        actor.add_output(at=actors.Place.span(tmp_path / "g", 0, 3))
        actor.reset()
        actor.add_input(at=actors.Place.span(tmp_path / "f", 15, 1))
        actor.add_output(at=actors.Place.span(tmp_path / "g", 3, 3))
    step = actors.step(actor)
    assert told(step.backward([at(tmp_path / "g", Unit.BYTE, 2)])) == {str(tmp_path / "f"): [10, 11, 12, 13, 14]}
    assert told(step.forward([at(tmp_path / "f", Unit.BYTE, 14)])) == {str(tmp_path / "g"): [0, 1, 2]}
    assert told(step.forward([at(tmp_path / "f", Unit.BYTE, 9, 16)])) == {}
    with pytest.raises(ActorError, match="units of byte"):
        step.backward([at(tmp_path / "g", Unit.LINE, 2)])


@given(st.data())
def test_places_are_found_as_a_loop_finds_them(tmp_path_factory, data):
    home = actors.ActorHome(tmp_path_factory.mktemp("home"))
    places = data.draw(st.lists(st.tuples(st.sampled_from("fg"), st.integers(0, 12), st.integers(1, 4)), max_size=12))
    with actors.register("x", home=home) as actor:
        for path, position, length in places:
            actor.add_input(at=actors.Place.span(f"/{path}", position, length))
            actor.add_output()
            actor.reset()
    step = actors.step(actor)
    asked = data.draw(st.sets(st.integers(0, 16), max_size=4))
    found = told(step.forward([at("/f", Unit.BYTE, *asked)])).get(f"item:{actor.id}/out", [])
    assert found == [i for i, (path, start, length) in enumerate(places) if path == "f" and asked & set(range(start, start + length))]
    outputs = data.draw(st.sets(st.integers(0, 12), max_size=4))
    wanted = {path: sorted({p for i, (one, start, length) in enumerate(places) for p in range(start, start + length) if one == path and i in outputs}) for path in "fg"}
    assert told(step.backward([at(f"item:{actor.id}/out", Unit.ROW, *outputs)])) == {f"/{path}": each for path, each in wanted.items() if each}


# ---- what goes wrong, by name ---------------------------------------------------------------------------------


def test_a_commit_twice_and_calls_after_it_are_refused(home):
    actor = actors.register("once", home=home)
    actor.commit()
    for call in (actor.commit, actor.add_input, actor.add_output, actor.reset, lambda: actor.capture(1, 2), actor.fail, lambda: actor.add_inputs(3)):
        with pytest.raises(ActorError, match="has committed") as refused:
            call()
        assert "Register another one" in refused.value.remedy
    assert [step.incomplete for step in actors.steps(home)] == [()]


def test_an_actor_that_a_forked_process_committed_says_so(home):
    actor = actors.register("forked", home=home)
    child = multiprocessing.get_context("fork").Process(target=actor.commit)
    child.start()
    child.join()
    with pytest.raises(ActorError, match="committed in another process"):
        actor.commit()
    assert [step.incomplete for step in actors.steps(home)] == [()]


def test_a_registration_that_cannot_be_written_leaves_nothing(home, monkeypatch):
    def full(number, told):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StoreError, match="The disk is full"):
        actors.register("large", home=home)
    assert [*home.root.iterdir()] == []


def test_an_output_before_any_input_was_made_of_nothing(home):
    with actors.register("eager", home=home) as actor:
        actor.add_output("o")
        actor.add_input("i")
    assert told(actors.step(actor).made_of("o")) == {}


def test_an_actor_that_never_committed_says_so_and_touches_no_other(home, tmp_path):
    lost = actors.register("lost", home=home)
    good = upper_lines(home, tmp_path / "a", tmp_path / "b", ["x"])
    open_, fine = actors.steps(home)
    assert (open_.id, fine.id) == (lost.id, good.id)
    assert open_.incomplete == ("The actor lost cannot be asked: it has not committed yet",)
    assert open_.ended is None
    for ask in (open_.backward, open_.forward):
        with pytest.raises(IncompleteLineageError, match="not committed yet"):
            ask([])
    with pytest.raises(IncompleteLineageError, match="not committed yet"):
        actors.step(lost)
    assert told(fine.backward([at(tmp_path / "b", Unit.LINE, 1)])) == {str(tmp_path / "a"): [0]}
    name = lost.id
    del lost
    assert "let go of it" in actors.steps(home)[0].incomplete[0]
    actors.forget(name, home)
    assert [step.id for step in actors.steps(home)] == [good.id]


def test_a_process_that_was_killed_leaves_an_actor_that_says_so(home):
    program = (
        "import os, sys\nfrom bigdebug import actors\n"
        "actor = actors.register('killed', home=sys.argv[1])\nactor.add_input('i')\nos.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", program, str(home.root)], check=False).returncode == -9
    (step,) = actors.steps(home)
    assert "its process let go of it" in step.incomplete[0]


def test_an_exception_leaves_a_failed_actor_with_its_culprit(home):
    actor = actors.register("divides", home=home)
    actor.add_input({"amount": 0})
    with pytest.raises(ZeroDivisionError), actor:
        1 / 0  # noqa: B018
    (step,) = actors.steps(home)
    assert "it failed: ZeroDivisionError" in step.incomplete[0]
    assert [(each.number, each.error) for each in step.culprits] == [(0, "ZeroDivisionError: division by zero")]
    assert step.ended is not None
    with pytest.raises(ActorError, match="has failed"):
        actor.commit()


def test_culprits_of_an_actor_that_goes_on_are_kept_and_are_traced(home, tmp_path):
    with actors.register("map", home=home) as actor:
        actor.add_input(at=actors.Place.line(tmp_path / "in", 0))
        actor.add_output("fine")
        actor.reset()
        actor.fail(actors.Place.line(tmp_path / "in", 1), error=ValueError("no number: \x1b[31m"))
        actor.add_input(at=actors.Place.line(tmp_path / "in", 2))
        actor.add_output("also")
    step = actors.step(actor)
    (culprit,) = step.culprits
    assert told(step.inputs_of(culprit)) == {str(tmp_path / "in"): [1]}
    assert told(step.outputs_of(culprit)) == {}
    assert step.inputs_of("else") is None
    assert "\x1b" not in str(culprit)
    assert told(step.made_of("also")) == {str(tmp_path / "in"): [2]}


def test_a_tag_that_cannot_be_a_key_is_refused_by_name(home):
    with actors.register("tags", home=home) as actor:
        for tag in ({}, [[1]], ([],)):
            for call in (actor.add_input, actor.add_output):
                with pytest.raises(ActorError, match="A tag is a value that does not change"):
                    call("a", tag)
        actor.add_input("a", "x")
    assert actors.step(actor).count(f"item:{actor.id}/in") == 1
    with pytest.raises(ActorError, match="A tag is a value that does not change"):
        [*actors.generator(lambda records: iter([*records]), tags=(lambda record: [record], str), home=home)([1])]


def test_links_of_unknown_actors_and_of_cycles_are_refused(home):
    one, other, third = (actors.register(name, home=home) for name in ("one", "two", "three"))
    for source, target in ((one, "nobody"), ("../../etc", one), (one, "a" * 500), (one, 7)):
        with pytest.raises(UnknownActorError, match="no such actor"):
            actors.flow_link(source, target, home=home)
    actors.flow_link(one, other)
    actors.flow_link(other, third)
    for source, target in ((one, one), (third, one)):
        with pytest.raises(ActorError, match="come back"):
            actors.flow_link(source, target)


def test_an_integer_of_any_length_is_a_value(home):
    with actors.register("large", home=home) as actor:
        for number in (10**5000, -(10**5000), 10**5000 + 1):
            actor.add_input(number)
            actor.add_output(str(number % 7))
            actor.reset()
    (step,) = actors.steps(home)
    assert [[each.positions.tolist() for each in step.made_from(number)] for number in (10**5000, -(10**5000), 10**5000 + 1)] == [[[0]], [[1]], [[2]]]


def test_what_holds_itself_is_no_value_and_arguments_of_another_kind_are_refused_by_name(home):
    itself = []
    itself.append(itself)
    before = len(actors.steps())
    with actors.register("a") as actor:
        with pytest.raises(ActorError, match="A list that holds itself"):
            actor.add_input(itself)
        with pytest.raises(ActorError, match="options of a file"):
            actor.file("x", options=[1])
    for wrong, why in (({"kind": "job"}, "no ActorType"), ({"takes": "record"}, "no DataType"), ({"only": 3}, "in a list"), ({"without": "x"}, "in a list"), ({"within": 3}, "What contains an actor"), ({"home": 5}, "is a directory")):
        with pytest.raises(ActorError, match=why):
            actors.register("x", **wrong)
    for wrong in ({"reads": None}, {"writes": 3}):
        with pytest.raises(ActorError, match="are paths of files"):
            actors.program(["true"], **wrong)
    for path in (None, 3, b"x", ""):
        with pytest.raises(ActorError, match="no path of a file"):
            actors.Place.line(path, 0)
    assert [step.name for step in actors.steps()[before:]] == ["a"]


def test_types_that_do_not_fit_are_refused(home):
    job = actors.register("job", actors.JOB, home=home)
    task = actors.register("task", actors.TASK, within=job, home=home)
    with pytest.raises(ActorError, match="A job is not within a task"):
        actors.register("inner", actors.JOB, within=task, home=home)
    with pytest.raises(ActorError, match="A stage is not within a operator"):
        actors.register("s", actors.STAGE, within=actors.register("o", actors.OPERATOR, within=task, home=home), home=home)
    with pytest.raises(UnknownActorError):
        actors.register("orphan", actors.TASK, within="nobody-1", home=home)
    page, image = actors.DataType("page", actors.FILE), actors.DataType("image")
    one, other = actors.register("a", gives=page, home=home), actors.register("b", takes=image, home=home)
    with pytest.raises(ActorError, match="gives a page has no flow to one that takes a image"):
        actors.flow_link(one, other)
    actors.flow_link(one, actors.register("c", takes=actors.FILE, home=home))
    for make in (lambda: actors.ActorType(""), lambda: actors.DataType("x", within=actors.JOB), lambda: actors.ActorType("job", actors.JOB)):
        with pytest.raises(ActorError):
            make()
    for name in ("", None, 7):
        with pytest.raises(ActorError, match="name of an actor"):
            actors.register(name, home=home)


def test_one_file_has_one_unit_on_a_side(home, tmp_path):
    with actors.register("mixed", home=home) as actor:
        actor.add_input(at=actors.Place.line(tmp_path / "f", 0))
        with pytest.raises(ActorError, match="units of line already"):
            actor.add_input(at=actors.Place.row(tmp_path / "f", 0))
        for wrong in (-1, 1.5, True, None):
            with pytest.raises(ActorError, match="counted from 0"):
                actors.Place.line(tmp_path / "f", wrong)
        actor.add_output("o")
    assert told(actors.step(actor).made_of("o")) == {str(tmp_path / "f"): [0]}


@pytest.mark.parametrize("harm", ["catalog gone", "catalog cut", "array gone", "array cut", "array altered", "future", "no json", "link", "types gone"])
def test_a_damaged_actor_says_so_and_touches_no_other(home, tmp_path, harm):
    actor = upper_lines(home, tmp_path / "a", tmp_path / "b", ["x", "y", "x", "z"])
    fine = upper_lines(home, tmp_path / "c", tmp_path / "d", ["x"])
    folder = home.root / actor.id
    catalog, array = folder / "actor.json", next(each for each in folder.iterdir() if "digests" in each.name)
    expected = StoreError
    if harm == "catalog gone":
        catalog.unlink()
    elif harm == "catalog cut":
        catalog.write_bytes(catalog.read_bytes()[:-30])
    elif harm == "array gone":
        for each in folder.glob("*digests"):
            each.unlink()
    elif harm in ("array cut", "array altered"):
        for each in folder.glob("*digests"):
            data = each.read_bytes()
            each.write_bytes(data[:-1] if harm == "array cut" else bytes([data[0] ^ 1]) + data[1:])
        expected = CorruptBlockError
    elif harm == "link":
        array.rename(tmp_path / "elsewhere")
        array.symlink_to(tmp_path / "elsewhere")
        next(each for each in folder.glob("*digests") if not each.is_symlink()).unlink()
    else:
        change = {"future": {"format": 99}, "no json": {"outputs": 7}, "types gone": {"kind": []}}[harm]
        catalog.write_text(json.dumps({**json.loads(catalog.read_text()), **change}))
        expected = StoreVersionError if harm == "future" else StoreError
    steps = {step.id: step for step in actors.steps(home)}
    assert told(steps[fine.id].backward([at(tmp_path / "d", Unit.LINE, 0)])) == {str(tmp_path / "c"): [0]}
    with pytest.raises((expected, IncompleteLineageError)):
        steps[actor.id].made_of("x") if isinstance(steps[actor.id], actors.ActorStep) else steps[actor.id].backward([])
    with pytest.raises(expected):
        actors.step(actor.id, home).made_of("x")


def test_a_half_written_actor_is_none(home):
    actor = actors.register("half", home=home)
    (home.root / f".{actor.id}.part").mkdir()
    (home.root / f".{actor.id}.part" / "actor.json").write_text("{")
    (step,) = actors.steps(home)
    assert "not committed" in step.incomplete[0]


def test_a_home_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="home of actors cannot be written") as refused:
        actors.register("x", home=tmp_path / "file" / "below")
    assert "BIGDEBUG_HOME" in refused.value.remedy
    assert actors.steps(tmp_path / "nothing here") == []


# ---- containment (3.1, 5.3) -----------------------------------------------------------------------------------


def test_what_a_job_contains_and_has_not_committed_is_dropped_with_all_of_its_own(home):
    job = actors.register("job", actors.JOB, home=home)
    won, lost = (actors.register("attempt", actors.TASK, within=job, home=home) for _ in range(2))
    for task in (won, lost):
        with actors.register("map", actors.OPERATOR, within=task, home=home) as operator:
            operator.capture("i", "o")
    with pytest.raises(RuntimeError), lost:
        raise RuntimeError("speculated in vain")
    slow = actors.register("attempt", actors.TASK, within=job, home=home)
    won.commit()
    job.commit()
    with pytest.raises(ActorError, match="committed without it"):
        slow.commit()
    left = actors.steps(home)
    assert [(step.name, step.kind) for step in left] == [("job", "job"), ("attempt", "task"), ("map", "operator")]
    assert all(isinstance(step, actors.ActorStep) for step in left)
    assert left[2].parents == (left[1].id,)
    assert set(left[0].dropped) == {lost.id, slow.id}
    assert not list(home.root.glob(".*"))


def test_what_is_forgotten_takes_its_parts_along(home):
    job = actors.register("job", actors.JOB, home=home)
    with actors.register("t", actors.TASK, within=job, home=home) as task:
        pass
    other = actors.register("other", home=home)
    actors.flow_link(task, other)
    job.commit()
    actors.forget(job)
    assert [step.name for step in actors.steps(home)] == ["other"]
    assert home.links() == []


def test_old_actors_go_and_the_oldest_of_too_many_bytes(home, tmp_path):
    job = actors.register("job", actors.JOB, home=home)
    upper_lines(home, tmp_path / "a", tmp_path / "b", ["x"] * 50)
    with actors.register("t", actors.TASK, within=job, home=home):
        pass
    job.commit()
    held = actors.register("held", home=home)
    actors.register("let go", home=home)
    with actors.register("new", home=home):
        pass
    (home.root / ".let-go-1.part").mkdir()
    assert actors.prune(home=home) == []
    assert not (home.root / ".let-go-1.part").exists()
    sizes = {step.name: sum(path.stat().st_size for path in home.paths(step.id)) for step in actors.steps(home)}
    gone = actors.prune(larger_than=sum(sizes.values()) - sizes["held"] - 1, home=home)
    assert [name.rpartition("-")[0] for name in gone] == ["job"]
    assert [step.name for step in actors.steps(home)] == ["upper", "held", "let go", "new"]
    assert len(actors.prune(older_than=timedelta(seconds=0), home=home)) == 3
    assert [step.id for step in actors.steps(home)] == [held.id]
    for wrong in ("30d", -1, True):
        with pytest.raises(ActorError, match="no age"):
            actors.prune(older_than=wrong, home=home)


@pytest.mark.parametrize("locked", [False, True], ids=["before it is locked", "looked at before it was locked"])
def test_who_registers_is_registered_also_where_somebody_prunes_meanwhile(home, monkeypatch, locked):
    lock, pruned = fcntl.flock, []

    def slowly(file, how):
        if how == fcntl.LOCK_EX and len(pruned) < 3:
            [(new, _)] = home.halves()
            if locked:
                lock(file, how)
                new.unlink()
            pruned.append(actors.prune(older_than=3600, home=home))
        return lock(file, how)

    monkeypatch.setattr(fcntl, "flock", slowly)
    with actors.register("x", home=home) as actor:
        assert home.captures(actor.id)
        actor.capture("a", "b")
    assert pruned == [[], [], []]
    assert actors.steps(home)[-1].id == actor.id
    assert home.halves() == []
    shutil.rmtree(home.root)
    home.root.write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        actors.register("x", home=home)


# ---- flows (3.2, 3.3) -----------------------------------------------------------------------------------------


def test_what_is_linked_is_found_again_by_equal_hashes(home, tmp_path):
    with actors.register("reader", home=home) as reader:
        for number, word in enumerate(["a", "b", "a", "ש"]):
            reader.reset()
            reader.add_input(at=actors.Place.line(tmp_path / "in", number))
            reader.add_output(word)
    with actors.register("count", home=home) as counter:
        for word in ("b", "a", "ש", "a"):
            counter.add_input(word, word)
        for word in ("a", "b"):
            counter.add_output((word, 2), word)
    actors.flow_link(reader, counter)
    first, second = actors.steps(home)
    assert [each.path for each in second.reads] == [f"item:{reader.id}/out"] == [each.path for each in first.writes]
    back = second.made_of(("a", 2))
    assert told(back) == {f"item:{reader.id}/out": [0, 2]}
    assert told(first.backward(back)) == {str(tmp_path / "in"): [0, 2]}
    ahead = first.forward([at(tmp_path / "in", Unit.LINE, 1, 3)])
    assert told(second.forward(ahead)) == {f"item:{counter.id}/out": [1]}


def test_several_sources_give_and_what_nobody_gave_is_told_so(home):
    sources = []
    for words in (["a", "b"], ["b", "c"]):
        with actors.register("source", home=home) as source:
            for word in words:
                source.capture(word, word)
        sources.append(source)
    with actors.register("sink", home=home) as sink:
        for word in ("a", "b", "x"):
            sink.capture(word, word)
    for source in sources:
        actors.flow_link(source, sink)
    step = actors.step(sink)
    one, other = (f"item:{source.id}/out" for source in sources)
    assert told(step.made_of("b")) == {one: [1], other: [0]}
    assert told(step.made_of("x")) == {f"item:{sink.id}/in": [2]}
    assert told(step.forward([at(other, Unit.ROW, 0)])) == {f"item:{sink.id}/out": [1]}


def test_what_has_no_hashes_is_matched_in_order_or_not_at_all(home):
    first, second = actors.register("first", home=home), actors.register("second", home=home)
    actors.flow_link(first, second)
    first.add_outputs(3)
    first.commit()
    for _ in range(3):
        second.reset()
        second.add_input()
        second.add_output()
    second.commit()
    step = actors.step(second)
    assert told(step.backward([at(f"item:{second.id}/out", Unit.ROW, 1)])) == {f"item:{first.id}/out": [1]}
    assert told(step.forward([at(f"item:{first.id}/out", Unit.ROW, 2)])) == {f"item:{second.id}/out": [2]}
    third = actors.register("third", home=home)
    third.add_inputs(2)
    third.add_output()
    actors.flow_link(first, third)
    third.commit()
    with pytest.raises(UntraceableError, match="not all say what they hold"):
        actors.step(third).backward([at(f"item:{third.id}/out", Unit.ROW, 0)])


def test_an_item_without_hash_and_place_among_others_with_hashes_is_not_lost(home):
    """It may be any of what the other side gave, or took: nobody can say that it is none."""
    first, second = actors.register("first", home=home), actors.register("second", home=home)
    actors.flow_link(first, second)
    for value in ("x", actors.NEXT):
        first.add_output(value)
        second.reset()
        second.add_input(value)
        second.add_output()
    first.commit()
    second.commit()
    step = actors.step(second)
    for number in range(2):
        with pytest.raises(UntraceableError, match="not all say what they hold"):
            step.backward([at(f"item:{second.id}/out", Unit.ROW, number)])
        with pytest.raises(UntraceableError, match="not all say what they hold"):
            step.forward([at(f"item:{first.id}/out", Unit.ROW, number)])


def test_items_with_places_are_found_by_their_hashes_as_well(home, tmp_path):
    """What else an actor read from files without saying what it holds, is known by its places."""
    first, second = actors.register("first", home=home), actors.register("second", home=home)
    actors.flow_link(first, second)
    mine, other = tmp_path / "mine.txt", tmp_path / "other.txt"
    for number, value in enumerate("xyx"):
        first.add_output(value)
        second.reset()
        second.add_input(value, at=actors.Place.line(mine, number))
        second.add_input(at=actors.Place.line(other, number))
        second.add_output()
    first.commit()
    second.commit()
    step = actors.step(second)
    given = f"item:{first.id}/out"
    assert {each.path for each in step.reads} == {str(mine), str(other), given}
    assert told(step.backward([at(f"item:{second.id}/out", Unit.ROW, 1)])) == {str(mine): [1], str(other): [1], given: [1]}
    assert told(step.backward([at(f"item:{second.id}/out", Unit.ROW, 2)])) == {str(mine): [2], str(other): [2], given: [0, 2]}
    assert told(step.forward([at(given, Unit.ROW, 1)])) == {f"item:{second.id}/out": [1]}


def test_a_replay_keeps_what_was_traced_or_all_but_that(home):
    for options, kept in (({"only": ["a", "b"]}, ["a", "b"]), ({"without": ["a"]}, ["b", "c"])):
        with actors.register("again", home=home, **options) as actor:
            assert [each for each in "abc" if not actor.add_input(each)] == kept
            actor.add_output("o")
        assert len(next(iter(actors.step(actor).made_of("o")))) == 2
    with pytest.raises(ActorError, match="only"):
        actors.register("x", home=home, only=[], without=[])


def test_a_replay_keeps_what_is_among_them_by_its_value_or_its_place(home, tmp_path):
    places = [actors.Place.line(tmp_path / "f", n) for n in range(4)]
    for options, kept in (({"only": [places[1]]}, [1]), ({"only": ["a"]}, [0, 2]), ({"only": ["a", places[1]]}, [0, 1, 2]), ({"without": [places[1], "a"]}, [3])):
        with actors.register("again", home=home, **options) as actor:
            assert [n for n, each in enumerate("abac") if not actor.add_input(each, at=places[n])] == kept
    with actors.register("again", home=home, only=[places[1]]) as actor:
        assert [n for n in range(4) if not actor.add_input(at=places[n])] == [1]


def test_values_of_a_type_with_a_digest_of_its_own_are_found(home):
    folded = actors.DataType("word", digest=lambda word: word.lower().encode())
    with actors.register("x", home=home, takes=folded, gives=folded) as actor:
        actor.add_input("In")
        actor.add_output("Out")
    step = actors.step(actor)
    assert told(step.made_of("OUT", folded)) == {f"item:{actor.id}/in": [0]}
    assert told(step.made_from("in", folded)) == {f"item:{actor.id}/out": [0]}
    assert told(step.made_of("Out")) == {}


def test_the_users_exception_passes_where_the_failure_cannot_be_kept(home, caplog):
    actor = actors.register("x", home=home)

    def step():
        with actor:
            actor.add_input("a")
            shutil.rmtree(home.root)
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        step()
    assert actor.done
    assert f"why {actor.id} failed is not kept" in caplog.text


@pytest.mark.parametrize("make", [actors.Place.line, actors.Place.row, lambda path, n: actors.Place.span(path, n, 1), lambda path, n: actors.Place.span(path, 0, n)])
def test_a_place_beyond_all_files_is_refused_by_name(make):
    make("x", 2**62)
    for number in (2**70, 2**63, np.uint64(2**63)):
        with pytest.raises(ActorError, match="No file has so many"):
            make("x", number)


def test_a_call_that_is_refused_leaves_the_actor_as_it_was(home, tmp_path):
    (tmp_path / "known").write_text("a\nb\n")
    bad = [actors.Place(str(tmp_path / "a"), Unit.LINE, 2**70), actors.Place(str(tmp_path / "known"), Unit.LINE, 2**70), actors.Place(str(tmp_path / "known"), Unit.LINE, 1.5),
           actors.Place(str(tmp_path / "b"), "line", 1), actors.Place("", Unit.LINE, 1), (str(tmp_path / "c"), "line", 1, 1)]
    with actors.register("x", home=home) as actor:
        for number in range(2):
            actor.add_input("a", at=actors.Place.line(tmp_path / "known", number))
            with pytest.raises(ActorError, match="units of line already"):
                actor.add_input(at=actors.Place.row(tmp_path / "known", 1))
            for call in (actor.add_input, actor.add_output):
                for each in bad:
                    with pytest.raises(ActorError):
                        call(at=each)
                with pytest.raises(ActorError):
                    call(object(), at=actors.Place.line(tmp_path / "no item stands here", 0))
                with pytest.raises(ActorError, match="set of tags"):
                    call("a", tag=frozenset(), at=actors.Place.line(tmp_path / "no item stands here", 0))
                with pytest.raises(ActorError, match="keys of a dictionary"):
                    call("a", tag=[[]], at=actors.Place.line(tmp_path / "no item stands here", 0))
            with pytest.raises(ActorError):
                actor.capture(actors.Place.line(tmp_path / "no item stands here", 0), object())
        actor.add_output("b")
    step = actors.step(actor)
    assert [each.path for each in step.reads] == [str(tmp_path / "known")]
    assert [each.path for each in step.writes] == [f"item:{actor.id}/out"]
    assert told(step.made_of("b")) == {str(tmp_path / "known"): [0, 1]}


def test_a_place_that_was_made_by_hand_is_that_of_its_absolute_path(home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with actors.register("x", home=home) as actor:
        actor.add_input(at=actors.Place("f", Unit.LINE, np.int64(3)))
        actor.add_output("b")
    assert told(actors.step(actor).made_of("b")) == {str(tmp_path / "f"): [3]}


def test_what_a_step_gave_is_no_file_and_a_file_may_be_called_like_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert actors.Place.row("item:x-1/out", 0).path == "item:x-1/out"
    assert actors.Place.row("item:x.csv", 0).path == str(tmp_path / "item:x.csv")


# ---- values ---------------------------------------------------------------------------------------------------


@dataclass
class Point:
    x: int
    y: object


PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates() | st.decimals(allow_nan=False)
VALUES = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(st.text(max_size=2), inner, max_size=3), max_leaves=6)


def same(one, other):
    """Equal, of one type, all the way down; NaN is NaN, and 0.0 is not -0.0."""
    return repr(one) == repr(other) if not isinstance(one, dict) else isinstance(other, dict) and sorted(map(repr, one.items())) == sorted(map(repr, other.items()))


@given(VALUES, VALUES)
def test_values_are_one_item_if_and_only_if_they_are_equal(one, other):
    assert (canonical(one) == canonical(other)) == same(one, other)


def test_texts_that_are_joined_otherwise_are_other_values():
    values = [("ab", "c"), ("a", "bc"), ["ab", "c"], "abc", b"abc", ("ab", ("c",)), 1, 1.0, True, "1", None, 0.0, -0.0, date(2020, 1, 1), Decimal("1.0"), Decimal(1),
              Point(1, [2]), Point(1, (2,)), {"a": 1}, {"a": 1.0}, frozenset([1]), {1}, np.float32(1), "\ud800"]
    found = [canonical(each) for each in values]
    assert len(set(found)) == len(values) - 1  # a set and a frozenset of the same are one
    assert canonical(float("nan")) == canonical(-float("nan"))
    with pytest.raises(ActorError, match="another process"):
        canonical(object())


class Masked(str):
    def __str__(self):
        return "***"


class Counted(int):
    def __int__(self):
        return 0

    __index__ = __str__ = __repr__ = __int__


class Hidden(bytes):
    def __bytes__(self):
        return b""


class Near(float):
    def __float__(self):
        return 0.0


class Empty(list):
    def __iter__(self):
        return iter(())


class Bare(dict):
    def items(self):
        return ()


class Void(tuple):
    def __iter__(self):
        return iter(())


class Gone(set):
    def __iter__(self):
        return iter(())


class Lost(frozenset):
    def __iter__(self):
        return iter(())


class Priced(Decimal):
    def __str__(self):
        return "*"


class Dated(date):
    def isoformat(self):
        return "some day"


class Mixed(string.Formatter, date):
    """Of a package's class that is no date."""


class Perm(enum.IntFlag):
    R = 1
    W = 2


PAIRS = [(Masked("a"), Masked("b")), (Counted(1), Counted(2)), (Hidden(b"a"), Hidden(b"b")), (Near(1), Near(2)), (Empty([1]), Empty([2])), (Bare(a=1), Bare(a=2)), (Void("a"), Void("b")),
         (Gone("a"), Gone("b")), (Lost("a"), Lost("b")), (Priced(1), Priced(2)), (Dated(2020, 1, 1), Dated(2020, 1, 2)), (Mixed(2020, 1, 1), Mixed(2020, 1, 2)), (NamedTuple("P", [("a", str)])("x"), ("x", "a")),
         (make_dataclass("D", ["a"])(1), make_dataclass("D", ["b"])(1)), (np.zeros((0, 3)), np.zeros((0,))), (np.zeros((2, 0)), np.zeros((2, 0, 3))), (np.array([[1]], object), np.fromiter([[1]], object)),
         (Perm(0), Perm(8)), (Perm(0), Perm.R), (pd.Timestamp(1), pd.Timestamp(2)), (pd.Timedelta(1), pd.Timedelta(2))]


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=lambda each: type(each).__name__)
def test_values_that_differ_differ_whatever_their_own_code_says_of_them(one, other):
    assert canonical(one) != canonical(other)


def test_an_object_of_a_class_of_ones_own_is_what_it_holds():
    pairs = ((Masked("a"), "a"), (Counted(7), 7), (Hidden(b"a"), b"a"), (Near(1), 1.0), (Empty([1]), [1]), (Bare(a=1), {"a": 1}), (Void("a"), ("a",)), (Gone("a"), {"a"}))
    assert all(canonical(own) == canonical(held) for own, held in pairs)


def test_what_has_no_digest_is_refused_by_name():
    for value in (Point, np.longdouble(1), np.array([1], np.longdouble), np.sum, 1j):
        with pytest.raises(ActorError, match="no value that another process would know"):
            canonical(value)


def test_digests_of_plain_values_are_those_that_were_kept():
    """Before and after digests of other kinds were mended."""
    values = ["a", b"x", 1, 1.5, True, None, ("x", "a"), [1, "a"], {"a": 1, 2: (3,)}, {1, 2}, Decimal("1.20"), date(2020, 1, 1), timedelta(1, 2, 3), np.float64(1.5), np.arange(6).reshape(2, 3), np.zeros(0)]
    assert [digest_of(each).hex()[:6] for each in values] == [
        "d6b69f", "9942dd", "68c6ae", "b467d1", "85e921", "4ee3fd", "12fcbf", "a3e5f9", "3be2db", "cf9caf", "8a32cc", "66b42b", "b32dad", "6620e6", "9bd691", "92f7e5",
    ]


def test_a_data_type_says_what_is_one_item(home):
    word = actors.DataType("word", actors.RECORD, digest=lambda value: value.lower().encode())
    with actors.register("x", takes=word, gives=word, home=home) as actor:
        actor.capture("Ab", "o")
    assert len(actors.step(actor).hashes(f"item:{actor.id}/in")) == 1
    bad = actors.DataType("bad", digest=lambda value: value)
    with actors.register("y", takes=bad, home=home) as actor, pytest.raises(ActorError, match="gives bytes"):
        actor.add_input("x")


def test_a_file_is_told_with_its_form_and_its_stamp(home, tmp_path):
    (tmp_path / "f.csv").write_text("a\n1\n")
    with actors.register("x", home=home) as actor:
        actor.add_input(at=actors.Place.row(tmp_path / "f.csv", 0))
        actor.file(tmp_path / "f.csv", "csv", {"header": "true"})
        actor.add_output(at=actors.Place.row("hdfs://host/out", 0))
        actor.file("hdfs://host/out", "parquet", stamp=FileStamp(3, 4))
    step = actors.step(actor)
    (read,), (written,) = step.reads, step.writes
    assert (read.unit, read.form, read.options, read.stamp.size) == (Unit.ROW, "csv", (("header", "true"),), 4)
    assert (written.path, written.form, written.stamp) == ("hdfs://host/out", "parquet", FileStamp(3, 4))


def test_a_file_that_was_changed_after_it_was_read_has_the_stamp_of_then(home, tmp_path):
    source = tmp_path / "in.txt"
    source.write_text("a\n")
    with actors.register("x", home=home) as actor:
        actor.add_input(at=actors.Place.line(source, 0))
        actor.add_output(at=actors.Place.line(tmp_path / "out.txt", 0))
        source.write_text("changed\n")
        (tmp_path / "out.txt").write_text("A\n")
    step = actors.step(actor)
    assert (step.reads[0].stamp.size, step.reads[0].stamp.digest) == (2, "")
    assert step.writes[0].stamp.size == 2
    assert step.writes[0].stamp.digest


def test_the_files_of_a_step_are_not_all_read_again(home, tmp_path, monkeypatch):
    monkeypatch.setattr("bigdebug.actors.stamping.MOST", 25)
    with actors.register("x", home=home) as actor:
        for name in "abc":
            (tmp_path / name).write_text("0123456789")
            actor.add_input(at=actors.Place.whole(tmp_path / name))
        actor.add_output()
    assert [bool(each.stamp.digest) for each in actors.step(actor).reads] == [True, True, False]
    assert [each.stamp.size for each in actors.step(actor).reads] == [10, 10, 10]


# ---- at once --------------------------------------------------------------------------------------------------


def test_calls_of_many_threads_are_all_noted(home):
    actor = actors.register("threads", home=home)

    def work(mine):
        for number in range(500):
            actor.add_input((mine, number), tag=mine)
            actor.add_output((mine, number, "out"), tag=mine)
            actor.reset(mine)

    threads = [threading.Thread(target=work, args=(each,)) for each in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    actor.commit()
    step = actors.step(actor)
    assert len(step.hashes(f"item:{actor.id}/in")) == 2_000
    for mine, number in ((0, 0), (3, 499), (1, 250)):
        assert told(step.made_of((mine, number, "out"))) == told([*step.made_of((mine, number, "out"))])
        assert told(step.made_from((mine, number))) == {f"item:{actor.id}/out": step._committed.outputs.equal(_digests((mine, number, "out"))).tolist()}


def _digests(value):
    return np.array([digest_of(value)])


def test_several_processes_write_into_one_home(home):
    program = (
        "import sys\nfrom bigdebug import actors\n"
        "for n in range(20):\n"
        "    with actors.register('process', home=sys.argv[1]) as actor:\n"
        "        actor.capture(('i', n), ('o', n))\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", program, str(home.root)], cwd=Path(__file__).parents[2], env=os.environ) for _ in range(3)]
    assert [each.wait() for each in running] == [0, 0, 0]
    steps = actors.steps(home)
    assert len({step.id for step in steps}) == 60
    assert all(len(step.made_of(("o", 7))) <= 1 and not step.incomplete for step in steps)
    assert sum(len(step.made_of(("o", 7))) for step in steps) == 3


def test_a_process_that_is_killed_at_any_time_leaves_whole_actors_alone(home):
    program = (
        "import sys, threading, os, time\nfrom bigdebug import actors\n"
        "threading.Thread(target=lambda: (time.sleep(float(sys.argv[2])), os.kill(os.getpid(), 9)), daemon=True).start()\n"
        "while True:\n"
        "    with actors.register('x', home=sys.argv[1]) as actor:\n"
        "        for n in range(200): actor.capture(('i', n), ('o', n))\n"
    )
    for seconds in ("0.01", "0.05", "0.1"):
        subprocess.run([sys.executable, "-c", program, str(home.root), seconds], check=False)
    steps = actors.steps(home)
    whole = [step for step in steps if isinstance(step, actors.ActorStep)]
    assert whole
    assert [told(step.made_of(("o", 7))) for step in whole] == [{f"item:{step.id}/in": [7]} for step in whole]
    assert [step.incomplete[0] for step in steps if step not in whole and "let go of it" not in step.incomplete[0]] == []
    actors.prune(older_than=0, home=home)
    assert [path for path in home.root.iterdir() if path.name != "links"] == []


def test_the_default_home_is_this_users(monkeypatch, tmp_path):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "mine"))
    with actors.register("x"):
        pass
    assert [step.name for step in actors.steps()] == ["x"]
    assert (tmp_path / "mine" / "actors").is_dir()


def test_actors_need_neither_pandas_nor_spark_to_be_imported():
    program = "import sys, bigdebug.actors; print([name for name in ('pandas', 'pyspark', 'IPython') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout == "[]\n"
