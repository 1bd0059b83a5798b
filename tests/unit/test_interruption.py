"""Which exceptions came of an interruption: PySpark, on its way out of a call, raises what fails then."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JNetworkError

from bigdebug.spark.crashes import crashed
from bigdebug.spark.interruption import handled, interruption


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
