"""Arrays of integers, read by their places: in memory, or in files that are mapped and checked a page at a time, so that a few values of many cost little."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bigdebug.store.pages import CheckedFile, Checksums, checked_size
from bigdebug.store.paths import made
from bigdebug.store.ranges import spread

Integers = npt.NDArray[Any]
Places = npt.NDArray[np.int64]

_PAGE = 1 << 16
_KINDS = {kind: np.dtype(kind) for kind in ("<u1", "<u2", "<u4", "<u8", "<i8")}
_LONG = 64
"""Values of a part, in the mean, from which on parts are copied one by one."""


class Array(Protocol):
    """Integers that are read by their places."""

    def __len__(self) -> int: ...

    def whole(self) -> Integers:
        """All values."""
        ...

    def part(self, start: int, stop: int) -> Integers:
        """The values from ``start`` up to ``stop``."""
        ...

    def parts(self, starts: Places, stops: Places) -> Integers:
        """The values from each of ``starts`` up to the one of ``stops`` beside it, one part behind the other."""
        ...

    def take(self, places: Places) -> Integers:
        """The values at these places."""
        ...

    def search(self, wanted: Integers) -> Places:
        """How many values, which ascend, are smaller than each that is wanted."""
        ...


@dataclass(frozen=True, eq=False)
class InMemory:
    """An array in memory."""

    values: Integers

    def __len__(self) -> int:
        return len(self.values)

    def whole(self) -> Integers:
        return self.values

    def part(self, start: int, stop: int) -> Integers:
        return self.values[start:stop]

    def parts(self, starts: Places, stops: Places) -> Integers:
        return _parts(self.values, starts, stops)

    def take(self, places: Places) -> Integers:
        return np.asarray(self.values[places])

    def search(self, wanted: Integers) -> Places:
        return np.searchsorted(self.values, wanted)


@dataclass(frozen=True)
class Listed:
    """An array as a catalog lists it: its file, the kind of its integers, how many there are, and the checksum of the checksums of its pages.

    ``page`` is how many bytes these have; a catalog does not tell, for it is the same in all of a format.
    """

    file: str
    kind: str
    length: int
    checks: int
    page: int = _PAGE

    def dump(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "page"}

    @classmethod
    def load(cls, data: Mapping[str, Any], page: int = _PAGE) -> Listed:
        """Raises ValueError for what no array can be."""
        made = cls(str(data["file"]), str(data["kind"]), int(data["length"]), int(data["checks"]), page)
        if made.kind not in _KINDS or made.length < 0:
            raise ValueError(f"there are no arrays of {made.length} integers {made.kind}")
        return made

    @property
    def size(self) -> int:
        """Bytes of the integers."""
        return self.length * _KINDS[self.kind].itemsize

    @property
    def bytes(self) -> int:
        """Bytes of the file."""
        return checked_size(self.size, self.page)


def narrowest(values: Integers) -> Integers:
    """The same integers, none of which is negative, in the fewest bytes; the very array if they are."""
    return values.astype(np.min_scalar_type(int(values.max()) if len(values) else 0), copy=False)


def kind_of(dtype: np.dtype[Any]) -> str:
    """What a catalog calls integers of this type."""
    return f"<{dtype.kind}{dtype.itemsize}"


def write_array(home: Path, file: str, values: Integers) -> Listed:
    """Write an array into a file below ``home``; what a catalog lists of it."""
    values = values.astype(values.dtype.newbyteorder("<"), copy=False)
    raw = memoryview(np.ascontiguousarray(values).view(np.uint8).data)
    checksums = Checksums(_PAGE)
    checksums.add(raw)
    sums = checksums.data()
    path = home / file
    made(path.parent)
    with path.open("wb") as out:
        out.write(raw)
        out.write(sums)
    return Listed(file, kind_of(values.dtype), len(values), zlib.crc32(sums))


class StoredArray:
    """An array in a file. ``find`` gives the path of a file by its name, or raises. Raises CorruptBlockError where a page is not the one that was written,
    and says what to do by ``remedy``.
    """

    def __init__(self, listed: Listed, find: Callable[[str], Path], remedy: str = "Restore the file, or save the session again.") -> None:
        self.listed = listed
        self._find = find
        self._remedy = remedy
        self._kind = _KINDS[listed.kind]
        self._shift = (listed.page // self._kind.itemsize).bit_length() - 1

    def __len__(self) -> int:
        return self.listed.length

    def opened(self) -> StoredArray:
        """Itself, with its file mapped: it stays that file, whatever takes its place."""
        _ = self._values
        return self

    def whole(self) -> Integers:
        return self.part(0, len(self))

    def part(self, start: int, stop: int) -> Integers:
        self._check(start, stop)
        if stop > start:
            self._file.look_along(start >> self._shift, (stop - 1) >> self._shift)
        return self._values[start:stop]

    def parts(self, starts: Places, stops: Places) -> Integers:
        if len(starts) == 1:
            return self.part(int(starts[0]), int(stops[0])).copy()
        some = stops > starts
        if not some.all():
            starts, stops = starts[some], stops[some]
        if len(starts):
            self._check(int(np.minimum.reduce(starts)), int(np.maximum.reduce(stops)))
        self._file.look_at(starts >> self._shift, (stops - 1) >> self._shift)
        return _parts(self._values, starts, stops)

    def take(self, places: Places) -> Integers:
        if len(places) == 1:
            return self.part(int(places[0]), int(places[0]) + 1).copy()
        if len(places) and np.minimum.reduce(places) < 0:  # those beyond the end numpy refuses
            raise IndexError(f"there are no values before the first: {int(places.min())}")
        return self._take(places)

    def _take(self, places: Places) -> Integers:
        pages = places >> self._shift
        self._file.look_at(pages, pages)
        return np.asarray(self._values[places])

    def search(self, wanted: Integers) -> Places:
        """By bisection: numpy's own would read pages that nobody looked at."""
        found = np.zeros(len(wanted), np.int64)
        step = 1 << len(self).bit_length() >> 1
        while step:
            further = found + step
            there = further <= len(self)
            smaller = there & (self._take(np.minimum(further, len(self)) - 1) < wanted)
            found = np.where(smaller, further, found)
            step >>= 1
        return found

    def _check(self, start: int, stop: int) -> None:
        if start < 0 or stop > len(self):
            raise IndexError(f"there are {len(self)} values, and not those from {start} up to {stop}")

    @cached_property
    def _file(self) -> CheckedFile:
        return CheckedFile(self._find(self.listed.file), self.listed.size, self.listed.page, self.listed.checks, self._remedy)

    @cached_property
    def _values(self) -> Integers:
        return self._file.values(self._kind)


def _parts(values: Integers, starts: Places, stops: Places) -> Integers:
    counts = stops - starts
    if int(counts.sum()) <= _LONG * len(starts):
        return np.asarray(values[spread(starts, counts)])
    return np.concatenate([values[start:stop] for start, stop in zip(starts.tolist(), stops.tolist())])
