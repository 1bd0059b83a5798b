"""Arrays that wait on disk while an index is built: in a file without a name, which is gone when its process is, whatever ends it."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Extent:
    """Where an array is in a spill file."""

    start: int
    dtype: np.dtype[Any]
    length: int

    def __len__(self) -> int:
        return self.length

    @property
    def bytes(self) -> int:
        return self.length * self.dtype.itemsize

    def part(self, start: int, stop: int) -> Extent:
        """Where its values from ``start`` up to ``stop`` are."""
        return Extent(self.start + start * self.dtype.itemsize, self.dtype, stop - start)


class Spill:
    """A file in ``folder`` that arrays are written behind one another into. Nothing of it is mapped, so what is read counts as memory
    only while somebody holds it. Raises OSError where the disk is full.
    """

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)
        self._end = 0

    def write(self, values: NDArray[Any]) -> Extent:
        """Writes the array and tells where it is."""
        values = np.ascontiguousarray(values)
        extent = Extent(self._end, values.dtype, len(values))
        left = memoryview(values.view(np.uint8).data) if len(values) else memoryview(b"")
        while left:
            done = os.pwrite(self._file.fileno(), left[: 1 << 30], self._end)
            self._end += done
            left = left[done:]
        return extent

    def read(self, extent: Extent, start: int = 0, stop: int | None = None) -> NDArray[Any]:
        """The values of an extent from ``start`` up to ``stop``."""
        stop = extent.length if stop is None else stop
        values = np.empty(max(stop - start, 0), extent.dtype)
        place, left = extent.start + start * extent.dtype.itemsize, memoryview(values.view(np.uint8).data)
        while left:
            read = os.preadv(self._file.fileno(), [left[: 1 << 30]], place)
            if not read:
                raise OSError("a spill file is shorter than what was written into it")
            place += read
            left = left[read:]
        return values

    def strided(self, extent: Extent, step: int) -> NDArray[Any]:
        """Every ``step``-th value of an extent, from the last of the first ``step`` on, and the very last."""
        places = np.unique(np.append(np.arange(step - 1, extent.length, step), max(extent.length - 1, 0)))
        return np.array([self.read(extent, place, place + 1)[0] for place in places.tolist() if extent.length], extent.dtype)

    @property
    def bytes(self) -> int:
        """Bytes written so far."""
        return self._end

    def close(self) -> None:
        """Gives the disk back."""
        self._file.close()
