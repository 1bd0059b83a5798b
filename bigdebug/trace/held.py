"""Held positions: the records of a step of a trace, by partition. Those that follow one another take two integers; of all others some megabytes stay in
memory, and the rest is in a file without a name, which goes when nobody holds it.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from typing import IO, Any, NamedTuple, TypeVar

import numpy as np

from bigdebug.errors import StoreError
from bigdebug.trace.positions import Positions, distinct

MOST_BYTES = 16 << 20
"""Bytes of positions that one mapping keeps in memory."""

K = TypeVar("K", bound=Hashable)


class _Written(NamedTuple):
    """Where positions are in the file: as unsigned integers of ``width`` bytes."""

    offset: int
    records: int
    width: int


class Held(Mapping[K, Positions]):
    """Positions by partition, or by whatever names them; each look makes an array. Nothing is put in any more when others see it.

    Raises StoreError where the temporary directory has no room for what does not fit into memory.
    """

    def __init__(self) -> None:
        self._parts: dict[K, range | Positions | _Written] = {}
        self._here = 0
        self._file: IO[bytes] | None = None

    def put(self, key: K, positions: Positions) -> None:
        """Keep positions under a name; those that were there before are forgotten."""
        if not len(positions) or int(positions[-1]) - int(positions[0]) == len(positions) - 1:  # they are sorted, and no two alike
            self._parts[key] = range(int(positions[0]), int(positions[-1]) + 1) if len(positions) else range(0)
            return
        self._parts[key] = positions
        self._here += positions.nbytes
        if self._here > MOST_BYTES:
            self._put_aside()

    def put_first(self, key: K, count: int) -> None:
        """Keep the positions of the first so many records."""
        self._parts[key] = range(count)

    def size(self, key: K) -> int:
        """How many positions there are under a name. Makes no array."""
        return _size(self._parts[key]) if key in self._parts else 0

    def __getitem__(self, key: K) -> Positions:
        part = self._parts[key]
        if isinstance(part, range):
            return np.arange(part.start, part.stop, dtype=np.int64)
        return self._read(part) if isinstance(part, _Written) else part

    def __iter__(self) -> Iterator[K]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __contains__(self, key: object) -> bool:
        return key in self._parts

    def __reduce__(self) -> Any:
        return dict, (dict(self),)

    def _put_aside(self) -> None:
        """Write what is in memory behind what has been written."""
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="bigdebug-")  # open as long as the mapping lives
                weakref.finalize(self, _closed, self._file)
            self._file.seek(0, os.SEEK_END)
            for key, part in self._parts.items():
                if not isinstance(part, range | _Written):
                    small = part.astype(np.min_scalar_type(int(part[-1])))
                    offset = self._file.tell()
                    self._file.write(small.tobytes())
                    self._parts[key] = _Written(offset, len(small), small.itemsize)
            self._file.flush()
        except OSError as problem:
            raise _no_room(problem) from problem
        self._here = 0

    def _read(self, part: _Written) -> Positions:
        assert self._file is not None
        size = part.records * part.width
        data = os.pread(self._file.fileno(), size, part.offset)
        while len(data) < size:  # a system gives two gigabytes at a time
            data += (more := os.pread(self._file.fileno(), size - len(data), part.offset + len(data)))
            if not more:
                raise _no_room(OSError("the file is shorter than it was"))
        return np.frombuffer(data, f"=u{part.width}").astype(np.int64)


def held(parts: Iterable[tuple[K, Positions]]) -> Held[K]:
    """All of these, each name once."""
    found: Held[K] = Held()
    for key, positions in parts:
        found.put(key, positions)
    return found


def gathered(parts: Iterable[tuple[K, Positions]]) -> Held[K]:
    """All of these, those under one name together; cheapest where they come one behind the other. Empty ones are left out."""
    found: Held[K] = Held()
    for key, several in groupby(parts, itemgetter(0)):
        together = _together(positions for _, positions in several)
        if together is not None:
            found.put(key, distinct(np.concatenate([found[key], together])) if key in found else together)
    return found


def _together(pieces: Iterable[Positions]) -> Positions | None:
    """All of these, each once; None if there are none. Little more is held meanwhile than twice the answer."""
    waiting: list[Positions] = []
    size, most = 0, MOST_BYTES
    for piece in pieces:
        if not len(piece) or (waiting and np.array_equal(piece, waiting[-1])):  # as where each left record meets the same right ones
            continue
        waiting.append(piece)
        size += piece.nbytes
        if size > most:
            waiting = [distinct(np.concatenate(waiting))]
            size, most = 0, max(MOST_BYTES, waiting[0].nbytes)
    if len(waiting) > 1:
        return distinct(np.concatenate(waiting))
    return waiting[0] if waiting else None


def _closed(file: IO[bytes]) -> None:
    with suppress(OSError):  # what the disk had no room for, which who wrote it has been told
        file.close()


def _size(part: range | Positions | _Written) -> int:
    return part.records if isinstance(part, _Written) else len(part)


def _no_room(problem: OSError) -> StoreError:
    return StoreError(
        f"The records of this trace do not fit into memory, and cannot be put aside: {problem}", value=tempfile.gettempdir(),
        remedy="Make room in the temporary directory, or name another one by TMPDIR before Python starts.",
    )
