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

_ECHO = 0.05
"""Seconds within which another one is the same: signals that come close together are handled together or one by one."""


class Deferred:
    """A handler of SIGINT. The first one within a call of py4j's cancels the jobs that are waited for, and is raised behind the call; a second one is raised at once."""

    def __init__(self) -> None:
        self.cancels: list[Callable[[], None]] = []
        """What cancels the jobs of each question within which one stands, the outermost first."""
        self.pending = False
        """Whether one came that was not raised yet."""
        self.over = False
        self.holding = 0
        """Within how many that are undisturbed."""
        self._came = False
        self._again = False
        """Whether one that was deferred is on its way to this handler once more. Of two, the second one would pass for another of the user's."""
        self._late = False
        self._raised = 0.0
        self._leaving = threading.Lock()  # never taken by the handler: it may run while this is held

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Called by Python, in the main thread, with what it is about to run."""
        again, self._again = self._again, False
        if again and (self.over or self.holding or (_in_call(frame) and not self._late)):
            return
        if self.over and time.monotonic() - self._raised < _ECHO:
            return
        if not self._came and (self.holding or _in_call(frame)):
            self._came = self.pending = True
            threading.Thread(target=self._raise_behind, name="bigdebug deferred interruption", daemon=True).start()
            return
        self._came, self.over, self.pending = True, True, False
        self._raised = time.monotonic()
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
        while not (self.over or self._late):
            if time.monotonic() - cancelled > _CANCELLED:
                for cancel in tuple(self.cancels):
                    with suppress(Py4JError, OSError, AttributeError):  # Spark may end meanwhile; then the call comes back as well
                        cancel()
                cancelled = time.monotonic()
            with self._leaving:
                self._tell(late=time.monotonic() > end)
            time.sleep(_EVERY)

    def _tell(self, late: bool) -> None:
        """Have this handler called once more, if nothing speaks against it."""
        if not self.over and not self.holding and (late or not self._again):
            self._again, self._late = True, late
            _rouse()


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
                _restore()


@contextmanager
def undisturbed() -> Iterator[None]:
    """Within: something is put back as it was. An interruption that is deferred waits for that; none may come between two lines of it."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not isinstance(handler, Deferred):
        yield
        return
    handler.holding += 1
    try:
        yield
    finally:
        handler.holding -= 1


def _restore() -> None:
    """Give Python's own handler back, also where an interruption is raised as it is to be set: that would leave it unset."""
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        raise


def _rouse() -> None:
    """Interrupt the main thread, also where it waits for an answer: one that it was not told of before would swallow another one of the user's."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:  # Windows
        _thread.interrupt_main()


def _in_call(frame: FrameType | None) -> bool:
    """Whether a call of py4j's is under way."""
    while frame is not None:
        if str(frame.f_globals.get("__name__")).startswith("py4j."):
            return True
        frame = frame.f_back
    return False
