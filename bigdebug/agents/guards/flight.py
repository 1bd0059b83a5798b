"""Flight: which call of the user's code is in progress, in a small file that outlives the process that ends in it.

A worker that segfaults, exits or is killed raises nothing. Of a task of which Spark says that its worker has ended, the driver reads
the call from the file; the next task that runs the partition raises WorkerEnded in its place. As it must be the same call, the file also
has a digest of what it was given. Files of other tasks tell nothing: Spark kills the workers of jobs that it gives up.
"""

from __future__ import annotations

import faulthandler
import mmap
import os
import pickle
import re
import struct
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from bigdebug.agents.guards.crash import Line, StandIn, raised_at
from bigdebug.outside import Signal

_SLOT = struct.Struct("<qqqq")
"""Whether a function is in a call, when that began, which one of its calls it is, and the digest of what it was given."""

_LANDED, _FLYING, _ASKING = range(3)
"""Not in a call; in a call; in one, but waiting for a record that another function is to give."""

_SLOTS = 1_024
"""Functions of a stage, at most; a stage of more would not fit Python's stack."""

_FRAME = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+) in (?P<function>.*)$', re.MULTILINE)
_REASON = re.compile(r"^Fatal Python error: (?P<reason>.*)$", re.MULTILINE)

ENDED = "WorkerEnded"
"""The name under which it is told."""


class WorkerEnded(StandIn):
    """The process ended while it was in a call. ``told`` is what Python's fault handler wrote last."""

    def __init__(self, told: str) -> None:
        reason = _REASON.search(told)
        how = reason["reason"] if reason else "it exited, was killed, or ran out of memory"
        super().__init__(f"the Python worker ended here: {how}")
        lines = [Line(found["file"], int(found["line"]), found["function"], "") for found in _FRAME.finditer(told)]
        self.raised = raised_at(ENDED, str(self), lines[::-1])


class Changed(Signal):
    """A partition gives other records, or in another order, than when a worker ended in it."""


class FarEnough(Signal):
    """A partition is not looked at any further."""


class Call(NamedTuple):
    """A call in which a worker ended: of which function, which one of its calls, a digest of what it was given, and the fault handler's words."""

    function: int
    number: int
    digest: int
    told: str


def landed(folder: Path, task: int) -> tuple[int, Call | None] | None:
    """In which call the worker of a task ended, of which Spark says that it did: its partition, and the call, None if it was in none.

    Of several calls the one that began last was in progress: it stands in what others yielded to. None, if nothing is known of the task.
    """
    for file in folder.glob(f"*.{task}.slots"):
        slots = enumerate(_SLOT.iter_unpack(file.read_bytes()))
        flying = [(began, function, call, digest) for function, (state, began, call, digest) in slots if state == _FLYING]
        partition = int(file.name.split(".")[0].rpartition("-")[2])
        if not flying:
            return partition, None
        lines = file.with_suffix(".lines")
        _, function, number, digest = max(flying)
        return partition, Call(function, number, digest, lines.read_text(errors="replace") if lines.exists() else "")
    return None


def folder_of(store: str, run: str) -> Path:
    """A directory in the driver's store, where this machine sees that; else one among its temporary files."""
    return Path(store, run, "flights") if os.path.isdir(store) else Path(tempfile.gettempdir(), name_of(store, run))


def name_of(store: str, run: str) -> str:
    """What that directory is called."""
    return f"{Path(store).name}-{run}"


class Flight:
    """The calls of a task that runs a partition of a stage, in a file that is there until the partition has ended.

    In the calls that are ``known`` workers have ended. One that is ``closed`` goes as far as the last of these.
    """

    def __init__(self, folder: Path, stage: str, split: int, task: int, known: Iterable[Call] = (), closed: bool = False) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file = file = folder / f"{stage}-{split}.{task}.slots"
        self._known = {(call.function, call.number): (call.digest, call.told) for call in known}
        self._closed = closed
        file.write_bytes(bytes(_SLOT.size * _SLOTS))
        with file.open("r+b") as opened:
            self._slots = mmap.mmap(opened.fileno(), 0)
        self._functions = self._begun = 0
        self._calls: Counter[int] = Counter()
        self._told = file.with_suffix(".lines").open("w")
        faulthandler.enable(self._told, all_threads=False)

    def over(self, function: Callable[..., Any], whole: Callable[[Any], Any] = lambda given: given) -> Callable[..., Any]:
        """The function, each call of which is noted until the ``whole`` of what it gives is there."""
        number = self.function()

        def flown(*given: Any) -> Any:
            self.begin(number, given)
            try:
                return whole(function(*given))
            finally:
                self.end(number)

        return flown

    def function(self) -> int:
        """A number for a function, the same in each task that runs the partition."""
        self._functions += 1
        return min(self._functions, _SLOTS) - 1

    def begin(self, function: int, given: Any) -> None:
        """A call begins, or goes on with another record. Raises WorkerEnded if a worker ended in it."""
        digest = _digest(given)
        call = self._calls[function] = self._calls[function] + 1
        if self._closed and not self._known:
            raise FarEnough
        if (function, call) in self._known:
            self.end(function)
            then, told = self._known.pop((function, call))
            if then != digest:
                raise Changed
            raise WorkerEnded(told)
        self._begun += 1
        _SLOT.pack_into(self._slots, function * _SLOT.size, _FLYING, self._begun, call, digest)

    def asks(self, function: int) -> None:
        """A function that is in a call waits for its next record."""
        self._slots[function * _SLOT.size] = _ASKING

    def goes_on(self, function: int) -> None:
        """It has been told that there is none."""
        self._slots[function * _SLOT.size] = _FLYING

    def end(self, function: int) -> None:
        """The call has ended."""
        self._slots[function * _SLOT.size] = _LANDED

    def close(self) -> None:
        """The partition has ended: there is nothing to tell of it."""
        faulthandler.disable()
        self._told.close()
        self._slots.close()
        for file in (self._file, self._file.with_suffix(".lines")):
            file.unlink(missing_ok=True)


def _digest(given: Any) -> int:
    with suppress(Exception):  # it need not be picklable
        return zlib.crc32(pickle.dumps(given))
    return -1
