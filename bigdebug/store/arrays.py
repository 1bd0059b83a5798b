"""Arrays of integers in files: mapped when they are first touched, and checked a page at a time, so that a few values of many cost little.

Behind the values stand the checksums (crc32) of their pages of 64 KiB; the checksum of those is kept by whoever lists the file.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bigdebug.errors import CorruptBlockError
from bigdebug.store.mapping import Mapped, mapped
from bigdebug.store.ranges import spread

Integers = npt.NDArray[Any]

_PAGE = 1 << 16
_KINDS = {kind: np.dtype(kind) for kind in ("<u1", "<u2", "<u4", "<u8", "<i8")}
_SUM = np.dtype("<u4")


@dataclass(frozen=True)
class Listed:
    """An array as a catalog lists it: its file, the kind of its integers, how many there are, and the checksum of the checksums of its pages."""

    file: str
    kind: str
    length: int
    checks: int

    def dump(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> Listed:
        """Raises ValueError for what no array can be."""
        made = cls(str(data["file"]), str(data["kind"]), int(data["length"]), int(data["checks"]))
        if made.kind not in _KINDS or made.length < 0:
            raise ValueError(f"there are no arrays of {made.length} integers {made.kind}")
        return made

    @property
    def bytes(self) -> int:
        """Bytes of the file."""
        size = self.length * _KINDS[self.kind].itemsize
        return size + -(-size // _PAGE) * _SUM.itemsize


def narrowest(values: Integers) -> Integers:
    """The same integers, none of which is negative, in the fewest bytes."""
    return values.astype(np.min_scalar_type(int(values.max()) if len(values) else 0))


def write_array(home: Path, file: str, values: Integers) -> Listed:
    """Write an array into a file below ``home``; what a catalog lists of it."""
    values = values.astype(values.dtype.newbyteorder("<"), copy=False)
    raw = memoryview(np.ascontiguousarray(values).view(np.uint8).data)
    sums = np.array([zlib.crc32(raw[at : at + _PAGE]) for at in range(0, len(raw), _PAGE)], _SUM)
    path = home / file
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as out:
        out.write(raw)
        out.write(sums.tobytes())
    return Listed(file, f"<{values.dtype.kind}{values.dtype.itemsize}", len(values), zlib.crc32(sums.tobytes()))


class StoredArray:
    """An array in a file. ``find`` gives the path of a file by its name, or raises. Raises CorruptBlockError where a page is not the one that was written."""

    def __init__(self, listed: Listed, find: Callable[[str], Path]) -> None:
        self.listed = listed
        self._find = find
        self._kind = _KINDS[listed.kind]

    def __len__(self) -> int:
        return self.listed.length

    def part(self, start: int, stop: int) -> Integers:
        """The values from ``start`` up to ``stop``."""
        self._look_at(np.array([start]), np.array([stop]))
        return self._mapped.values[start:stop]

    def parts(self, starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64]) -> Integers:
        """The values from each of ``starts`` up to the one of ``stops`` beside it, one part behind the other."""
        self._look_at(starts, stops)
        return np.asarray(self._mapped.values[spread(starts, stops - starts)])

    def take(self, places: npt.NDArray[np.int64]) -> Integers:
        """The values at these places."""
        self._look_at(places, places + 1)
        return np.asarray(self._mapped.values[places])

    @cached_property
    def _mapped(self) -> Mapped:
        path = self._find(self.listed.file)
        if path.stat().st_size != self.listed.bytes:
            raise CorruptBlockError(f"The file {path} has {path.stat().st_size} bytes instead of {self.listed.bytes}", remedy="Restore the file, or save the session again.")
        return mapped(path, self._kind, self.listed.length, scattered=True)

    @cached_property
    def _sums(self) -> Integers:
        path, size = self._find(self.listed.file), self.listed.length * self._kind.itemsize
        with path.open("rb") as file:
            file.seek(size)
            data = file.read()
        if zlib.crc32(data) != self.listed.checks:
            raise self._altered()
        return np.frombuffer(data, _SUM)

    @cached_property
    def _looked_at(self) -> npt.NDArray[np.bool_]:
        return np.zeros(len(self._sums), bool)

    def _look_at(self, starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64]) -> None:
        """Check the pages of some values, each once."""
        some = stops > starts
        if not some.any():
            return
        width = self._kind.itemsize
        values, wanted = self._mapped
        first, last = starts[some] * width // _PAGE, (stops[some] * width - 1) // _PAGE
        pages = np.unique(spread(first, last - first + 1)) if (last > first).any() else np.unique(first)
        pages = pages[~self._looked_at[pages]]
        if not len(pages):
            return
        each = _PAGE // width
        if wanted is not None:
            wanted.want(pages * each, np.minimum((pages + 1) * each, len(values)))
        raw = memoryview(values.view(np.uint8).data)
        for page in pages.tolist():
            if zlib.crc32(raw[page * _PAGE : (page + 1) * _PAGE]) != self._sums[page]:
                raise self._altered()
        self._looked_at[pages] = True

    def _altered(self) -> CorruptBlockError:
        return CorruptBlockError(f"The file {self.listed.file} was altered: a checksum does not match", remedy="Restore the file, or save the session again.")
