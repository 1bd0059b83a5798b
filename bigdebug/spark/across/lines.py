"""Lines: which lines of a text file are which records of the partition that was saved to it. A record with an end of line in it is several."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from bigdebug.errors import NondeterminismError, UntraceableError
from bigdebug.store.ranges import spread
from bigdebug.trace.across.opened import pieces
from bigdebug.trace.positions import Positions, distinct, first

_ENDS = re.compile(r"\r\n|\r|\n")


class Lines:
    """The lines of one file. ``records`` gives the records of the partition, which may take a job: it is asked only where a record has several lines."""

    def __init__(self, path: str, there: bool, size: int, records: Callable[[], Sequence[Any]] | None) -> None:
        """``size`` is the number of records. Reads the file once, if it is ``there`` as it was written. ``records`` is None where it is not known how Spark
        wrote them.
        """
        self._size = size
        self._starts: Positions | None = None
        """The first line of each record, and the number of all lines; None if each is a line."""
        try:
            lines = counted(path) if there else -1
        except UntraceableError:  # compressed otherwise than we can read, or elsewhere
            lines = -1
        if lines == size:
            return
        if records is None:
            raise UntraceableError(
                f"A file has {lines} lines for {size} records, and which are whose is not known" if lines >= 0 else "The lines of a file cannot be counted here",
                value=path, remedy="Save texts without ends of lines, by saveAsTextFile.",
            )
        self._starts = np.concatenate(([0], np.cumsum([lines_of(record) for record in records()], dtype=np.int64)))
        if lines >= 0 and self._starts[-1] != lines:
            raise NondeterminismError(f"A file has {lines} lines, and its records are {self._starts[-1]} lines now", value=path, remedy="Save the RDD again under capture.")

    def records(self, lines: Positions) -> Positions:
        """The records that have these lines; lines beyond the last are no record's."""
        if self._starts is None:
            return first(lines, self._size)
        within = first(lines, int(self._starts[-1]))
        return distinct(np.searchsorted(self._starts, within, side="right") - 1)

    def owners(self) -> Positions:
        """The record of each line."""
        every = np.arange(self._size, dtype=np.int64)
        return every if self._starts is None else np.repeat(every, np.diff(self._starts))

    def lines(self, records: Positions) -> Positions:
        """The lines of these records."""
        if self._starts is None:
            return records
        return spread(self._starts[records], np.diff(self._starts)[records])


def counted(path: str) -> int:
    """How many lines a file has, as \\n, \\r\\n or \\r ends them. Raises UntraceableError for one that cannot be read here."""
    return _counted(pieces(path, "utf-8"))


def _counted(pieces: Iterable[bytes]) -> int:
    lines, last = 0, b""
    for piece in pieces:
        lines += piece.count(b"\n") + piece.count(b"\r") - piece.count(b"\r\n") - (last == b"\r" and piece.startswith(b"\n"))
        last = piece[-1:]
    return lines + (last not in (b"", b"\n", b"\r"))


def lines_of(record: Any) -> int:
    """How many lines saveAsTextFile writes for a record: its text, and the \\n behind it."""
    text = record.decode("latin-1") if isinstance(record, bytes) else record if isinstance(record, str) else str(record)
    ends = text.count("\n")
    if "\r" not in text:
        return 1 + ends
    return len(_ENDS.findall(text + "\n"))
