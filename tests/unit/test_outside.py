"""Whose an exception is: of who interrupts the program, whatever handles his signal, or of the step that raised it, whatever it looks like."""

from __future__ import annotations

import builtins
import ctypes
import functools
import gc
import signal
import sys
import threading
import time
import traceback
import types
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd
import pytest

from bigdebug import actors
from bigdebug.outside import from_outside

FRAME = pd.DataFrame({"x": range(60)})


class Bare(Exception):
    """One without a word."""


def plain(number, frame):
    raise TimeoutError("over")


def forgetful(number, frame):
    del number, frame
    raise TimeoutError("over")


def renaming(*given):
    given = [len(given)]
    raise TimeoutError("over")


class Handler:
    def __init__(self, *given):
        if given:
            raise TimeoutError("over")

    def __call__(self, *given):
        raise TimeoutError("over")

    def method(self, number, frame):
        del frame
        raise TimeoutError("over")

    @classmethod
    def of_class(cls, number, frame):
        raise TimeoutError("over")

    @staticmethod
    def static(number, frame):
        raise TimeoutError("over")

    bound = functools.partialmethod(method)


def loose(function):
    def inner(*given):
        del given
        return function()

    return inner


def tight(function):
    @functools.wraps(function)
    def inner(*given):
        del given
        return function()

    return inner


def over():
    raise TimeoutError("over")


@functools.singledispatch
def dispatched(number, frame):
    raise TimeoutError("over")


HANDLERS = {
    "a function": plain, "one that lets go of its frame": forgetful, "one whose arguments are something else by then": renaming, "a method": Handler().method, "of a class": Handler.of_class,
    "static": Handler.static, "an object": Handler(), "a class": Handler, "a partial": partial(partial(lambda job, number, frame: over(), "job")), "a method of a part": partial(Handler().bound),
    "remembered": functools.lru_cache(plain), "a method of a partial": types.MethodType(partial(lambda job, self, number, frame: over(), "job"), Handler()), "decorated": loose(over),
    "decorated and named": tight(over), "dispatched": dispatched, "a lambda": lambda number, frame: over(),
}


def rung() -> BaseException:
    """What the handler raises of a signal, with where it came."""
    try:
        signal.raise_signal(signal.SIGALRM)
    except BaseException as error:
        return error
    raise AssertionError("nothing came")


@pytest.mark.parametrize("handler", HANDLERS.values(), ids=HANDLERS)
def test_an_alarm_is_known_whatever_handles_it(handler):
    before = signal.signal(signal.SIGALRM, handler)
    try:
        assert from_outside(rung())
    finally:
        signal.signal(signal.SIGALRM, before)
    assert not from_outside(_raised(over))


@pytest.mark.parametrize("others", [loose(over), tight(over), partial(Handler()), Handler().method, Handler().bound], ids=["decorated", "decorated and named", "an object", "a method", "a part"])
def test_another_of_the_same_code_handles_nothing(others):
    """A decorator, and a class, are shared by what handles signals and what does not."""
    handlers = {"inner": tight(lambda: None) if hasattr(others, "__wrapped__") else loose(lambda: None), "Handler": Handler()}
    for handler in (*handlers.values(), handlers["Handler"].method, handlers["Handler"].bound):
        before = signal.signal(signal.SIGTERM, handler)
        try:
            assert not from_outside(_raised(others, 14, None))
        finally:
            signal.signal(signal.SIGTERM, before)


def aborts(number=None, frame=None):
    raise TimeoutError("aborted")


def test_a_handler_that_the_program_calls_by_itself_is_its_own():
    before = signal.signal(signal.SIGALRM, aborts)
    try:
        assert not from_outside(_raised(aborts))
        assert from_outside(rung())
    finally:
        signal.signal(signal.SIGALRM, before)


class Slow(Exception):
    def __str__(self):
        plain(14, "where it rings")
        return "slow"


def test_an_alarm_that_rings_while_an_error_is_told_is_not_lost(tmp_path, monkeypatch):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path))

    def fails(frame):
        if len(frame) < 60:
            raise Slow(1)
        return frame

    before = signal.signal(signal.SIGALRM, plain)
    try:
        with pytest.raises(TimeoutError):
            actors.rows(fails)(FRAME)
    finally:
        signal.signal(signal.SIGALRM, before)


class Proxy:
    """As of a framework: what is asked of it, it asks of something that is not there."""

    def __getattr__(self, name):
        raise RuntimeError("there is no request")

    def __call__(self, *given):
        raise TimeoutError("over")


def test_what_an_exception_or_a_handler_says_of_itself_is_no_error_of_ours():
    odd = type("Odd", (Exception,), {"__module__": None, "args": property(lambda self: over())})
    before = signal.signal(signal.SIGALRM, Proxy())
    try:
        assert not from_outside(_raised(partial(_raise, odd())))
        assert from_outside(rung())
    finally:
        signal.signal(signal.SIGALRM, before)


