"""A search: one localization as others see it, who may stop it, while it runs and afterwards."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bigdebug.errors import LocalizeError
from bigdebug.localize.diagnosis import Diagnosis
from bigdebug.localize.progress import Point, Progress

if TYPE_CHECKING:
    from bigdebug.localize.oracle import Budget

WAITING, RUNNING, ENDED, FAILED = "waiting", "running", "ended", "failed"


class Search:
    """How far one localization is, and what came of it; ``stop`` ends it. Thread-safe, and costs the localization nothing.

    ``search = bigdebug.Search(); bigdebug.view(search)`` in one cell, ``dbg.localize(report, test, search=search)`` in the next. ``diagnosis`` is what it gave, ``error`` what it raised.
    ``shown`` says that somebody is shown how far it is, so that there is no bar.
    """

    def __init__(self) -> None:
        self.shown = False
        self.diagnosis: Diagnosis | None = None
        self.error: BaseException | None = None
        self._alone = threading.Lock()
        self._stop, self._over = threading.Event(), threading.Event()
        self._budget: Budget | None = None
        self._ears: list[Callable[[], None]] = []

    @classmethod
    def over(cls, diagnosis: Diagnosis) -> Search:
        """One that has ended with a diagnosis, of which nothing else is known."""
        search = cls()
        search.diagnosis = diagnosis
        search._over.set()
        return search

    # ---- for whoever looks at it ------------------------------------------------------------------------------

    @property
    def state(self) -> str:
        """It is "waiting" until it begins, "running", then "ended" with a diagnosis, or "failed" with an error."""
        if not self._over.is_set():
            return WAITING if self._budget is None else RUNNING
        return FAILED if self.diagnosis is None else ENDED

    @property
    def progress(self) -> Progress | None:
        """How far it is, or was at its end; None before it begins."""
        budget = self._budget
        return None if budget is None else budget.progress

    @property
    def course(self) -> tuple[Point, ...]:
        """How the candidates became fewer."""
        budget = self._budget
        return () if budget is None else budget.course.points

    @property
    def stopping(self) -> bool:
        """Whether it was told to stop."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Let it end at its next test; from any thread. What is known by then is its diagnosis."""
        self._stop.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is over; False if it is not after so many seconds."""
        return self._over.wait(timeout)

    def hear(self, begun: Callable[[], None]) -> None:
        """Call ``begun`` as it begins, in its thread; at once if it has."""
        with self._alone:
            waiting = self._budget is None
            if waiting:
                self._ears.append(begun)
        if not waiting:
            begun()

    # ---- for the localization ---------------------------------------------------------------------------------

    @property
    def event(self) -> threading.Event:
        """Set when it is to stop."""
        return self._stop

    @contextmanager
    def running(self, budget: Budget) -> Iterator[None]:
        """Within: it runs, and is over behind, with the ``diagnosis`` that was set or the error that was raised. Raises LocalizeError if it ran before."""
        with self._alone:
            if self._budget is not None:
                raise LocalizeError("This search was used before, and one shows one localization", remedy="bigdebug.Search() makes another.")
            self._budget, ears = budget, self._ears
            self._ears = []
        try:
            for begun in ears:
                begun()
            yield
        except BaseException as error:  # an interruption, too
            self.error = error
            raise
        finally:
            budget.course.end()
            self._over.set()

    def __repr__(self) -> str:
        now = self.progress
        return f"<search: {self.state}{'' if now is None else f', {now.tests:,} tests, {now.seconds:.1f} s'}>"


Shows = Callable[[Search], bool]
"""Shows a search that has begun, if it takes long; says whether it does, so that no bar need."""

_shows: Shows | None = None


def show_searches_with(shows: Shows | None) -> None:
    """Show searches with ``shows``; with a bar, if None."""
    global _shows  # noqa: PLW0603 (what shows output is one thing for a process, as stderr is)
    _shows = shows


def is_shown(search: Search) -> bool:
    """Have a search shown where something can; says whether it is."""
    return _shows is not None and _shows(search)
