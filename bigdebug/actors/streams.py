"""Streams: what stands in the place of those of the process while a function is tried: nobody hears it, and it takes nothing of what is typed or piped in."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from bigdebug.actors.barred import ASKS, TOLD

_SAYING = frozenset(("isatty", "readable", "writable", "seekable", "closed", "encoding", "errors", "newlines", "line_buffering", "write_through", "mode", "name"))
"""What a stream says of itself, of which nothing is taken."""


class _Standing:
    """What stands for a stream, and does otherwise where that is ``mine``."""

    def __init__(self, stream: Any, mine: Callable[[], bool]) -> None:
        self._stream = stream
        self._mine = mine

    def of(self, stream: Any) -> bool:
        """Whether it is that of a stream."""
        return self._stream is stream


class Muted(_Standing):
    """A stream, without what is written where it is to be silent."""

    def write(self, text: Any) -> Any:
        """How much was written, or what the stream says instead."""
        return len(text) if self._mine() else self._stream.write(text)

    def writelines(self, texts: Any) -> None:
        """One by one."""
        for text in texts:
            self.write(text)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._stream, name)
        return Muted(found, self._mine) if name == "buffer" and self._mine() else found


class Untaken(_Standing):
    """A stream that is read. Who is tried is stopped before he takes something of it: that is gone for the real call, and who waits for it waits for somebody who saw no question."""

    def __iter__(self) -> Iterator[Any]:
        return iter(self._asked())

    def __next__(self) -> Any:
        return next(self._asked())

    def __enter__(self) -> Any:
        return self._asked().__enter__()

    def __exit__(self, *raised: object) -> Any:
        return self._asked().__exit__(*raised)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream if name in _SAYING else self._asked(), name)

    def _asked(self) -> Any:
        if self._mine():
            sys.audit(TOLD, ASKS)
        return self._stream
