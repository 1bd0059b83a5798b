"""Aside: where a user's function is tried, nobody sees it, and nothing stays of it."""

from __future__ import annotations

import contextlib
import contextvars
import decimal
import importlib
import os
import threading
from collections.abc import Callable, Iterator

import numpy as np

from bigdebug.actors.barred import Barrier
from bigdebug.actors.codes import Untried
from bigdebug.actors.loggers import Loggers, Meanwhile
from bigdebug.actors.settings import Settings
from bigdebug.actors.silence import Silence
from bigdebug.outside import from_outside


class _Aside:
    """One trial, or several in a row. It is over when the real call comes, but for threads of the function's that go on."""

    def __init__(self, reads: Callable[[str], None]) -> None:
        self.reads = reads
        self.over = False
        self._put_back = False
        self._thread = threading.get_ident()
        self._settings = Settings()
        self._loggers: Loggers | None = None
        self.vain = set[str]()
        self.barred = ""
        """What the function would have done, as the end of a sentence."""

    def bar(self, why: str) -> None:
        self.barred = self.barred or why

    def imports(self, name: str) -> None:
        """Import a module for the first time as the real call would, which finds it then: what that sets, says and starts is not the trial's."""
        if threading.get_ident() == self._thread:
            try:
                _ASIDE.set(None)
                with self._settings.away():
                    importlib.import_module(name)
            finally:
                _ASIDE.set(self)

    @contextlib.contextmanager
    def holding(self, meanwhile: Meanwhile) -> Iterator[None]:
        """Within, loggers are set in vain."""
        self._loggers = Loggers(meanwhile)
        try:
            yield
        finally:
            self._put_loggers_back()

    def end(self) -> None:
        """It is over. Settings are put back once: what they are later is the program's."""
        self.over = True
        if not self._put_back:
            self._put_loggers_back()
            self._settings.put_back()
            self._put_back = True

    def _put_loggers_back(self) -> None:
        if self._loggers is not None:
            self._loggers.put_back()
            self._loggers = None


_ASIDE = contextvars.ContextVar[_Aside | None]("bigdebug: a function is being tried", default=None)

_STAYS = contextvars.ContextVar("bigdebug: a thread that is tried to its end", default=False)


def _trial() -> _Aside | None:
    trial = _ASIDE.get()
    return None if trial is None or (trial.over and not _STAYS.get()) else trial


def _following(stays: bool) -> contextvars.Context:
    """The context of a thread that is started in a trial."""
    context = contextvars.copy_context()
    context.run(_STAYS.set, stays)
    return context


def being_tried() -> bool:
    """Whether this is a trial: then nothing is captured, for none of it is a step of the user's."""
    return _trial() is not None


_SILENCE = Silence(being_tried, _following)
"""Of this process, whose streams and warnings are those of all its threads."""

_BARRIER = Barrier(_trial)
"""Of this process: what listens to its events does so to its end."""

open_in_vain = _BARRIER.open_in_vain


@contextlib.contextmanager
def aside(reads: Callable[[str], None] = lambda _: None) -> Iterator[None]:
    """Within, ``reads`` is told of files that are read; what this thread prints, warns of and logs is lost, no step is captured, nothing is written, sent or started (see ``stopped``, and ``barred`` for what is known of that), and random numbers are drawn in vain.

    Other threads do what they do without, and threads that the function starts are tried as it is, to their end. Where the generators of all were drawn from (``Apart`` gives a function others; but
    pandas' ``sample`` draws from numpy's own), they are put back: what another thread drew meanwhile is drawn again then. How numpy and decimals compute and print is put back, too, what else holds of the thread or the process (see ``Settings``), and how loggers are set (see ``Loggers``).
    A module that is imported for the first time is imported as without.
    """
    _BARRIER.stand()
    trial, before = _Aside(reads), _ASIDE.get()
    try:
        _ASIDE.set(trial)
        with _SILENCE.kept(), np.errstate(), np.printoptions(), decimal.localcontext(), trial.holding(_SILENCE.meanwhile):
            yield
    finally:
        trial.end()
        if _ASIDE.get() is trial:  # what was interrupted may come here late, from within another trial
            _ASIDE.set(before)


def ended() -> None:
    """No trial goes on, whatever happened: what interrupts a program may come just as one begins or ends, where ``aside`` has no hold of it."""
    trial = _ASIDE.get()
    if trial is not None:
        trial.end()
        _ASIDE.set(None)


@contextlib.contextmanager
def stopped() -> Iterator[None]:
    """Within, the function is called. Raises Untried if it would have done something that stays, whatever it made of being stopped before it did; also if it raised and had written a file in
    vain: it may have looked at that.
    """
    trial = _ASIDE.get()
    try:
        yield
    except BaseException as error:
        if trial is None or not (trial.barred or trial.vain) or isinstance(error, Untried) or from_outside(error):
            raise
        raise Untried(trial.barred or f"it writes {min(map(os.path.basename, trial.vain))!r}, and raised {type(error).__name__}: it may look at that") from error
    if trial is not None and trial.barred:
        raise Untried(trial.barred)
