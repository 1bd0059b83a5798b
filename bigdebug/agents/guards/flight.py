"""Flight: which call of the user's code is in progress, in a small file that outlives the process that ends in it.

A worker that segfaults, exits or is killed raises nothing. The next one that runs the partition finds the call in the file, and
raises WorkerEnded in its place; as it must be the same call, the file also has a digest of what it was given.
"""

from __future__ import annotations

import faulthandler
import json
import mmap
import os
import pickle
import re
import struct
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from bigdebug.agents.guards.crash import Line, raised_at

_CALL = struct.Struct("<qqqq")
"""Whether a call is in progress, of which function, which one of its calls, and the digest of what it was given."""

_FRAME = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+) in (?P<function>.*)$', re.MULTILINE)
_REASON = re.compile(r"^Fatal Python error: (?P<reason>.*)$", re.MULTILINE)


ENDED = "WorkerEnded"
"""The name under which it is told."""


class WorkerEnded(Exception):
    """The process ended while it was in a call. ``told`` is what Python's fault handler wrote last."""

    def __init__(self, told: str) -> None:
        reason = _REASON.search(told)
        how = reason["reason"] if reason else "it exited, was killed, or ran out of memory"
        super().__init__(f"the Python worker ended here: {how}")
        lines = [Line(found["file"], int(found["line"]), found["function"], "") for found in _FRAME.finditer(told)]
        self.raised = raised_at(ENDED, str(self), lines[::-1])


class OrderChangedError(Exception):
    """A partition gives its records in another order than when a worker ended in it."""


class Flight:
    """The calls of one task. ``path`` is of a file of this machine, or of one that it shares with the next worker's."""

    def __init__(self, path: str) -> None:
        self._ended = Path(f"{path}.ended")
        self._lines = Path(f"{path}.lines")
        self._functions = 0
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a+b") as file:
            if os.fstat(file.fileno()).st_size < _CALL.size:
                file.truncate(_CALL.size)
            self._call = mmap.mmap(file.fileno(), _CALL.size)
        self._note_ended()
        known = [json.loads(line) for line in self._ended.read_text().splitlines()] if self._ended.exists() else []
        self._known = {(function, call): (digest, told) for function, call, digest, told in known}
        self._told = self._lines.open("w")
        faulthandler.enable(self._told, all_threads=False)

    def over(self, function: Callable[..., Any], whole: Callable[[Any], Any] = lambda given: given) -> Callable[..., Any]:
        """The function, each call of which is noted until the ``whole`` of what it gives is there."""
        number, calls = self.function(), 0

        def flown(*given: Any) -> Any:
            nonlocal calls
            calls += 1
            self.begin(number, calls, given)
            made = whole(function(*given))
            self.end()
            return made

        return flown

    def function(self) -> int:
        """A number for a function, the same in each task that runs the partition."""
        self._functions += 1
        return self._functions

    def begin(self, function: int, call: int, given: Any) -> None:
        """A call begins. Raises WorkerEnded if a worker ended in it."""
        digest = _digest(given)
        _CALL.pack_into(self._call, 0, 1, function, call, digest)
        if (function, call) in self._known:
            self.end()
            then, told = self._known.pop((function, call))
            if then != digest:
                raise OrderChangedError("records came in another order when the partition was run again")
            raise WorkerEnded(told)

    def end(self) -> None:
        """The call has ended."""
        _CALL.pack_into(self._call, 0, 0, 0, 0, 0)

    def close(self) -> None:
        """The partition has ended."""
        self.end()
        faulthandler.disable()
        self._told.close()
        self._call.close()

    def _note_ended(self) -> None:
        flying, *call = _CALL.unpack_from(self._call, 0)
        if flying:
            told = self._lines.read_text(errors="replace") if self._lines.exists() else ""
            with self._ended.open("a") as file:
                file.write(json.dumps([*call, told]) + "\n")
            self.end()


def calls_ended(folder: Path) -> int:
    """In how many calls workers have ended whose files are in a directory."""
    noted = sum(len(file.read_text().splitlines()) for file in folder.glob("*.ended"))
    return noted + sum(int(_CALL.unpack_from(file.read_bytes(), 0)[0]) for file in folder.iterdir() if not file.suffix)


def _digest(given: Any) -> int:
    with suppress(Exception):  # it need not be picklable
        return zlib.crc32(pickle.dumps(given))
    return -1
