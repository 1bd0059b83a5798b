"""An interruption within a call of py4j's is raised behind it, once; elsewhere it is raised at once. Real signals, in the main thread."""

from __future__ import annotations

import os
import random
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bigdebug.spark import deferred as module
from bigdebug.spark.deferred import Deferred, deferring, undisturbed
from bigdebug.spark.interruption import planning
from bigdebug.spark.jobs import tagged


@pytest.fixture(autouse=True)
def as_in_a_notebook(uncollected: None) -> Iterator[None]:
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


@pytest.mark.many
@pytest.mark.parametrize("late", [False, True])
def test_it_is_raised_once_however_it_is_told(monkeypatch: pytest.MonkeyPatch, late: bool) -> None:
    """What handles it may take long: the loop that tells of it goes on meanwhile."""
    monkeypatch.setattr(module, "_EVERY", 0.0)
    monkeypatch.setattr(module, "_LONGEST", 0.02 if late else 5.0)
    raised = list[BaseException]()
    for _ in range(100):
        try:
            with deferring(lambda: None):
                interrupts(0.005)
                end = time.monotonic() + 0.03
                in_py4j(lambda end=end: busy(lambda: time.monotonic() > end))
                busy(lambda: False)
        except KeyboardInterrupt as problem:
            raised.append(problem)
        time.sleep(0.002)
    assert len(raised) == 100
    assert not any(isinstance(problem.__context__, KeyboardInterrupt) for problem in raised)


def test_elsewhere_it_is_raised_where_it_comes() -> None:
    deferred, _ = asked(lambda: busy(lambda: False), 0.05)
    assert not deferred.pending


def test_nothing_is_raised_behind_the_question() -> None:
    """It is raised by the question at the latest."""
    for _ in range(20):
        with pytest.raises(KeyboardInterrupt) as found, deferring(lambda: None):
            in_py4j(lambda: os.kill(os.getpid(), signal.SIGINT))
        assert not isinstance(found.value.__context__, KeyboardInterrupt)
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
                with undisturbed():
                    in_py4j(lambda: busy(lambda: all(one.is_set() for one in cancelled.values())))
                    told += [each.due() for each in ((inner, outer) if name == "inner" else (outer,))]
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
        with undisturbed():
            assert busy(came) == "came back"
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


def test_one_that_is_raised_at_once_cancels_the_job_that_the_way_out_waits_for() -> None:
    """A DataFrame's toPandas() reads from a socket of its own, and asks Spark's process for the end of the job before it raises."""
    cancelled, waited = threading.Event(), list[str]()

    def question() -> None:
        try:
            busy(lambda: False)
        finally:
            waited.append(in_py4j(lambda: busy(cancelled.is_set)))

    _, took = asked(question, 0.05, cancel=cancelled.set)
    assert waited == ["came back"]
    assert took < 2


def test_another_one_that_comes_while_something_is_put_back_waits_for_it() -> None:
    said = []

    def put_back() -> None:
        with undisturbed():
            in_py4j(lambda: busy(came))
            interrupts(0.06)
            end = time.monotonic() + 0.2
            in_py4j(lambda: busy(lambda: time.monotonic() > end))
            said.append("back")

    asked(put_back, 0.05)
    assert said == ["back"]


def test_what_handles_one_is_protected_from_the_next_one() -> None:
    said = []

    def handling() -> None:
        with pytest.raises(KeyboardInterrupt):
            busy(lambda: False)
        time.sleep(0.1)
        interrupts(0.05)
        said.append(in_py4j(lambda: busy(came)))

    asked(handling, 0.05)
    assert said == ["came back"]


def test_it_is_raised_although_cancelling_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LONGEST", 0.3)
    hanging = threading.Event()
    _, took = asked(lambda: in_py4j(never), 0.05, cancel=lambda: hanging.wait(5) and None)
    hanging.set()
    assert took < 3


def test_a_handler_that_somebody_put_back_does_what_pythons_does() -> None:
    with deferring(lambda: None):
        kept = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, kept)
    with pytest.raises(KeyboardInterrupt):
        in_py4j(lambda: os.kill(os.getpid(), signal.SIGINT) or busy(lambda: False))
    cancelled = threading.Event()
    asked(lambda: in_py4j(lambda: busy(cancelled.is_set)), 0.05, cancel=cancelled.set)
    assert cancelled.is_set()


class Tags:
    """A SparkContext as far as tags go; each call is py4j's, and takes a moment."""

    def __init__(self) -> None:
        self.tags = set[str]()
        self._jsc = self._gateway = object()

    def addJobTag(self, tag: str) -> None:  # noqa: N802
        in_py4j(lambda: (time.sleep(0.0003), self.tags.add(tag)))

    def removeJobTag(self, tag: str) -> None:  # noqa: N802
        in_py4j(lambda: (time.sleep(0.0003), self.tags.discard(tag)))

    def cancelJobsWithTag(self, tag: str) -> None:  # noqa: N802
        pass

    def getLocalProperty(self, name: str) -> None:  # noqa: N802
        pass


def test_nothing_is_left_wherever_it_comes_in_the_bookkeeping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bigdebug.spark.interruption.cancel", lambda sc, tag: None)
    dice = random.Random(1)
    for _ in range(400):
        context: Any = Tags()
        timer = threading.Timer(dice.random() * 0.004, os.kill, (os.getpid(), signal.SIGINT))
        try:
            timer.start()
            while timer.is_alive():
                with tagged(context, "test:"), tagged(context, "test:"):
                    pass
            time.sleep(0.001)
        except KeyboardInterrupt:
            pass
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert context.tags == set()
