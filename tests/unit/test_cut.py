"""Cut: what a stage reads ends early where somebody is impatient, and what crashes behind that is not noted."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from bigdebug.agents.guards.cut import Cut, Impatience
from bigdebug.agents.guards.guard import Guard

PATIENT = Impatience(60.0, 0, 60.0)


def guard() -> Guard:
    return Guard(pickle.dumps, 10)


@given(st.integers(0, 20_000))
def test_a_cut_that_is_not_due_changes_nothing(count: int) -> None:
    cut = Cut(PATIENT, 0, guard())
    assert list(cut(0, range(count))) == list(range(count))
    assert not cut.ended()


def test_nothing_is_read_behind_the_cut() -> None:
    read: list[int] = []

    def slowly() -> Iterator[int]:
        for number in range(1_000):
            read.append(number)
            yield number
            time.sleep(0.01)

    cut = Cut(Impatience(0.1, 0, 0.2), 1, guard())
    given_on = list(cut(0, slowly()))
    assert cut.was_made
    assert read == given_on == list(range(len(read)))
    assert 0 < len(read) < 100
    assert cut.ended()


def test_the_first_partition_is_cut_where_something_crashed_and_no_more_is_noted() -> None:
    noting = guard()
    cut = Cut(Impatience(0.0, 0, 60.0), 0, noting)
    time.sleep(0.05)  # its timer is a thread
    crash = noting.note(1, 0)
    passed = []
    for number in cut(0, range(5)):
        if number == 3:
            crash(number, number, ValueError(number))
        passed.append(number)
    assert cut.was_made
    assert passed == [0, 1, 2, 3]
    crash(9, 9, ValueError(9))
    assert (noting.total, [c.position for c in noting.crashes]) == (1, [3])


def test_the_first_partition_is_cut_in_the_end() -> None:
    cut = Cut(Impatience(0.0, 0, 0.1), 0, guard())
    passed = [number for number in cut(0, range(1_000)) if not time.sleep(0.01)]
    assert cut.was_made
    assert len(passed) < 100
