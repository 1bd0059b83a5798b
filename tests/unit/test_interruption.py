"""Which exceptions came of an interruption: PySpark, on its way out of a call, raises what fails then."""

from __future__ import annotations

import signal
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError

from bigdebug.spark import interruption as module
from bigdebug.spark.crashes import crashed
from bigdebug.spark.interruption import cancel, cancelling, handled, interruption


def stop() -> None:
    raise KeyboardInterrupt


def end() -> None:
    raise Py4JNetworkError("Spark has ended")


def way_out() -> None:
    try:
        stop()
    finally:
        end()


def raised(call: object) -> BaseException:
    with pytest.raises(BaseException) as found:  # noqa: PT011 (whatever it is)
        call()  # type: ignore[operator]
    return found.value


def test_what_is_raised_on_the_way_out_came_of_the_interruption() -> None:
    problem = raised(way_out)
    assert isinstance(interruption(problem, handled()), KeyboardInterrupt)
    assert not crashed(problem)


def test_an_interruption_is_one_itself() -> None:
    problem = KeyboardInterrupt()
    assert interruption(problem, None) is problem


def test_other_exceptions_are_none() -> None:
    problem = raised(end)
    assert interruption(problem, None) is None
    assert crashed(problem)


def test_what_begins_while_an_interruption_is_handled_did_not_come_of_it() -> None:
    """A cell may catch one, and ask something else then."""
    try:
        stop()
    except KeyboardInterrupt:
        before = handled()
        problem = raised(end)
    assert (interruption(problem, before), crashed(problem, before)) == (None, True)
    assert not crashed(problem)  # who does not know what was handled


def test_a_second_interruption_while_one_is_handled_is_one() -> None:
    try:
        stop()
    except KeyboardInterrupt:
        before = handled()
        problem = raised(way_out)
    assert interruption(problem, before) not in (None, before)


class Context:
    """A SparkContext with one job, whose first calls meet connections that were closed, as an interruption leaves them."""

    def __init__(self, closed: int) -> None:
        self.closed, self.runs, self.asked = closed, True, 0
        self._gateway = SimpleNamespace(proc=None)
        tracker = SimpleNamespace(getJobIdsForTag=lambda _: self._call([1]), getActiveJobIds=lambda: self._call([1] if self.runs else []))
        self._jsc: Any = SimpleNamespace(sc=lambda: SimpleNamespace(statusTracker=lambda: tracker))

    def _call(self, answer: Any) -> Any:
        if self.closed:
            self.closed -= 1
            raise Py4JNetworkError("Answer from Java side is empty")
        return answer

    def cancelJobsWithTag(self, tag: str) -> None:  # noqa: N802 (it is PySpark's)
        self._call(None)
        self.asked += 1
        self.runs = False

    def getLocalProperty(self, name: str) -> None:  # noqa: N802 (it is PySpark's)
        return self._call(None)


@pytest.mark.many
@pytest.mark.parametrize("closed", [0, 1, 2, 5])
def test_jobs_are_cancelled_though_connections_were_closed(closed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_EVERY", 0.01)
    monkeypatch.setattr(module, "_LATER", 2.0)
    sc: Any = Context(closed)
    cancel(sc, "tag")
    assert not sc.runs
    until = time.monotonic() + 9
    while sc.asked <= 5 and time.monotonic() < until:
        time.sleep(0.01)
    assert sc.asked > 5  # also those that begin soon


def test_one_that_is_handled_within_is_not_raised_again() -> None:
    """A localization gives what it knows by then."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    sc: Any = Context(0)
    try:
        with cancelling(sc, "tag"), pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert sc.asked == 0


def test_of_a_spark_that_has_ended_nothing_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_EVERY", 0.01)
    sc: Any = Context(0)
    sc._jsc = None
    began = time.monotonic()
    cancel(sc, "tag")
    assert time.monotonic() - began < 0.5
    while any(thread.name == "bigdebug cancelling later jobs" for thread in threading.enumerate()):
        time.sleep(0.01)
    assert sc.asked == 0
