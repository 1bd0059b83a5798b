"""An interruption within a call of py4j's is raised behind it, once; elsewhere it is raised at once. Real signals, in the main thread."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bigdebug.spark import deferred as module
from bigdebug.spark.deferred import Deferred, deferring
from bigdebug.spark.interruption import planning


@pytest.fixture(autouse=True)
def as_in_a_notebook() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def in_py4j(work: Callable[[], Any]) -> Any:
    """Call it from a frame that is py4j's."""
    scope: dict[str, Any] = {"__name__": "py4j.java_gateway"}
    exec("def send_command(work):\n    return work()\n", scope)
    return scope["send_command"](work)


def interrupts(*after: float) -> None:
    for seconds in after:
        timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
        timer.daemon = True
        timer.start()


def busy(until: Callable[[], bool]) -> str:
    end = time.monotonic() + 10
    while not until() and time.monotonic() < end:
        time.sleep(0.001)
    return "came back"


def asked(work: Callable[[], Any], *after: float, cancel: Callable[[], None] = lambda: None) -> tuple[Deferred, float]:
    """Interrupted after so many seconds: what came of it, and how long it took. Fails if nothing was raised."""
    said, began = list[Any](), time.monotonic()

    def question() -> None:
        with deferring(cancel) as deferred:
            said.append(deferred)
            interrupts(*after)
            work()
            busy(lambda: False)
            said.append("it went on")

    with pytest.raises(KeyboardInterrupt):
        question()
    [deferred] = said
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    return deferred, time.monotonic() - began


def test_it_is_raised_when_the_call_has_come_back_and_the_jobs_were_cancelled() -> None:
    cancelled, said = threading.Event(), list[str]()
    deferred, _ = asked(lambda: said.append(in_py4j(lambda: busy(cancelled.is_set))), 0.05, cancel=cancelled.set)
    assert said == ["came back"]
    assert not deferred.pending


def never() -> None:
    """Wait for an answer that does not come, as py4j does: in the system, which nothing but a signal ends."""
    here, there = socket.socketpair()
    with here, there:
        here.settimeout(10)
        here.recv(1)


WAITS = pytest.mark.parametrize("wait", [never, lambda: busy(lambda: False)], ids=["in the system", "in Python"])


@WAITS
def test_a_second_one_is_raised_at_once(wait: Callable[[], Any]) -> None:
    _, took = asked(lambda: in_py4j(wait), 0.05, 0.3)
    assert took < module._LONGEST


@WAITS
def test_one_that_waits_too_long_is_raised_within_the_call(monkeypatch: pytest.MonkeyPatch, wait: Callable[[], Any]) -> None:
    monkeypatch.setattr(module, "_LONGEST", 0.3)
    _, took = asked(lambda: in_py4j(wait), 0.05)
    assert took < 5


@pytest.mark.parametrize("late", [False, True])
def test_it_is_raised_once_however_it_is_told(monkeypatch: pytest.MonkeyPatch, late: bool) -> None:
    """What handles it may take long: the loop that tells of it goes on meanwhile."""
    monkeypatch.setattr(module, "_EVERY", 0.0)
    monkeypatch.setattr(module, "_LONGEST", 0.02 if late else 5.0)
    raised = []
    for _ in range(100):
        try:
            with deferring(lambda: None):
                interrupts(0.005)
                end = time.monotonic() + 0.03
                in_py4j(lambda end=end: busy(lambda: time.monotonic() > end))
                busy(lambda: False)
        except KeyboardInterrupt:
            raised.append(1)
        time.sleep(0.002)
    assert len(raised) == 100


def test_elsewhere_it_is_raised_where_it_comes() -> None:
    deferred, _ = asked(lambda: busy(lambda: False), 0.05)
    assert deferred.over


def test_nothing_is_raised_behind_the_question() -> None:
    """Who leaves in time is told by ``pending``."""
    for _ in range(20):
        with deferring(lambda: None) as deferred:
            assert deferred is not None
            in_py4j(lambda: (os.kill(os.getpid(), signal.SIGINT), deferred.leave()))
        assert deferred.pending
        time.sleep(0.02)


def test_a_question_within_another_one_has_its_jobs_cancelled_and_raises_it() -> None:
    """The outer one has nothing left to raise then: whoever stands between them may have handled it."""
    cancelled, told = {"outer": threading.Event(), "inner": threading.Event()}, []
    for name in ("inner", "outer"):
        with deferring(cancelled["outer"].set) as outer:
            assert outer is not None
            with deferring(cancelled["inner"].set) as inner:
                assert inner is outer
                interrupts(0.05)
                in_py4j(lambda: busy(lambda: all(one.is_set() for one in cancelled.values()) and (outer.leave() is None)))
                if name == "inner":
                    told.append(inner.due())
            told.append(outer.due())
        for one in cancelled.values():
            one.clear()
    assert told == [True, False, True]


def test_a_question_that_has_ended_within_another_one_leaves_it_deferring() -> None:
    def question() -> None:
        with planning():
            with planning():
                pass
            assert isinstance(signal.getsignal(signal.SIGINT), Deferred)
            interrupts(0.05)
            assert in_py4j(lambda: busy(came)) == "came back"
            busy(lambda: False)

    with pytest.raises(KeyboardInterrupt):
        question()


def came() -> bool:
    handler = signal.getsignal(signal.SIGINT)
    return isinstance(handler, Deferred) and handler.pending


def test_an_interruption_is_raised_whatever_is_made_of_the_call_that_it_came_in() -> None:
    def fails() -> None:
        assert busy(came) == "came back"
        signal.getsignal(signal.SIGINT).leave()  # type: ignore[union-attr]
        raise ValueError("of the call")

    @planning()
    def question() -> None:
        interrupts(0.05)
        in_py4j(fails)

    with pytest.raises(KeyboardInterrupt) as found:
        question()
    assert isinstance(found.value.__cause__, ValueError)


def test_other_threads_and_other_handlers_are_left_alone() -> None:
    found: list[Any] = []

    def elsewhere() -> None:
        with deferring(lambda: None) as deferred:
            found.append(deferred)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    elsewhere()
    assert found == [None, None]
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
