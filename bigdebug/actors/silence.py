"""Silence: what a function says while it is tried nobody hears: what it prints, shows, warns of and logs; and so nobody answers what it asks. Whatever else is said meanwhile, in other threads, is."""

from __future__ import annotations

import contextvars
import fileinput
import importlib
import logging
import os
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from multiprocessing.process import BaseProcess
from types import BuiltinFunctionType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any
from weakref import WeakSet

from bigdebug.actors.barred import ASKS, FILES, FOR_ALL, PROCESS, STARTS, TOLD, UNTOLD
from bigdebug.actors.codes import UNHEARD, library
from bigdebug.actors.loggers import SETTING, Meanwhile
from bigdebug.actors.streams import Muted, Untaken

_SHARED: ModuleType | None = importlib.import_module("_posixshmem") if find_spec("_posixshmem") is not None else None
"""Whose functions Python's shared memory calls; other systems have none."""

_STREAMS = 16
"""Streams that are kept when they are not used: ``print`` does not hold the one that it writes to (before Python 3.13.3), and dies when another thread is in the midst of it and that goes."""


class Silence:
    """``mine`` tells whether who speaks is to be silent, and threads that he starts are his: they run in a context that ``follows``, to the end of the thread or of what is tried. One for a process: streams, warnings, logging and threads are everybody's, so they are changed by
    the first trial, and put back by the last of those that overlap, in which order soever they end.
    """

    def __init__(self, mine: Callable[[], bool], follows: Callable[[bool], contextvars.Context]) -> None:
        self._mine = mine
        self._follows = follows
        self._lock = threading.RLock()  # an interrupted trial may end late, wherever Python collects it
        self._kept = WeakSet[_Kept]()
        self._stands = False
        self._undo: list[Callable[[], None]] = []
        self._streams: deque[Muted | Untaken] = deque(maxlen=_STREAMS)
        self.meanwhile = Meanwhile()
        """Loggers that are set while it is kept. What a package sets, also in a trial, it may take for set in the real call."""

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Within, it is kept. What an interruption leaves of it says all that others say, and is put back behind the next trial, once the exception is gone."""
        mine = _Kept()
        try:
            with self._lock:
                self._kept.add(mine)
                if self._stands:  # a thread that a trial left behind may keep it long: others are streams since
                    self._part()
                else:
                    self._put_back()
                    self._put()
            yield
        finally:
            with self._lock:
                self._kept.discard(mine)
                if not self._kept:
                    self._put_back()

    def _put(self) -> None:
        self._part()
        self._unwarned()
        self._unlogged()
        self._set()
        self._unshown()
        self._followed()
        self._told()
        self._stands = True

    def _put_back(self) -> None:
        self._stands = False
        self.meanwhile.events.clear()
        while self._undo:
            undo = self._undo[-1]
            undo()
            if self._undo and self._undo[-1] is undo:
                self._undo.pop()

    def _part(self) -> None:
        """Put others in the place of streams; also of the one that Python began with, which is read where somebody has put another one before it."""
        for name, kind in (("stdout", Muted), ("stderr", Muted), ("stdin", Untaken), ("__stdin__", Untaken)):
            self._stand_for(name, kind)

    def _stand_for(self, name: str, kind: type[Muted | Untaken]) -> None:
        stream = getattr(sys, name)
        if stream is None or isinstance(stream, (Muted, Untaken)):  # a program without a terminal; one of ours that somebody put back
            return
        made = next((each for each in self._streams if isinstance(each, kind) and each.of(stream)), None)
        if made is None:
            made = kind(stream, self._mine)
            self._streams.append(made)
        self._replace(sys, name, made)

    def _unwarned(self) -> None:
        """A filter that matches in trials alone. What is ignored is not noted as told: the real call tells it."""
        entry: Any = ("ignore", _Matching(self._mine), Warning, None, 0)
        there: Any = warnings.filters

        def undo() -> None:
            now: Any = warnings.filters
            for filters in (there, now):  # who catches warnings meanwhile puts that one back
                filters[:] = [each for each in filters if each is not entry]

        self._undo.append(undo)
        there.insert(0, entry)

    def _unlogged(self) -> None:
        handle, mine = logging.Logger.handle, self._mine

        def silent(logger: logging.Logger, record: logging.LogRecord) -> None:
            if not mine():
                handle(logger, record)

        self._replace(logging.Logger, "handle", silent)

    def _set(self) -> None:
        self.meanwhile = Meanwhile()
        for owner, names in SETTING:
            for name in names:
                self._noting(owner, name, self.meanwhile)

    def _noting(self, owner: Any, name: str, meanwhile: Meanwhile) -> None:
        call, mine = getattr(owner, name), self._mine

        def noted(this: Any, *args: Any, **options: Any) -> Any:
            if not mine() or library(_calling(sys._getframe(1))):
                meanwhile.set_by_other(this)
            return call(this, *args, **options)

        self._replace(owner, name, noted)

    def _unshown(self) -> None:
        """What a kernel of Jupyter sends to its notebook: displays, widgets, bars of progress. It sends questions, too, and waits for the answer."""
        session = getattr(sys.modules.get("jupyter_client.session"), "Session", None)
        if session is None:
            return
        send, mine = session.send, self._mine

        def unsent(this: Any, *args: Any, **options: Any) -> Any:
            if mine() and "input_request" in (*args[1:2], options.get("msg_or_type")):
                sys.audit(TOLD, ASKS)
            return None if mine() else send(this, *args, **options)

        self._replace(session, "send", unsent)

    def _followed(self) -> None:
        """Threads that are started in a trial are in it. (Python has no event of that before 3.12.) Those of the user's are to their end, also workers of a pool that he makes, and what they raise
        nobody hears; those that a package starts it may keep for the real call.
        """
        start, mine, follows = threading.Thread.start, self._mine, self._follows

        def followed(thread: Any) -> None:
            if mine():
                users = not (library(_calling(sys._getframe(1))) and library(_code_of(thread)))
                thread.run = partial(follows(users).run, partial(self._unheard, thread.run) if users else thread.run)
            start(thread)

        self._replace(threading.Thread, "start", followed)

    def _unheard(self, run: Callable[[], None]) -> None:
        with self.kept(), suppress(BaseException):
            run()

    def _told(self) -> None:
        """Functions that Python has no event of, in a trial: of open files by their numbers, pipes with names, shared memory, processes that are started by ``spawn``, lines of all that is piped in, and what holds of
        the whole process.
        """
        self._telling(BaseProcess, "start", STARTS)
        self._telling(fileinput, "input", ASKS)  # it is told before it begins: it cannot begin again before it has ended
        for name in UNHEARD & vars(os).keys():
            self._telling(os, name, FILES if name.startswith("mk") else "it writes a file")
        for owner in filter(None, (os, _SHARED)):
            for name in UNTOLD.keys() & vars(owner).keys():
                self._telling(owner, name, UNTOLD[name])
        for owner, names in FOR_ALL:
            for name in names:
                if hasattr(owner, name):
                    self._telling(owner, name, PROCESS, packages=False)

    def _telling(self, owner: Any, name: str, why: str, packages: bool = True) -> None:
        """``packages``: also what they do; for what they set for themselves, see ``meanwhile``."""
        call, mine = getattr(owner, name), self._mine

        def told(*args: Any, **options: Any) -> Any:
            if mine() and (packages or not library(_calling(sys._getframe(1)))):
                sys.audit(TOLD, why)
            return call(*args, **options)

        self._replace(owner, name, told)

    def _replace(self, owner: Any, name: str, made: Any) -> None:
        """Another attribute in the place of one, which is put back unless somebody has put a third one there."""
        before = getattr(owner, name)

        def undo() -> None:
            if getattr(owner, name) is made:
                setattr(owner, name, before)

        self._undo.append(undo)
        setattr(owner, name, made)


class _Kept:
    """Who keeps it: one trial, as long as it is there."""


def _calling(frame: FrameType | None) -> Any:
    """The module that starts a thread, or sets a logger or what holds for all, by what Python has for that."""
    while frame is not None and frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in sys.stdlib_module_names:
        frame = frame.f_back
    return "" if frame is None else frame.f_globals.get("__name__")


def _code_of(thread: Any) -> Any:
    """The module of what a thread does."""
    target = getattr(thread, "_target", None) or getattr(thread, "function", None) or type(thread)
    while isinstance(target, partial):
        target = target.func
    return target.__module__ if isinstance(target, (FunctionType, MethodType, BuiltinFunctionType, type)) else type(target).__module__


class _Matching:
    """What a filter of warnings asks whether a text matches."""

    def __init__(self, mine: Callable[[], bool]) -> None:
        self._mine = mine

    def match(self, text: str) -> bool:
        """Whatever it says."""
        return self._mine()
