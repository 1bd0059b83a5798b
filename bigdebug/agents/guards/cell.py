"""Cells: a function's calls in a process of their own, which may end in one of them and takes nothing else along.

A batch that ends a process ends it again when it is halved, so the rows are found as those are that raise something. Each call crosses two
pipes, which takes some tens of microseconds: for functions in which a worker has ended already.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import signal
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing.connection import Connection, Pipe
from typing import IO, Any

from bigdebug.agents.frames import Dumps
from bigdebug.agents.guards.crash import Raised, StandIn, raised_as
from bigdebug.agents.guards.flight import WorkerEnded
from bigdebug.agents.guards.inflight import KEPT_BYTES, crashes
from bigdebug.outside import Signal

_LOOKS = 0.5
"""Seconds between two looks of a cell for who made it."""


class CellError(Signal):
    """There is no cell, or something cannot be pickled and cross to it: no crash of the user's."""


class Elsewhere(StandIn):
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


def as_elsewhere(problem: BaseException) -> BaseException:
    """An exception of this process as if it had been raised in another one, so that both compare."""
    return problem if issubclass(type(problem), (Elsewhere, WorkerEnded)) else elsewhere(raised_as(problem))


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
            asked = self._dumps((method, given, named))
        except crashes() as problem:
            raise CellError(f"what a function is given cannot be pickled: {problem}") from problem
        try:
            self._ours.send_bytes(asked)
            answer = self._ours.recv_bytes()
        except (EOFError, OSError):
            raise WorkerEnded(self._last_words()) from None
        raised, stuck, value = pickle.loads(answer)
        if raised is not None:
            raise elsewhere(raised)
        if stuck is not None:
            raise CellError(f"what a function is given, or gives, cannot be pickled: {stuck}")
        return value

    def close(self) -> None:
        """End the process."""
        self._end()
        self._ours = None

    def _begin(self) -> None:
        told, (ours, theirs), here = tempfile.TemporaryFile(), Pipe(), os.getpid()
        try:
            process = os.fork()  # not multiprocessing's, whose daemons may have no processes of their own, as a function's pool
        except OSError as problem:
            for each in (told, ours, theirs):
                each.close()
            raise CellError(f"a process could not be made: {problem}") from problem
        if not process:
            try:
                ours.close()
                _serve(self._make, self._dumps, theirs, told, here)
            finally:
                os._exit(1)
        theirs.close()
        self._told, self._ours = told, ours
        self._end = weakref.finalize(self, _over, here, process, ours, told)

    def _last_words(self) -> str:
        assert self._told is not None
        self._told.seek(0)
        said = self._told.read().decode(errors="replace")
        self.close()
        return said


def _nothing() -> None:
    """There is no process yet."""


def _over(owner: int, process: int, ours: Connection, told: IO[bytes]) -> None:
    """End a process, if this is the one that made it, and not a cell that has come to hold it."""
    ours.close()
    told.close()
    if os.getpid() == owner:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


def _serve(make: Callable[[], Any], dumps: Dumps, calls: Connection, told: Any, owner: int) -> None:
    """Answer calls until there are no more, or nobody who would make them."""
    faulthandler.enable(told, all_threads=False)
    threading.Thread(target=_outlive, args=(owner,), daemon=True).start()
    made: list[Any] = []
    while True:
        try:
            asked = calls.recv_bytes()
        except EOFError:
            return
        calls.send_bytes(_answer(make, made, dumps, asked))


def _outlive(owner: int) -> None:
    """End with a worker that is killed, also in a call that does not end."""
    while os.getppid() == owner:
        time.sleep(_LOOKS)
    os._exit(1)


def _answer(make: Callable[[], Any], made: list[Any], dumps: Dumps, asked: bytes) -> bytes:
    try:
        method, given, named = pickle.loads(asked)
    except crashes() as problem:  # whatever it is, it is no crash of the user's
        return pickle.dumps((None, str(problem), None))
    try:
        made += [] if made else [make()]
        value = getattr(made[0], method)(*given, **named)
        value = list(value) if isinstance(value, Iterator) else value
    except crashes() as problem:
        return pickle.dumps((raised_as(problem), None, None))
    try:
        return dumps((None, None, value))
    except crashes() as problem:  # whatever it is, it is no crash of the user's
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


class ConfinedTable:
    """An instance of a class of table functions that lives in a cell. One that comes after it is called on the rows that this one has been called on."""

    def __init__(self, kind: type, cell: Cell, dumps: Dumps) -> None:
        self._kind = kind
        self._cell = cell
        self._dumps = dumps
        self._rows: list[bytes] = []
        self._left = KEPT_BYTES
        self._ended = False

    def __getattr__(self, name: str) -> Any:
        getattr(self._kind, name)
        return partial(self._call, name)

    def _call(self, method: str, *given: Any, **named: Any) -> Any:
        if self._ended and self._left < 0:
            raise CellError(f"a process ended that had been given more than {KEPT_BYTES >> 20} MB of rows")
        for row in self._rows if self._ended else ():
            before, beforehand = pickle.loads(row)
            self._cell.call("eval", *before, **beforehand)
        self._ended = False
        try:
            made = self._cell.call(method, *given, **named)
        except WorkerEnded:
            self._ended = True
            raise
        if method == "eval" and self._left >= 0:
            self._rows.append(self._dumps((given, named)))
            self._left -= len(self._rows[-1])
            if self._left < 0:
                self._rows.clear()
        return made


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
