"""The collection behind a question's task passes over what stood there before it, and nothing that was made for it."""

from __future__ import annotations

import gc
import pickle
import weakref
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from bigdebug.agents.frames import Framed
from bigdebug.agents.garbage import EVERY, Passing, passing

pytestmark = pytest.mark.usefixtures("uncollected")


class Ring:
    """Refers to itself, so that nothing but a collection ends it."""

    def __init__(self) -> None:
        self.itself = self


def dropped() -> weakref.ref[Ring]:
    return weakref.ref(Ring())


made = list[weakref.ref[Ring]]()


def unpickled() -> str:
    made.append(dropped())
    return ""


class MadeThere:
    """Leaves a ring where it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return unpickled, ()


@pytest.fixture
def here() -> Iterator[Passing]:
    one = Passing()
    yield one
    gc.collect()
    gc.callbacks.remove(one._collected)


def test_what_a_task_made_is_collected_behind_it_and_what_stood_there_by_the_next_one(here: Passing) -> None:
    gc.collect()
    before = dropped()
    here.begin()
    within = dropped()
    gc.collect()
    assert within() is None
    assert before() is not None
    gc.collect()
    assert before() is None


def test_what_a_task_is_made_of_is_made_for_it() -> None:
    before, command = dropped(), pickle.dumps(Framed(partial(max, MadeThere()), pickle.dumps))
    made.clear()
    passing._tasks = 0
    pickle.loads(command)
    gc.collect()
    assert [each() for each in made] == [None]
    assert before() is not None
    gc.collect()
    assert before() is None
    gc.callbacks.remove(passing._collected)


def test_collections_of_what_is_young_change_nothing(here: Passing) -> None:
    before = dropped()
    here.begin()
    gc.collect(1)
    assert gc.get_freeze_count() > 0
    gc.collect()
    assert gc.get_freeze_count() == 0
    assert before() is not None


def test_a_task_that_begins_twice_passes_over_what_stood_there_first(here: Passing) -> None:
    before = dropped()
    here.begin()
    within = dropped()
    here.begin()
    gc.collect()
    assert within() is None
    assert before() is not None


def test_now_and_then_all_is_looked_at(here: Passing) -> None:
    passed = []
    for _ in range(2 * EVERY):
        here.begin()
        passed.append(gc.get_freeze_count() > 0)
        gc.collect()
    assert passed == [*[True] * (EVERY - 1), False] * 2


def test_what_others_pass_over_stays_theirs(here: Passing) -> None:
    gc.freeze()
    theirs = dropped()
    here.begin()
    gc.collect()
    assert gc.get_freeze_count() > 0
    assert theirs() is None
    gc.unfreeze()


def test_where_somebody_clears_the_callbacks_all_is_looked_at_again_by_the_next_task(here: Passing) -> None:
    before = dropped()
    here.begin()
    others = list(gc.callbacks)
    gc.callbacks.clear()
    here.begin()
    gc.callbacks.extend(each for each in others if each != here._collected)
    gc.collect()
    gc.collect()
    assert before() is None
