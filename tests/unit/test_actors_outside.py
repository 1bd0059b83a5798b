"""What interrupts a program may come anywhere in what is noted of its steps, and ends it there: nothing takes it for an error of its own, and no trial stays behind."""

from __future__ import annotations

import enum
import gc
import random
import signal
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bigdebug import actors
from bigdebug.actors.aside import being_tried
from tests.interrupting import calls_of, rung_at

FRAME = pd.DataFrame({"x": np.arange(60.0), "city": [f"c{n % 7}" for n in range(60)]})

PLACES = 30
"""At how many of a program's calls the alarm rings, drawn from all."""


def _rows(folder):
    step = actors.rows(lambda f: f)
    step(step(FRAME))


def _groups(folder):
    actors.groups(lambda f: f.groupby("city").sum(), by="city")(FRAME)


def _generator(folder):
    list(actors.generator(lambda records: (each for each in records), each=True)(range(10)))


def _files(folder):
    actors.to_csv(actors.read_csv(folder / "in.csv"), folder / "out.csv", index=False)


def _settings(folder):
    actors.rows(lambda f: f.assign(drawn=random.random(), over=np.seterr(over="raise")["over"]))(FRAME)


def _lines(folder):
    actors.lines(lambda lines: (line for line in lines), each=True)(folder / "in.csv", folder / "out.txt")


def _contained(folder):
    with actors.register("job", actors.JOB) as job, actors.register("task", actors.TASK, within=job) as task:
        task.capture("in", "out")
    actors.flow_link(job, actors.register("other"))
    actors.forget(job)


@pytest.mark.parametrize("error", [TimeoutError, type("Over", (BaseException,), {})])
@pytest.mark.parametrize("program", [_rows, _groups, _generator, _files, _lines, _contained])
def test_an_alarm_ends_its_program_wherever_it_rings(tmp_path, monkeypatch, program, error):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))
    FRAME.to_csv(tmp_path / "in.csv", index=False)
    call = partial(program, tmp_path)
    unheard = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: unheard.append(told.exc_type))

    def rings(number, frame):
        raise error("over")

    before = signal.signal(signal.SIGALRM, rings)
    try:
        call()  # what is imported and remembered once
        places = calls_of(call)
        out = sys.stdout
        for place in sorted({random.Random(number).randrange(1, places) for number in range(PLACES)}):
            unheard.clear()
            try:
                where = rung_at(call, place, rings)
            except error:
                assert not being_tried()
                Path(tmp_path / "file").write_text("x")  # which a trial may not
            else:  # it rang where no exception leaves: where a generator was closed, or in what pandas makes a no of
                assert error in unheard or not where or "array_equivalent" in where, where
        call()
        assert sys.stdout is out  # what an interruption left is put back behind the next trial
    finally:
        signal.signal(signal.SIGALRM, before)


WATCHED = {"exists", "isfile", "isdir", "mode_of", "is_folder", "mkdir", "made", "touch", "touched", "removed", "put_back", "_put", "_put_back", "ended", "end", "kept", "aside", "_same_arrays", "_equal", "stamp_of"}
"""Functions, ours and Python's, behind which an alarm was lost, or a trial stayed."""


@pytest.mark.parametrize("program", [pytest.param(_rows, marks=pytest.mark.slow), pytest.param(_groups, marks=pytest.mark.slow), pytest.param(_settings, marks=pytest.mark.slow), _files, _lines, _contained])
def test_an_alarm_that_rings_where_others_were_lost_ends_its_program_though_its_exception_is_kept(tmp_path, monkeypatch, program):
    """In a home that is made meanwhile. The trial of the next step is one, and behind it all is as it was."""
    FRAME.to_csv(tmp_path / "in.csv", index=False)
    unheard, kept = [], []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: unheard.append(told.exc_type))

    def rings(number, frame):
        raise TimeoutError("over")

    def tried(frame):
        (tmp_path / "tried").mkdir()
        return frame

    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))
    before = signal.signal(signal.SIGALRM, rings)
    out, call = sys.stdout, 0
    random.seed(5)
    states = [random.getstate()]  # the trial draws in vain
    random.random()
    states.append(random.getstate())
    try:
        program(tmp_path)
        while True:
            call += 1
            monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / f"home{call}"))
            unheard.clear()
            random.setstate(states[0])
            np.seterr(over="warn")
            try:
                where = rung_at(partial(program, tmp_path), call, rings, WATCHED)
            except TimeoutError as error:
                kept.append(error)
                assert not being_tried()
                assert random.getstate() in states
                assert (np.geterr()["over"] == "raise") <= (random.getstate() == states[1])
                actors.rows(tried)(FRAME)
                (tmp_path / "tried").rmdir()  # it was made once
                assert "it changes what lies in a directory" in actors.steps()[-1].incomplete[-1]
            else:
                assert TimeoutError in unheard or not where, where
                if not where:
                    break
        assert call > 20
        kept.clear()
        gc.collect()
        actors.rows(tried)(FRAME)
        assert sys.stdout is out
    finally:
        signal.signal(signal.SIGALRM, before)
        np.seterr(over="warn")


@pytest.mark.usefixtures("uncollected")
def test_an_alarm_that_a_library_tells_in_its_own_words_ends_its_program(tmp_path, monkeypatch):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))

    def rings(job, number, frame):
        raise TimeoutError(job)

    def step(frame):
        try:
            if len(frame) < 60:
                time.sleep(9)
        except TimeoutError as error:
            raise ValueError("in a library's words") from error
        return frame

    before = signal.signal(signal.SIGALRM, partial(rings, "job"))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(ValueError, match="words"):
            actors.rows(step)(FRAME)
        assert not being_tried()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def decorated(function):
    def inner(*args):
        return function(*args)

    return inner


class City(enum.Enum):
    OSLO = "oslo"


def named(frame):
    return frame.assign(city=City("oslo" if len(frame) == 60 else "zz").value)


def told(frame):
    try:
        return named(frame)
    except ValueError as error:
        raise KeyError("no city") from error


@pytest.mark.parametrize("step", [named, told, decorated(named)])
def test_what_a_step_raises_of_few_rows_is_not_taken_for_an_alarm(tmp_path, monkeypatch, step):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))
    before = signal.signal(signal.SIGTERM, decorated(lambda *_: None))
    try:
        assert len(actors.rows(step)(FRAME)) == 60
    finally:
        signal.signal(signal.SIGTERM, before)
    assert "of its rows alone" in actors.steps()[-1].incomplete[-1]
