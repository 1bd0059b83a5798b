"""Once: what can be read, closed or changed once only, a trial leaves to the real call."""

import fcntl
import mmap
import os
import secrets
import threading
from multiprocessing import shared_memory

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from bigdebug import actors

FRAME = pd.DataFrame({"x": np.arange(60.0), "city": [f"c{n % 7}" for n in range(60)]})


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path / "home"))
    return actors.ActorHome()


@pytest.fixture
def pipe():
    """The end of a pipe that has a table of rates, and nobody who writes more."""
    end, other = os.pipe()
    os.write(other, b"rate\n3\n")
    os.close(other)
    yield end
    try:
        os.close(end)
    except OSError:  # the function closed it
        return


def reads_a_descriptor_by_its_name(f, pipe):
    return f.assign(y=f.x * pd.read_csv(f"/dev/fd/{pipe}").rate[0])


def reads_a_descriptor(f, pipe):
    return f.assign(y=os.read(pipe, 2).decode())


def opens_a_descriptor(f, pipe):
    with open(pipe) as file:
        return f.assign(y=file.read())


def opens_a_descriptor_that_stays_open(f, pipe):
    with open(pipe, closefd=False) as file:
        return f.assign(y=file.read())


def closes_a_descriptor(f, pipe):
    os.close(pipe)
    return f


@pytest.mark.parametrize("function", [reads_a_descriptor_by_its_name, reads_a_descriptor, opens_a_descriptor, opens_a_descriptor_that_stays_open, closes_a_descriptor])
def test_what_a_pipe_has_is_read_by_the_real_call(function, pipe):
    step = actors.rows(lambda frame: function(frame, pipe))
    given = step(FRAME)
    assert not hasattr(given, "y") or {*given.y.astype(str)} <= {*map(str, FRAME.x * 3), "ra", "rate\n3\n"}
    assert_was_not_tried("it uses an open file by its number" if function is not reads_a_descriptor_by_its_name else f"it reads '{pipe}', which is no file that can be read again")


@pytest.mark.parametrize("make", [actors.rows, lambda function: actors.groups(function, by="city")])
def test_a_pipe_with_a_name_is_opened_by_the_real_call(make, tmp_path):
    named = tmp_path / "rates"
    os.mkfifo(named)
    writer = threading.Thread(target=named.write_text, args=("rate\n3\n",), daemon=True)
    writer.start()

    def scaled(f):
        rate = pd.read_csv(named).rate[0]
        return f.groupby("city").sum() * rate if make is not actors.rows else f.assign(x=f.x * rate)

    given = make(scaled)(FRAME)
    writer.join(10)
    expected = FRAME.assign(x=FRAME.x * 3) if make is actors.rows else FRAME.groupby("city").sum() * 3
    assert_frame_equal(given, expected)
    assert_was_not_tried("it reads 'rates', which is no file that can be read again")


def test_lines_of_a_generator_that_reads_a_pipe_are_those_without(pipe):
    step = actors.generator(lambda records: (f"{record} {os.read(pipe, 1).decode()}" for record in records), each=True)
    assert list(step("abc")) == ["a r", "b a", "c t"]


def test_memory_that_is_shared_is_made_and_given_back_once():
    name = f"bigdebug-{secrets.token_hex(4)}"

    def shares(f):
        block = shared_memory.SharedMemory(name, create=True, size=8)
        block.close()
        block.unlink()
        return f

    assert_frame_equal(actors.rows(shares)(FRAME), FRAME)
    assert_was_not_tried("it locks or shares what other programs see")
    with pytest.raises(FileNotFoundError):
        shared_memory.SharedMemory(name)


def test_a_file_that_is_mapped_to_be_written_is_written_once(tmp_path):
    (tmp_path / "count").write_bytes(bytes(16))
    taken = os.open(tmp_path / "count", os.O_RDWR)

    def counts(f):
        with mmap.mmap(taken, 16) as memory:
            memory[0] += 1
        return f

    actors.rows(counts)(FRAME)
    os.close(taken)
    assert (tmp_path / "count").read_bytes()[0] == 1
    assert_was_not_tried("it locks or shares what other programs see")


def test_a_file_that_is_mapped_to_be_read_is_read_in_a_trial_too(tmp_path):
    np.arange(60.0).tofile(tmp_path / "rates")
    step = actors.rows(lambda f: f.assign(y=np.memmap(tmp_path / "rates", mode="r")[0]))
    assert {*step(FRAME).y} == {0.0}
    assert "not tried" not in actors.steps()[-1].believed


def test_a_lock_is_taken_once(tmp_path):
    held = []

    def locks(f):
        held.append(os.open(tmp_path, os.O_RDONLY))
        fcntl.flock(held[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
        return f

    actors.rows(locks)(FRAME)
    assert len(held) == 1
    os.close(held[0])
    assert_was_not_tried("it locks or shares what other programs see")


def test_a_process_becomes_nicer_once(monkeypatch):
    asked = []
    monkeypatch.setattr(os, "nice", asked.append)  # there is no way back
    actors.rows(lambda f: (os.nice(1), f)[1])(FRAME)
    assert asked == [1]
    assert_was_not_tried("it changes what holds of the whole process")


def assert_was_not_tried(why):
    told = [actors.steps()[-1].believed, *actors.steps()[-1].incomplete]
    assert any(why in each for each in told), told
