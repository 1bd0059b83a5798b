"""Interrupting: the stop button at a chosen line of ours. A signal of the system comes at some moment; this one comes at each in turn."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Coming:
    """An interruption that comes when so many lines of bigdebug, or of a file of it, have been reached. ``where`` is the line that it came at.

    Not where a ``with`` begins or ends: Python looks for signals at calls and loops, so none comes between a lock and what it guards.
    """

    def __init__(self, after: int, file: str = "/bigdebug/") -> None:
        self.lines = 0
        self.where: str | None = None
        self._after = after
        self._file = file

    def entered(self, frame: FrameType, event: str, argument: object) -> Any:
        return self._seen if self._file in frame.f_code.co_filename else None

    def _seen(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "line" and not linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with "):
            self.lines += 1
            if self.lines > self._after and self.where is None:
                self.where = f"{frame.f_code.co_filename}:{frame.f_lineno}"
                raise KeyboardInterrupt
        return self._seen


@contextmanager
def interrupted(after: int, file: str = "/bigdebug/") -> Iterator[Coming]:
    """Within: a KeyboardInterrupt in this thread after so many lines, which ends this quietly."""
    coming = Coming(after, file)
    sys.settrace(coming.entered)
    try:
        yield coming
    except KeyboardInterrupt:
        if coming.where is None:
            raise
    finally:
        sys.settrace(None)
