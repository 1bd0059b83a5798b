"""Cut: what a stage reads ends early where somebody is impatient, and what crashes behind that is not noted."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from bigdebug.agents.guards.cut import Cut, Impatience
from bigdebug.agents.guards.guard import Guard

PATIENT = Impatience(60.0, 60.0)


def guard() -> Guard:
    return Guard(pickle.dumps, 10)


@given(st.integers(0, 20_000))
def test_a_cut_that_is_not_due_changes_nothing(count: int) -> None:
    cut = Cut(PATIENT, guard())
    assert list(cut(range(count))) == list(range(count))
    assert not cut.was_made


def test_nothing_is_read_behind_the_cut() -> None:
    read: list[int] = []

    def slowly() -> Iterator[int]:
        for number in range(1_000):
            read.append(number)
            yield number
            time.sleep(0.01)

    cut = Cut(Impatience(60.0, 0.2), guard())
    given_on = list(cut(slowly()))
    assert cut.was_made
    assert read == given_on == list(range(len(read)))
    assert 0 < len(read) < 100


def test_who_knows_of_a_crash_waits_less_and_is_told_of_no_more() -> None:
    noting = guard()
    cut = Cut(Impatience(0.0, 60.0), noting)
    crash = noting.note(1, 0)
    passed = []
    for number in cut(range(5)):
        crash(number, number, ValueError(number))
        passed.append(number)
    assert cut.was_made
    assert passed == [0]
    crash(9, 9, ValueError(9))
    assert (noting.total, [c.position for c in noting.crashes]) == (1, [0])
