"""Deferred: an interruption that comes while a question waits for Spark's process is raised as soon as that has answered.

Raised within a call of py4j's it has py4j close the connections of all threads, and once more whenever the call that was interrupted has ended in
Spark's process: who asks something at that moment is told that "Answer from Java side is empty". Raised between two lines of what puts a tag or a
property back, it would leave them.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from types import FrameType
from typing import NamedTuple

from py4j.protocol import Py4JError

_EVERY = 0.01
"""Seconds between two looks at whether the call has come back."""

_CANCELLED = 0.1
"""Seconds between two times that jobs are cancelled: Spark plans a query first, and its jobs begin later."""

_LONGEST = 5.0
"""Seconds after which it is raised within the call: Spark may plan for long, or hang, and then there is no job to cancel."""

_ECHO = 0.05
"""Seconds within which another press is the same one: nobody is that quick."""

_PATIENCE = 1.0
"""Seconds after which another press is raised also where something is put back."""

_MACHINERY = frozenset({"contextlib", "uuid", *(f"bigdebug.spark.{name}" for name in ("deferred", "interruption", "jobs", "process", "rdd.sent", "unlogged"))})
"""Modules that are called on the way into and out of what is deferred."""


class Deferred:
    """A handler of SIGINT. A press within a call of py4j's cancels the jobs that are waited for, and is raised behind the call; another one is raised at once."""

    def __init__(self) -> None:
        self.cancels: list[Callable[[], None]] = []
        """What cancels the jobs of each question within which one stands, the outermost first."""
        self.pending = False
        """Whether there was a press that was not raised yet. Changed in the main thread only."""
        self.holding = 0
        """Within how many that are undisturbed."""
        self.ended = False
        """Whether nothing is deferred any more; somebody may have kept this handler, and put it back."""
        self._pressed = 0.0
        self._late = False
        self._telling = False
        """Whether this process has sent itself a signal for a press that was deferred, and it has not come yet."""
        self._ending = threading.Lock()  # never taken by the handler: it may run while this is held

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Called by Python, in the main thread, with what it is about to run."""
        told, self._telling = self._telling, False
        between = bool(self.holding) or _is_between(frame)
        if told:
            if not self.pending or between or (_in_call(frame) and not self._late):
                return
        else:
            since, first = time.monotonic() - self._pressed, not self.pending
            if since < _ECHO or (not first and between and since < _PATIENCE):
                return
            if first:
                self._pressed = time.monotonic()
                self.pending = between or (not self.ended and _in_call(frame))
                if self.cancels and not self.ended:
                    _presses.put(Press(self, tuple(self.cancels), self.pending))
                if self.pending:
                    self._late = False
                    _deferrals.put(self)
                    return
        self.pending = False
        raise KeyboardInterrupt

    def due(self) -> bool:
        """Whether one is pending, of which whoever asks is to tell; no other question is told of it."""
        due, self.pending = self.pending, False
        return due

    def end(self) -> None:
        """From here on no signal is sent, and none is on its way."""
        with self._ending:
            self.ended = True
        end = time.monotonic() + _PATIENCE
        while self._telling and time.monotonic() < end:
            time.sleep(_EVERY / 10)

    def tell(self) -> None:
        """Have this handler called once more, until the press is raised. Called in a thread of ours."""
        late = time.monotonic() + _LONGEST
        while self.pending and not self.ended:
            with self._ending:
                self._late = time.monotonic() > late
                # While the call is under way, nothing would tell this signal from another press of the user's.
                if self.pending and not self.ended and not self._telling and (self._late or not _in_call(_main_frame())):
                    self._telling = True
                    _rouse()
            time.sleep(_EVERY)


class Press(NamedTuple):
    """A press of the stop button, and what cancels the jobs of the questions that it came in, the outermost first."""

    handler: Deferred
    cancels: tuple[Callable[[], None], ...]
    deferred: bool

    @property
    def lasts(self) -> bool:
        """Until it is raised, if it was deferred; else while PySpark is on its way out of the question that it came in: it waits for its job there."""
        return not self.handler.ended and self.cancels[-1] in self.handler.cancels and (self.handler.pending or not self.deferred)

    def cancel(self) -> None:
        for cancel in self.cancels if self.deferred else self.cancels[-1:]:
            if cancel in self.handler.cancels:
                with suppress(Py4JError, OSError, AttributeError):  # Spark may end meanwhile; then the call comes back as well
                    cancel()


# A handler may run while its thread starts another one, and must not start one itself: it would wait for itself. These queues may be used in it.
_presses: SimpleQueue[Press] = SimpleQueue()
_deferrals: SimpleQueue[Deferred] = SimpleQueue()
_threads: dict[str, threading.Thread] = {}


def _cancel_jobs() -> None:
    presses: list[Press] = []
    while True:
        with suppress(Empty):
            presses.append(_presses.get(timeout=_CANCELLED if presses else None))
        presses = [press for press in presses if press.lasts]
        for press in presses:
            press.cancel()


def _tell_of_them() -> None:
    while True:
        _deferrals.get().tell()


def _be_ready() -> None:
    """Have the threads that cancel and tell: each for itself, for cancelling is a call that may hang as any other."""
    for name, work in (("bigdebug cancelling", _cancel_jobs), ("bigdebug interrupting", _tell_of_them)):
        if name not in _threads or not _threads[name].is_alive():
            _threads[name] = threading.Thread(target=work, name=name, daemon=True)
            _threads[name].start()


@contextmanager
def deferring(cancel: Callable[[], None]) -> Iterator[Deferred | None]:
    """Within, interruptions of the main thread are deferred, if nobody but Python handles them. ``cancel`` is called in another thread.

    A question within another one, which cancels other jobs, shares what defers.
    """
    handler = signal.getsignal(signal.SIGINT)
    within = isinstance(handler, Deferred) and not handler.ended
    if threading.current_thread() is not threading.main_thread() or not (handler is signal.default_int_handler or isinstance(handler, Deferred)):
        yield None
        return
    deferred = handler if isinstance(handler, Deferred) and within else Deferred()
    deferred.cancels.append(cancel)
    try:
        if not within:
            _be_ready()
            signal.signal(signal.SIGINT, deferred)
        yield deferred
    finally:
        deferred.cancels.remove(cancel)
        if not within:
            deferred.end()
            if signal.getsignal(signal.SIGINT) is deferred:
                signal.signal(signal.SIGINT, signal.default_int_handler)
            if deferred.due():  # it came on the way out
                raise KeyboardInterrupt


@contextmanager
def undisturbed() -> Iterator[None]:
    """Within: something is put back as it was. An interruption waits for that; a second one, for a second."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not isinstance(handler, Deferred):
        yield
        return
    handler.holding += 1
    try:
        yield
    finally:
        handler.holding -= 1


def _rouse() -> None:
    """Interrupt the main thread, also where it waits for an answer."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:  # Windows
        _thread.interrupt_main()


def _main_frame() -> FrameType | None:
    return sys._current_frames().get(threading.main_thread().ident or 0)


def _in_call(frame: FrameType | None) -> bool:
    """Whether a call of py4j's is under way."""
    while frame is not None:
        if _module(frame).startswith("py4j."):
            return True
        frame = frame.f_back
    return False


def _is_between(frame: FrameType | None) -> bool:
    """Whether what runs is on its way into or out of what is deferred; not where it waits for another thread there."""
    waits = False
    while frame is not None and _module(frame) in ("enum", "signal", "threading"):
        waits |= _module(frame) == "threading" and frame.f_code.co_name in ("wait", "join")
        frame = frame.f_back
    return frame is not None and not waits and _module(frame) in _MACHINERY


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__"))
