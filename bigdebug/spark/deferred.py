"""Deferred: an interruption that comes while a question waits for Spark's process is raised as soon as that has answered.

Raised within a call of py4j's it has py4j close the connections of all threads, and once more whenever the call that was interrupted has ended in
Spark's process: who asks something at that moment is told that "Answer from Java side is empty".
"""

from __future__ import annotations

import _thread
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from py4j.protocol import Py4JError

_EVERY = 0.01
"""Seconds between two looks at whether the call has come back."""

_CANCELLED = 0.1
"""Seconds between two times that jobs are cancelled: Spark plans a query first, and its jobs begin later."""

_LONGEST = 5.0
"""Seconds after which it is raised within the call: Spark may plan for long, and then there is no job to cancel."""


class Deferred:
    """A handler of SIGINT. The first one within a call of py4j's cancels the jobs that are waited for, and is raised behind the call; a second one is raised at once."""

    def __init__(self) -> None:
        self.cancels: list[Callable[[], None]] = []
        """What cancels the jobs of each question within which one stands, the outermost first."""
        self.pending = False
        """Whether one came that was not raised yet."""
        self.over = False
        self._came = False
        self._again = False
        self._leaving = threading.Lock()  # never taken by the handler: it may run while this is held

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Called by Python, in the main thread, with what it is about to run."""
        again, self._again = self._again, False
        if again and (self.over or _in_call(frame)):
            return
        if not self._came and _in_call(frame):
            self._came = self.pending = True
            threading.Thread(target=self._raise_behind, name="bigdebug deferred interruption", daemon=True).start()
            return
        self._came, self.over, self.pending = True, True, False
        raise KeyboardInterrupt

    def leave(self) -> None:
        """From here on nothing is raised by itself."""
        with self._leaving:
            self.over = True

    def due(self) -> bool:
        """Whether one is pending, of which whoever asks is to tell; no other question is told of it. The outermost one is the last to ask."""
        if self.pending or len(self.cancels) == 1:
            self.leave()
        due, self.pending = self.pending, False
        return due

    def _raise_behind(self) -> None:
        end, cancelled = time.monotonic() + _LONGEST, 0.0
        while not self.over:
            if time.monotonic() - cancelled > _CANCELLED:
                for cancel in tuple(self.cancels):
                    with suppress(Py4JError, OSError, AttributeError):  # Spark may end meanwhile; then the call comes back as well
                        cancel()
                cancelled = time.monotonic()
            with self._leaving:
                if not self.over:
                    self._again = cancelled < end
                    _thread.interrupt_main()
            time.sleep(_EVERY)


@contextmanager
def deferring(cancel: Callable[[], None]) -> Iterator[Deferred | None]:
    """Within, interruptions of the main thread are deferred, if nobody but Python handles them. ``cancel`` is called in another thread.

    A question within another one, which cancels other jobs, shares what defers.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not (handler is signal.default_int_handler or isinstance(handler, Deferred)):
        yield None
        return
    if isinstance(handler, Deferred):
        handler.cancels.append(cancel)
        try:
            yield handler
        finally:
            handler.cancels.remove(cancel)
        return
    deferred = Deferred()
    deferred.cancels.append(cancel)
    signal.signal(signal.SIGINT, deferred)
    try:
        yield deferred
    finally:
        try:
            deferred.leave()  # it may be raised in there
        finally:
            if signal.getsignal(signal.SIGINT) is deferred:
                signal.signal(signal.SIGINT, signal.default_int_handler)


def _in_call(frame: FrameType | None) -> bool:
    """Whether a call of py4j's is under way."""
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith("py4j."):
            return True
        frame = frame.f_back
    return False
