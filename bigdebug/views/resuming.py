"""Resuming: work on a run's culprits that takes a while, in a thread of its own, and how it stands."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from bigdebug.errors import BigdebugError, ReplayError
from bigdebug.shown import masked
from bigdebug.trace.culprits import Culprits
from bigdebug.views.aside import aside
from bigdebug.views.replies import cancellation

log = logging.getLogger("bigdebug")

EVERY = 0.5
"""Seconds between two looks at how far it has come."""


class Jobs(Protocol):
    """The jobs of a thread."""

    @property
    def tasks(self) -> int: ...

    def cancel(self) -> None: ...


Following = Callable[[], AbstractContextManager[Jobs | None]]
"""Gives the jobs of the thread that enters it."""


class Work:
    """One piece of work at a time. ``tell`` is called when it begins, as it goes on, and when it has ended. Thread-safe.

    ``doing`` says what is done, None if nothing is, and ``total`` how many tasks that takes, if it is known; ``problem`` why the last piece failed.
    """

    def __init__(self, culprits: Culprits, tell: Callable[[], None], following: Following | None = None) -> None:
        self._culprits = culprits
        self._tell = tell
        self._following: Following = following or nullcontext
        self._alone = threading.Lock()
        self._jobs: Jobs | None = None
        self._stopped = False
        self._began = 0.0
        self._ended: threading.Event | None = None
        self._before = 0
        self.doing: str | None = None
        self.total: int | None = None
        self.problem: BigdebugError | None = None

    @property
    def seconds(self) -> float:
        """Since the piece of work began."""
        return time.monotonic() - self._began

    @property
    def tasks(self) -> int | None:
        """How many tasks have ended well of what is done now; None if nobody counts them."""
        jobs = self._jobs
        return None if jobs is None else max(0, jobs.tasks - self._before)

    def begin(self, doing: str, work: Callable[[], None]) -> None:
        """Do some work. Raises ReplayError while other work is done."""
        with self._alone:
            if self.doing is not None:
                raise ReplayError(f"This view is {self.doing}", remedy="Wait until that has ended, or stop it.")
            self.doing, self.total, self.problem, self._stopped, self._began, self._before = doing, None, None, False, time.monotonic(), 0
            self._ended = over = threading.Event()
        aside(self._run, work, over, name="bigdebug resume")
        aside(self._watch, over, name="bigdebug progress")

    def now(self, doing: str, total: int | None = None) -> None:
        """What is done from here on, within the same work, in so many tasks, if that is known. Raises ReplayError if it is to stop."""
        if self._stopped:
            raise ReplayError("It was stopped", remedy="What was decided is kept: resume again.")
        if doing != self.doing or total is not None:
            self._before = 0 if self._jobs is None else self._jobs.tasks
        self.doing, self.total = doing, total
        self._tell()

    def find_all(self) -> None:
        """Find the culprits that are not known yet."""
        while self._culprits.more():
            self.now("looking for culprits")

    def stop(self) -> None:
        """End what is done as soon as that can be."""
        self._stopped = True
        if self._jobs is not None:
            self._jobs.cancel()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is done; False if something still is."""
        return self._ended is None or self._ended.wait(timeout)

    def _run(self, work: Callable[[], None], over: threading.Event) -> None:
        problem: BigdebugError | None = None
        try:
            with self._following() as self._jobs:
                work()
        except Exception as trouble:  # whoever looks at the view is told
            log.debug("bigdebug could not do what a view asked for", exc_info=True)
            problem = self._told(trouble)
        with self._alone:
            self._jobs, self.doing, self.problem = None, None, problem
        try:
            self._tell()
        finally:
            over.set()

    def _told(self, trouble: Exception) -> BigdebugError:
        if self._stopped:
            return ReplayError("It was stopped", remedy="What was decided is kept: resume again.")
        if isinstance(trouble, BigdebugError):
            return trouble
        if (cancelled := cancellation(trouble)) is not None:
            return cancelled
        notes = [note for note in getattr(trouble, "__notes__", ()) if str(note).startswith("bigdebug: ")]
        what = masked(notes[0].removeprefix("bigdebug: ") if notes else f"{type(trouble).__name__}: {trouble}")
        return ReplayError(f"The job crashed: {what.rstrip('.')}", remedy="What was decided is kept: change it, and resume again.")

    def _watch(self, over: threading.Event) -> None:
        while not over.wait(EVERY):
            if self._stopped and self._jobs is not None:
                self._jobs.cancel()  # another one may have begun
            self._tell()
