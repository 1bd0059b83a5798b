"""Arrays of files, mapped; and pages of them, asked for before they are read.

A page that is not in memory stops whoever touches it until the disk has brought it, and the system brings megabytes around it that
nobody needs. Who knows beforehand which pages he will touch asks for all of them at once: then the disk brings them side by side.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bigdebug.store.ranges import spread

PAGE = mmap.PAGESIZE
_GAP = 4
"""Pages between two that are wanted which are brought along, to ask once."""


class Mapped(NamedTuple):
    """An array, and its pages if it is mapped."""

    values: NDArray[Any]
    pages: Pages | None


class Pages:
    """The pages of a mapped array, each asked for once. What was pushed out of memory since comes back as the system brings it."""

    def __init__(self, file: mmap.mmap, width: int) -> None:
        self._file = file
        self._width = width
        self._asked = np.zeros(-(-len(file) // PAGE), bool)

    def there(self) -> int:
        """Bytes that the file has now. Who touches a page that was cut off ends the process."""
        return self._file.size()

    def want(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> None:
        """Ask for the pages that have values from each of ``starts`` up to, not including, the one of ``stops`` beside it."""
        some = stops > starts
        first, last = starts[some] * self._width // PAGE, (stops[some] * self._width - 1) // PAGE
        if self._asked[first].all() and self._asked[last].all() and (last - first <= 1).all():
            return
        pages = np.sort(spread(first, last - first + 1))
        pages = pages[~self._asked[pages]]
        self._asked[pages] = True
        for run in np.split(pages, np.flatnonzero(np.diff(pages) > _GAP) + 1):
            if len(run):
                self._file.madvise(mmap.MADV_WILLNEED, int(run[0]) * PAGE, (int(run[-1]) - int(run[0]) + 1) * PAGE)


def mapped(path: Path, kind: np.dtype[Any], length: int, *, scattered: bool = False) -> Mapped:
    """The array in a file, read-only. Raises OSError, or ValueError where the file is shorter.

    ``scattered`` says that single values are looked up in it, here and there: the system brings their pages and no more, then.
    """
    if not length:
        return Mapped(np.zeros(0, kind), None)
    with path.open("rb") as file:
        held = mmap.mmap(file.fileno(), length * kind.itemsize, access=mmap.ACCESS_READ)
    if scattered:
        held.madvise(mmap.MADV_RANDOM)
    return Mapped(np.frombuffer(held, kind), Pages(held, kind.itemsize))
