"""Cells: a function's calls in a process of their own, which may end in one of them and takes nothing else along.

A batch that ends a process ends it again when it is halved, so the rows are found as those are that raise something. Each call crosses two
pipes, which takes some tens of microseconds: for functions in which a worker has ended already.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import IO, Any

from bigdebug.agents.frames import Dumps
from bigdebug.agents.guards.crash import Raised, raised_as
from bigdebug.agents.guards.flight import WorkerEnded
from bigdebug.agents.guards.inflight import Signal, crashes


class CannotCrossError(Signal):
    """A value cannot be pickled."""


class Elsewhere(Exception):
    """What was raised in another process. There is a class of it for each class there."""

    def __init__(self, raised: Raised) -> None:
        super().__init__(raised.message)
        self.raised = raised


@cache
def _class_of(exception: str) -> type[Elsewhere]:
    return type(exception, (Elsewhere,), {})


def elsewhere(raised: Raised) -> Elsewhere:
    """What was raised in another process, as an exception here."""
    return _class_of(raised.exception)(raised)


class Cell:
    """A process that is made when it is first needed, and again when it has ended. ``make`` gives, there, the object whose methods are called."""

    def __init__(self, make: Callable[[], Any], dumps: Dumps) -> None:
        self._make = make
        self._dumps = dumps
        self._ours: Connection | None = None
        self._told: IO[bytes] | None = None
        self._end: Callable[[], Any] = _nothing

    def call(self, method: str, *given: Any, **named: Any) -> Any:
        """What a method gives, an iterator as a list. Raises WorkerEnded if the process ends, Elsewhere what the method raises."""
        if self._ours is None:
            self._begin()
        assert self._ours is not None
        try:
            self._ours.send_bytes(self._dumps((method, given, named)))
            raised, stuck, value = pickle.loads(self._ours.recv_bytes())
        except (EOFError, OSError):
            raise WorkerEnded(self._last_words()) from None
        if raised is not None:
            raise elsewhere(raised)
        if stuck is not None:
            raise CannotCrossError(f"what a function gives cannot be pickled: {stuck}")
        return value

    def close(self) -> None:
        """End the process."""
        self._end()
        self._ours = None

    def _begin(self) -> None:
        context = get_context("fork")
        self._told = tempfile.TemporaryFile()
        self._ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(self._make, self._dumps, theirs, self._ours, self._told), daemon=True)
        process.start()
        theirs.close()
        self._end = weakref.finalize(self, _over, os.getpid(), process, self._ours, self._told)

    def _last_words(self) -> str:
        assert self._told is not None
        self._told.seek(0)
        said = self._told.read().decode(errors="replace")
        self.close()
        return said


def _nothing() -> None:
    """There is no process yet."""


def _over(owner: int, process: BaseProcess, ours: Connection, told: IO[bytes]) -> None:
    """End a process, if this is the one that made it, and not a cell that has come to hold it."""
    ours.close()
    told.close()
    if os.getpid() == owner:
        process.kill()
        process.join()


def _serve(make: Callable[[], Any], dumps: Dumps, calls: Connection, ours: Connection, told: Any) -> None:
    """Answer calls until there are no more."""
    ours.close()
    faulthandler.enable(told)
    made: list[Any] = []
    while True:
        try:
            method, given, named = pickle.loads(calls.recv_bytes())
        except EOFError:
            os._exit(0)
        calls.send_bytes(_answer(make, made, dumps, method, given, named))


def _answer(make: Callable[[], Any], made: list[Any], dumps: Dumps, method: str, given: Any, named: Any) -> bytes:
    try:
        made += [] if made else [make()]
        value = getattr(made[0], method)(*given, **named)
        value = list(value) if isinstance(value, Iterator) else value
    except crashes() as problem:
        return pickle.dumps((raised_as(problem), None, None))
    try:
        return dumps((None, None, value))
    except Exception as problem:  # whatever it is, it is no crash of the user's
        return pickle.dumps((None, str(problem), None))


@dataclass(frozen=True)
class Confined:
    """A function that is called in a cell."""

    cell: Cell

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self.cell.call("__call__", *given, **named)


@dataclass(frozen=True)
class ConfinedStream:
    """A function of an iterator of batches that is called in a cell, for each batch anew."""

    cell: Cell

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            yield from self.cell.call("__call__", _One(batch))


@dataclass(frozen=True)
class ConfinedTable:
    """An instance of a class of table functions that lives in a cell."""

    kind: type
    cell: Cell

    def __getattr__(self, name: str) -> Any:
        getattr(self.kind, name)
        return partial(self.cell.call, name)


class _One:
    """An iterator of one batch, which can be pickled."""

    def __init__(self, batch: Any) -> None:
        self._left = [batch]

    def __iter__(self) -> _One:
        return self

    def __next__(self) -> Any:
        if not self._left:
            raise StopIteration
        return self._left.pop()
