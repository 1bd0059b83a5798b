"""What a program holds is its own: when its function has ended, nothing of a step keeps that alive until Python collects its garbage."""

from __future__ import annotations

import gc
import subprocess
import weakref

import pandas as pd
import pytest

from bigdebug import actors
from bigdebug.errors import StoreError
from tests.unit.test_actors_outside import _files, _generator, _lines

FRAME = pd.DataFrame({"x": range(60), "city": [f"c{n % 7}" for n in range(60)]})


class Held:
    """Of it there may be weak references, as of a user's frame of gigabytes."""


def _registered(folder):
    actors.register("let go")


def _captured(folder):
    with actors.register("job", actors.JOB) as job, actors.register("task", actors.TASK, within=job) as task:
        task.capture("in", "out")


def _rows(folder):
    actors.rows(lambda f: f[f.x > 3])(FRAME)


def _groups(folder):
    actors.groups(lambda f: f.groupby("city").sum(), by="city")(FRAME)


def _merged(folder):
    actors.merge(FRAME, FRAME.drop_duplicates("city"), on="city")


def _program(folder):
    actors.program(["cat"], stdin=folder / "in.csv", stdout=folder / "copy.csv")


def _failed(folder):
    with pytest.raises(ZeroDivisionError):
        actors.rows(lambda f: 1 / 0)(FRAME)


def _gone(folder):
    with pytest.raises(FileNotFoundError):
        actors.read_csv(folder / "gone.csv")


def _unwritable(folder):
    (folder / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        actors.register("job", home=folder / "file" / "home")


def _in_the_way(folder):
    (folder / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        actors.register("job", home=folder / "file")


def _program_failed(folder):
    with pytest.raises(subprocess.CalledProcessError):
        actors.program(["false"], check=True)


PROGRAMS = [_registered, _captured, _rows, _groups, _merged, _generator, _files, _lines, _program, _failed, _gone, _unwritable, _in_the_way, _program_failed]


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_the_function_around_a_step_holds_goes_with_it(tmp_path, monkeypatch, program):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))
    FRAME.to_csv(tmp_path / "in.csv", index=False)
    program(tmp_path)  # what is found out once, and kept

    def users():
        held = Held()
        program(tmp_path)
        return weakref.ref(held)

    gc.collect()
    assert users()() is None
