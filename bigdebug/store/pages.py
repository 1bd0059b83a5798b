"""Files whose pages are checked: behind their bytes stand the checksums (crc32) of their pages, and the checksum of these is kept by whoever lists the file.

A page is checked before it is first read, and no other with it: a few values of many cost little. A file that was cut is noticed at each question, and one that
was written at each that reads pages which nobody has read, or comes a moment later: then all are checked again.
"""

from __future__ import annotations

import os
import time
import zlib
from array import array
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bigdebug.errors import CorruptBlockError
from bigdebug.store.contained import reading
from bigdebug.store.mapping import mapped
from bigdebug.store.ranges import spread

_SUM = np.dtype("<u4")
_BYTE = np.dtype(np.uint8)
_MOMENT = 0.1
"""Seconds for which what was looked at is trusted: to ask the system costs as much as a small answer."""


def checked_size(size: int, page: int) -> int:
    """Bytes of a file that has ``size`` bytes in pages of ``page`` bytes, and their checksums."""
    return size + -(-size // page) * _SUM.itemsize


class Checksums:
    """The checksums of the pages of a file, made while its bytes are written, in pieces of any size. Four bytes for each page are held."""

    def __init__(self, page: int) -> None:
        self._page = page
        self._sums = array("I")
        self._last = self._filled = 0

    def add(self, data: memoryview) -> None:
        """The next bytes."""
        first = min(self._page - self._filled, len(data)) if self._filled else 0
        self._some(data[:first])
        whole = first + (len(data) - first) // self._page * self._page
        self._sums.extend(zlib.crc32(data[at : at + self._page]) for at in range(first, whole, self._page))
        self._some(data[whole:])

    def _some(self, data: memoryview) -> None:
        """Bytes of one page."""
        self._last, self._filled = zlib.crc32(data, self._last), self._filled + len(data)
        if self._filled == self._page:
            self._sums.append(self._last)
            self._last = self._filled = 0

    def data(self) -> bytes:
        """What stands behind the bytes of the file."""
        return np.array([*self._sums, *([self._last] if self._filled else [])], _SUM).tobytes()


class CheckedFile:
    """The bytes of a file, mapped as soon as this is made. Raises CorruptBlockError where its size, or a page, is not the one that was written."""

    def __init__(self, path: Path, size: int, page: int, checks: int, remedy: str) -> None:
        """``size`` is without the checksums, ``checks`` the checksum of these; ``remedy`` is told where something was altered."""
        whole = checked_size(size, page)
        self._path, self._size, self._page, self._checks, self._remedy = path, size, page, checks, remedy
        with reading(path):
            found = path.stat()
            self._check_size(found.st_size, whole)
            self._stamp, self._looked = _stamp(found), time.monotonic()
            self._bytes, self._mapped = mapped(path, _BYTE, whole, scattered=True)
        self._seen = bytearray(-(-size // page))
        self._flags: NDArray[np.bool_] = np.frombuffer(self._seen, bool)

    def values(self, kind: np.dtype[Any]) -> NDArray[Any]:
        """All that is in the file, whether it is checked or not."""
        return self._bytes[: self._size].view(kind)

    def look_along(self, first: int, last: int) -> None:
        """Check the pages from the first up to the last, each once."""
        self._check_there()
        if self._seen.find(0, first, last + 1) >= 0:
            self._check_stamp()
            self._look(np.arange(first, last + 1)[~self._flags[first : last + 1]])

    def look_at(self, first: NDArray[np.int64], last: NDArray[np.int64]) -> None:
        """Check the pages from each of ``first`` up to the one of ``last`` beside it, each once. Raises IndexError for one that there is not."""
        self._check_there()
        near = bool((last - first <= 1).all())
        if near and self._flags[first].all() and self._flags[last].all():
            return
        self._check_stamp()
        touched = np.zeros(len(self._flags), bool) if len(self._flags) < 16 * len(first) else None
        pages = np.concatenate([first, last]) if near else spread(first, last - first + 1)
        if touched is not None:
            touched[pages] = True
            self._look(np.flatnonzero(touched & ~self._flags))
        else:
            self._look(np.unique(pages[~self._flags[pages]]))

    def _look(self, pages: NDArray[np.int64]) -> None:
        """Check pages, which ascend, having asked for all of them."""
        if self._mapped is not None:
            self._mapped.want(pages * self._page, np.minimum((pages + 1) * self._page, self._size))
        raw = memoryview(self._bytes[: self._size].data)
        for page, wanted in zip(pages.tolist(), self._sums[pages].tolist()):
            if zlib.crc32(raw[page * self._page : (page + 1) * self._page]) != wanted:
                raise self._altered()
        self._flags[pages] = True

    @cached_property
    def _sums(self) -> NDArray[np.uint32]:
        if self._mapped is not None:
            self._mapped.want(np.array([self._size]), np.array([len(self._bytes)]))
        data = self._bytes[self._size :].tobytes()
        if zlib.crc32(data) != self._checks:
            raise self._altered()
        return np.frombuffer(data, _SUM)

    def _check_there(self) -> None:
        if self._mapped is not None:
            self._check_size(self._mapped.there(), len(self._bytes))
        if time.monotonic() - self._looked > _MOMENT:
            self._check_stamp()

    def _check_size(self, found: int, whole: int) -> None:
        if found != whole:
            raise CorruptBlockError(f"The file {self._path} has {found} bytes instead of {whole}", remedy=self._remedy)

    def _check_stamp(self) -> None:
        """Trust no page that was checked before the file was written again."""
        self._looked = time.monotonic()
        try:
            now = _stamp(self._path.stat())
        except OSError:  # it was removed: what is mapped stays as it is
            return
        if now != self._stamp and now[:2] == self._stamp[:2]:  # else another file has taken its place
            self._stamp = now
            self._flags[:] = False

    def _altered(self) -> CorruptBlockError:
        return CorruptBlockError(f"The file {self._path} was altered: a checksum does not match", remedy=self._remedy)


def _stamp(found: os.stat_result) -> tuple[int, int, int]:
    """Which file it is, and when it was written."""
    return found.st_dev, found.st_ino, found.st_mtime_ns