def _raise(error: BaseException) -> None:
    raise error


def _raised(function: Callable[..., Any], *given: Any) -> BaseException:
    try:
        function(*given)
    except BaseException as error:
        return error
    raise AssertionError("nothing came")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="there are no groups yet")
def test_an_interruption_in_a_group_is_one():
    """As nurseries and groups of tasks have it."""
    groups: Any = vars(builtins)["BaseExceptionGroup"]
    assert from_outside(_raised(partial(_raise, groups("tasks", [ValueError(), groups("more", [KeyboardInterrupt()])]))))
    assert not from_outside(_raised(partial(_raise, groups("tasks", [ValueError(), groups("more", [Bare()])]))))
    before = signal.signal(signal.SIGALRM, plain)
    try:
        assert from_outside(_raised(partial(_raise, groups("tasks", [rung()]))))
    finally:
        signal.signal(signal.SIGALRM, before)


def throws(frame):
    """What is thrown into a generator no code raises."""
    waiting = (each for each in range(9))
    next(waiting)
    waiting.throw(Bare) if len(frame) < 60 else None
    return frame


class Waiting:
    def __await__(self):
        yield


async def _waits():
    await Waiting()


def awaits(frame):
    """As what an event loop waits for may fail."""
    waiting = _waits()
    waiting.send(None)
    waiting.throw(Bare()) if len(frame) < 60 else waiting.close()
    return frame


def exits(frame):
    return frame if len(frame) == 60 else sys.exit()


class Unsayable(Exception):
    def __str__(self):
        return self.args


def says_nothing(frame):
    if len(frame) < 60:
        raise Unsayable(1)
    return frame


@pytest.mark.parametrize("step", [throws, awaits, exits, says_nothing])
def test_what_a_step_raises_of_few_rows_is_its_own(tmp_path, monkeypatch, step):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path))
    assert len(actors.rows(step, name="few")(FRAME)) == 60
    assert "of its rows alone" in actors.steps()[-1].incomplete[-1]


def test_so_is_what_is_of_no_class_of_pythons(tmp_path, monkeypatch):
    """As pydantic's errors, which are Rust's."""
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path))
    adapter = pytest.importorskip("pydantic").TypeAdapter
    adapter(list[int])  # what it reads once

    def validates(frame):
        adapter(list[int]).validate_python([1] if len(frame) == 60 else "x")
        return frame

    assert len(actors.rows(validates)(FRAME)) == 60
    assert "it raised ValidationError on 1 of its rows alone" in actors.steps()[-1].incomplete[-1]


def ends(records):
    waiting = (each for each in range(9))
    next(waiting)
    for record in records:
        if record == 1999:
            waiting.throw(Bare)
        yield record


def test_a_generator_gives_what_it_gives_without_and_names_its_culprit(tmp_path, monkeypatch):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path))
    given: list[int] = []
    with pytest.raises(Bare):
        [given.append(each) for each in actors.generator(ends, each=True)([*range(2000)])]
    assert given == [*range(1999)]
    assert [each.number for each in actors.steps()[-1].culprits] == [1999]


def test_an_exception_that_cannot_be_told_is_the_users_still(tmp_path, monkeypatch):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path))

    def fails(frame):
        raise Unsayable(1)

    for step in (actors.rows, actors.whole):
        with pytest.raises(Unsayable):
            step(fails)(FRAME)
    assert "Unsayable whose str raised TypeError" in actors.steps()[-1].incomplete[-1]


def spins(frame):
    """Without an end, of few rows: what ends it comes once."""
    while len(frame) < 60:
        pass
    return frame


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("step", [actors.rows, actors.groups(by="x")])
def test_what_another_thread_throws_into_a_trial_ends_the_program(tmp_path, monkeypatch, step):
    monkeypatch.setenv("BIGDEBUG_HOME", str(tmp_path))
    main = threading.get_ident()

    def throw():
        while "spins" not in [each.name for each in traceback.extract_stack(sys._current_frames()[main])]:
            time.sleep(0.01)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main), ctypes.py_object(Bare))

    thread = threading.Thread(target=throw)
    thread.start()
    with pytest.raises(Bare):
        step(spins)(FRAME)
    thread.join()


@pytest.mark.usefixtures("uncollected")
def test_to_ask_keeps_nothing_of_who_asks():
    """But of a handler's frame: that goes with the program."""

    def asks():
        held = Handler()
        try:
            step()
        except TimeoutError as error:
            return from_outside(error), weakref.ref(held)

    step = loose(over)
    before = signal.signal(signal.SIGALRM, loose(lambda: None))  # which shares its code
    gc.collect()
    try:
        meant, held = asks()
        assert (meant, held()) == (False, None)
    finally:
        signal.signal(signal.SIGALRM, before)
