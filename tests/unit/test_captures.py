"""Open captures in several threads at a time."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator

import pytest

from bigdebug.spark.captures import Captures


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads take turns all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_captures_that_open_while_others_close(hasty: None) -> None:
    captures = Captures()
    lost: list[str | None] = []

    def open_some(name: str) -> None:
        for _ in range(3000):
            with captures.opened(name, "auto", lambda run: None):
                current = captures.current()
                if current is None or current.name != name:
                    lost.append(None if current is None else current.name)

    threads = [threading.Thread(target=open_some, args=(f"thread {i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not lost
    assert captures.current() is None


def test_what_is_resumed_in_a_thread_of_its_own_is_nobody_elses() -> None:
    captures = Captures()
    inside, over, seen = threading.Event(), threading.Event(), []

    def resume() -> None:
        with captures.resuming("crash, resumed", "auto", lambda run: None, "skip", lambda now: "skip"):
            seen.append(captures.current())
            inside.set()
            over.wait(10)

    thread = threading.Thread(target=resume)
    thread.start()
    inside.wait(10)
    assert captures.current() is None
    with captures.opened("mine", "auto", lambda run: None):
        mine = captures.current()
        assert mine is not None
        assert (mine.name, mine.policy) == ("mine", None)
    over.set()
    thread.join()
    assert [capture is not None and capture.policy for capture in seen] == ["skip"]


def test_a_policy_is_for_threads_that_begin_within_its_block() -> None:
    captures = Captures()
    turns: dict[str, threading.Event] = {name: threading.Event() for name in ("before", "within")}
    seen: dict[str, list[str | None]] = {name: [] for name in turns}

    def ask(name: str, over: threading.Event) -> None:
        while not over.is_set():
            if turns[name].wait(0.01):
                turns[name].clear()
                current = captures.current()
                seen[name].append(None if current is None else current.policy)

    def asked(*names: str) -> None:
        for name in names:
            known = len(seen[name])
            turns[name].set()
            while len(seen[name]) == known:
                time.sleep(0.01)

    over = threading.Event()
    threads = [threading.Thread(target=ask, args=("before", over)), threading.Thread(target=ask, args=("within", over))]
    threads[0].start()
    with captures.opened("outer", "auto", lambda run: None, "skip"):
        threads[1].start()
        asked(*turns)
        with captures.opened("inner", "auto", lambda run: None, "decide"):
            asked(*turns)
    over.set()
    for thread in threads:
        thread.join()
    assert seen == {"before": [None, None], "within": ["skip", "skip"]}
