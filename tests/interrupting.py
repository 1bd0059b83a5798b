"""Interrupting: the stop button at a chosen line of ours, an alarm at a chosen call of anybody's. A signal of the system comes at some moment; this one comes at each in turn."""

from __future__ import annotations

import gc
import linecache
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Coming:
    """An interruption that comes when so many lines of bigdebug, or of a file of it, have been reached. ``where`` is the line that it came at.

    Not where a ``with`` begins or ends: Python looks for signals at calls and loops, so none comes between a lock and what it guards.
    """

    def __init__(self, after: int, file: str = "/bigdebug/") -> None:
        self.lines = 0
        self.where: str | None = None
        self._after = after
        self._file = file

    def entered(self, frame: FrameType, event: str, argument: object) -> Any:
        return self._seen if self._file in frame.f_code.co_filename else None

    def _seen(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "line" and not linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with "):
            self.lines += 1
            if self.lines > self._after and self.where is None:
                self.where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                raise KeyboardInterrupt
        return self._seen


@contextmanager
def interrupted(after: int, file: str = "/bigdebug/") -> Iterator[Coming]:
    """Within: a KeyboardInterrupt in this thread after so many lines, which ends this quietly."""
    coming = Coming(after, file)
    sys.settrace(coming.entered)
    try:
        yield coming
    except KeyboardInterrupt:
        if coming.where is None:
            raise
    finally:
        sys.settrace(None)


_CALLS = {"call", "c_return"}
"""Of a profile: where Python looks whether a signal has come, but for loops."""


def calls_of(program: Callable[[], object]) -> int:
    """At how many calls ``rung_at`` can ring."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in _CALLS

    with _profiled(count):
        program()
    return calls


def rung_at(program: Callable[[], object], call: int, handler: Callable[[int, FrameType | None], object], within: Collection[str] = ()) -> list[str]:
    """Run a program whose alarm rings at this call of its thread's, or of those that functions ``within`` make or begin with: by the handler of signals, as Python does. The functions that were
    running then, if the program goes on; none if it did not ring.
    """
    calls, running = 0, list[str]()

    def ring(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        if event not in _CALLS or (within and frame.f_code.co_name not in within):
            return
        calls += 1
        if calls == call:
            running.extend(each.name for each in traceback.extract_stack(frame))
            handler(signal.SIGALRM, frame)

    with _profiled(ring):
        program()
    return running


@contextmanager
def _profiled(heard: Callable[[FrameType, str, object], None]) -> Iterator[None]:
    """Without collections: one that comes within ``heard`` looks at a frame whose cells are not made yet, of which Python 3.11.2 ends."""
    collecting = gc.isenabled()
    gc.disable()
    sys.setprofile(heard)
    try:
        yield
    finally:
        sys.setprofile(None)
        if collecting:
            gc.enable()


@contextmanager
def cancelled(cancel: Callable[[], object], after: float) -> Iterator[None]:
    """Within: jobs are cancelled when so many seconds are over, and those that begin later, too: between two jobs there is none."""
    over = threading.Event()

    def work() -> None:
        over.wait(after)
        while not over.wait(0.1):
            cancel()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
