"""A search as others see it: how far it is, what came of it, and that looking on costs the search nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from bigdebug.errors import LocalizeError
from bigdebug.localize.diagnosis import UNSTABLE, Cost, Diagnosis
from bigdebug.localize.faults import faults
from bigdebug.localize.known import Faults
from bigdebug.localize.oracle import Answer, Budget, Oracle, Outcome
from bigdebug.localize.progress import POINTS, Course, Step
from bigdebug.localize.search import Search
from bigdebug.localize.subject import Subject

FAIL, PASS = Answer(Outcome.FAIL), Answer(Outcome.PASS)
FOUND = Diagnosis(UNSTABLE, (), (), Cost(3, 0.1), "nothing was found")


def searched(budget: Budget, culprits: Sequence[int] = (7, 4_000), outputs: int = 2, ends: int | None = None) -> Faults:
    """Two outputs, each of 5,000 candidates, which are wrong because of the same records; stopped after so many rounds of tests."""
    rounds = 0

    def ask(sets: Sequence[BitMap]) -> list[Answer]:
        nonlocal rounds
        rounds += 1
        if rounds == ends:
            budget.stop()
        return [FAIL if BitMap(culprits) <= each else PASS for each in sets]

    budget.course.outputs = outputs
    return faults([Subject(np.arange(5_000), Oracle(ask, budget), f"output {number}") for number in range(outputs)], budget)


def test_how_far_a_search_is_says_what_it_does_and_what_it_found() -> None:
    budget = Budget()
    begun = budget.progress
    assert (begun.step, begun.tests, begun.left, begun.candidates) == (Step.TRACING, 0, 0, 0)
    searched(budget)
    ended = budget.progress
    assert (ended.output, ended.looked_at, ended.outputs) == ("output 1", 2, 2)
    assert (ended.faults, ended.explained, ended.candidates) == (1, 2, 5_000)
    assert ended.tests == budget.tests > 20


def test_the_course_has_the_way_of_each_output_in_time() -> None:
    budget = Budget()
    searched(budget)
    points = budget.course.points
    assert [point.seconds for point in points] == sorted(point.seconds for point in points)
    first = [point.left for point in points if point.output == 1]
    assert first == sorted(first, reverse=True)
    assert (first[0], first[-1]) == (5_000, 1)
    assert {point.output for point in points} == {1, 2}


@given(st.lists(st.integers(0, 10), max_size=30))
def test_a_course_is_bounded_and_keeps_its_begin_and_its_end(steps: list[int]) -> None:
    course = Course()
    course.look("", 10**6)
    for number in range(POINTS * 3):
        course.narrow(number)
    for left in steps:
        course.narrow(left)
    assert len(course.points) <= POINTS
    assert course.points[0].left == 10**6
    assert course.points[-1].left == course.left


def test_a_search_runs_once_and_then_has_its_diagnosis() -> None:
    search, begun = Search(), []
    assert (search.state, search.progress, search.course, search.wait(0)) == ("waiting", None, (), False)
    search.hear(lambda: begun.append(search.state))
    with search.running(Budget()):
        assert (search.state, begun) == ("running", ["running"])
        search.hear(lambda: begun.append("late"))
        search.diagnosis = FOUND
    assert (search.state, search.wait(0), search.error, begun) == ("ended", True, None, ["running", "late"])
    assert "ended" in repr(search)
    took = search.progress.seconds  # type: ignore[union-attr]
    time.sleep(0.01)
    assert search.progress.seconds == took  # type: ignore[union-attr]
    with pytest.raises(LocalizeError, match="used before"), search.running(Budget()):
        pass
    assert search.diagnosis is FOUND


@pytest.mark.parametrize("error", [LocalizeError("Nothing is wrong"), KeyboardInterrupt(), ZeroDivisionError("of the user's")])
def test_a_search_that_raises_has_what_it_raised(error: BaseException) -> None:
    search = Search()
    with pytest.raises(type(error)), search.running(Budget()):
        raise error
    assert (search.state, search.error) == ("failed", error)
    assert search.wait(0)


def test_what_is_stopped_ends_at_the_next_test_and_stops_no_other_search() -> None:
    users = threading.Event()
    mine, other = Search(), Search()
    budgets = [Budget(stops=[each.event, users]) for each in (mine, other)]
    mine.stop()
    assert (mine.stopping, other.stopping, users.is_set()) == (True, False, False)
    assert searched(budgets[0]).ended == "it was stopped"
    assert budgets[0].tests == 0
    assert searched(budgets[1]).ended is None
    users.set()
    assert searched(Budget(stops=[users])).ended == "it was stopped"


def test_the_best_so_far_is_what_a_search_that_is_stopped_gives() -> None:
    for ends in range(2, 60):
        budget = Budget()
        known = searched(budget, (3, 77, 4_321), 1, ends)
        if known.ended is None:
            break
        [fault] = known.found or [None]
        if budget.course.left < 5_000:
            assert fault is not None
            assert len(fault.repair) <= budget.course.left
    else:
        pytest.fail("the search did not end")
