"""What interrupts a program may come anywhere in what is noted of its steps, and ends it there: nothing takes it for an error of its own, and no trial stays behind."""

from __future__ import annotations

import random
import signal
import sys
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


def _lines(folder):
    actors.lines(lambda lines: (line for line in lines), each=True)(folder / "in.csv", folder / "out.txt")


@pytest.mark.parametrize("error", [TimeoutError, type("Over", (BaseException,), {})])
@pytest.mark.parametrize("program", [_rows, _groups, _generator, _files, _lines])
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
        out, state = sys.stdout, random.getstate()
        for place in sorted({random.Random(number).randrange(1, places) for number in range(PLACES)}):
            unheard.clear()
            try:
                where = rung_at(call, place, rings)
            except error:
                assert not being_tried()
                Path(tmp_path / "file").write_text("x")  # which a trial may not
            else:  # it rang where no exception leaves: where a generator was closed, or in what numpy makes a no of
                assert error in unheard or not where or "array_equal" in where, where
            assert random.getstate() == state
        call()
        assert sys.stdout is out  # what an interruption left is put back behind the next trial
    finally:
        signal.signal(signal.SIGALRM, before)
