"""The collection behind a question's task passes over what stood there before it, once, and only while that can be little."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator

import pytest

from bigdebug.agents.garbage import Passing

pytestmark = [pytest.mark.skipif(sys.platform == "win32", reason="each task has a worker of its own there"), pytest.mark.usefixtures("uncollected")]

GROWN = """
import gc
from bigdebug.agents.garbage import MOST, Passing

def counts():
    passing.begin()
    found = gc.get_freeze_count() > 0
    gc.collect()
    return found

passing = Passing()
print(counts(), bool(held := b"x" * (MOST + (8 << 20))), counts(), counts(), gc.get_freeze_count())
gc.freeze()
theirs = gc.get_freeze_count()
passing.begin()
gc.collect()
print(gc.get_freeze_count() == theirs)
"""


class Ring:
    """Refers to itself, so that nothing but a collection ends it."""

    def __init__(self) -> None:
        self.itself = self


def dropped() -> weakref.ref[Ring]:
    return weakref.ref(Ring())


@pytest.fixture
def passing() -> Iterator[Passing]:
    made = Passing()
    yield made
    gc.collect()
    gc.callbacks.remove(made._collected)


def test_what_a_task_made_is_collected_behind_it_and_what_stood_there_by_the_next_one(passing: Passing) -> None:
    gc.collect()
    before = dropped()
    passing.begin()
    within = dropped()
    gc.collect()
    assert within() is None
    assert before() is not None
    gc.collect()
    assert before() is None


def test_collections_of_what_is_young_change_nothing(passing: Passing) -> None:
    before = dropped()
    passing.begin()
    gc.collect(1)
    assert gc.get_freeze_count() > 0
    gc.collect()
    assert gc.get_freeze_count() == 0
    assert before() is not None


def test_a_task_that_begins_twice_is_passed_over_once(passing: Passing) -> None:
    before = dropped()
    passing.begin()
    passing.begin()
    gc.collect()
    gc.collect()
    assert before() is None


def test_all_is_looked_at_once_a_worker_has_grown_and_what_others_pass_over_stays_theirs() -> None:
    done = subprocess.run([sys.executable, "-c", GROWN], capture_output=True, text=True, check=True)
    assert done.stdout == "True True False True 0\nTrue\n"
