"""Lines of local text files by position, read straight from the file: no Spark, and no second wait.

Lines are cut as Hadoop's LineRecordReader does: at \\n, \\r\\n and \\r, a line belonging to the split in which it
starts (one that starts where a split ends still belongs to it).
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bigdebug.trace.origins import Split
from bigdebug.trace.positions import Positions

_COMPRESSED = (".gz", ".bz2", ".deflate", ".snappy", ".lz4", ".zst", ".zstd", ".lzo", ".xz")
_BOM = b"\xef\xbb\xbf"


def local_path(uri: str) -> str | None:
    """The path of a file on this machine, or None for a file elsewhere. Hadoop writes names as they are, unquoted."""
    scheme, colon, path = uri.partition(":")
    if not colon or "/" in scheme:
        return uri
    return re.sub("^//[^/]*", "", path) if scheme == "file" else None


@dataclass
class TextLines:
    """Reads lines of the splits of a text source; keeps where lines start, eight bytes for each."""

    splits: Sequence[Split]
    _bounds: dict[int, tuple[Positions, Positions]] = field(default_factory=dict)

    def read(self, partition: int, positions: Positions, expected: int | None) -> list[str] | None:
        """The lines at ``positions`` of one split.

        None if this cannot be done exactly as Spark would: a file elsewhere or compressed, a split that does not
        hold ``expected`` lines, or bytes that are not UTF-8.
        """
        split = self.splits[partition]
        path = local_path(split.path)
        if path is None or path.lower().endswith(_COMPRESSED) or not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            if not len(positions):
                return []
            if not os.path.getsize(path):
                return None
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                if partition not in self._bounds:
                    self._bounds[partition] = _lines(data, split)
                starts, ends = self._bounds[partition]
                if positions[-1] >= len(starts) or (expected is not None and expected != len(starts)):
                    return None
                try:
                    lines = [
                        data[s:e].decode("utf-8")
                        for s, e in zip(starts[positions].tolist(), ends[positions].tolist())
                    ]
                except UnicodeDecodeError:
                    return None
                bom = len(starts) and starts[0] == 0 and positions[0] == 0 and data[:3] == _BOM
        return [lines[0][1:], *lines[1:]] if bom else lines


def _lines(file: mmap.mmap, split: Split) -> tuple[Positions, Positions]:
    """First and one past the last byte of each line of a split, without its terminator."""
    data = np.frombuffer(file, dtype=np.uint8)
    size = len(data)
    stop = min(size, split.start + split.length)
    # The last line may reach beyond the split, as far as the next terminator.
    newline = file.find(b"\n", stop)
    reach = newline + 1 or size
    reach = file.find(b"\r", stop, reach) + 1 or reach
    breaks = breaks_of(data[split.start : reach]) + split.start
    if len(breaks) and data[breaks[-1]] == 13 and reach < size and data[breaks[-1] + 1] == 10:
        breaks[-1] += 1
    # A line starts behind each break, and ends at the next one, or with the file.
    first = 1 if split.start == 0 and size else 0
    inner = int(np.searchsorted(breaks, min(stop, size - 1)))
    starts = np.concatenate((np.zeros(first, np.int64), breaks[:inner] + 1))
    ends = np.append(breaks, size)[1 - first : 1 - first + len(starts)]
    if file.find(b"\r", split.start, reach) < 0:
        return starts, ends
    some = np.flatnonzero((ends > starts) & (ends < size))
    crlf = some[(data[ends[some]] == 10) & (data[ends[some] - 1] == 13)]
    ends[crlf] -= 1
    return starts, ends


def breaks_of(data: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> Positions:
    """The last byte of each line terminator: \\n, \\r\\n, or \\r alone; a \\r at the very end is taken for one."""
    newline = data == 10
    returns = np.flatnonzero(data == 13)
    if not len(returns):
        return np.flatnonzero(newline).astype(np.int64)
    lone = returns[~newline[np.minimum(returns + 1, len(data) - 1)] | (returns + 1 == len(data))]
    return np.sort(np.concatenate((np.flatnonzero(newline), lone))).astype(np.int64)
