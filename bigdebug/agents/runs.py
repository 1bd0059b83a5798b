"""Runs: a set of numbers as the stretches that it is made of, read from roaring's portable bytes where nothing else reads them.

Executors have no roaring, and sets that a search asks about are few stretches of a million numbers: some ten bytes.
"""

from __future__ import annotations

from struct import Struct, unpack_from

import numpy as np
import numpy.typing as npt

Runs = npt.NDArray[np.int64]
"""Stretches, a row for each: the first number of it and the one behind the last, ascending, apart from each other."""

_COUNT, _SHORT = Struct("<I"), Struct("<H")
_WITH_RUNS, _WITHOUT = 12347, 12346
_FEW = 4
"""With fewer containers, and runs among them, their offsets are left out."""

_MOST_LISTED = 4096
"""More numbers than these a container holds as bits."""


def runs_of(written: bytes) -> Runs:
    """The runs of a set that is written in roaring's portable format (roaringbitmap.org, RoaringFormatSpec)."""
    (first,) = _COUNT.unpack_from(written)
    if first & 0xFFFF == _WITH_RUNS:
        size = (first >> 16) + 1
        at = 4 + (size + 7) // 8
        as_runs = [written[4 + number // 8] >> number % 8 & 1 for number in range(size)]
        offsets = size >= _FEW
    else:
        assert first == _WITHOUT, f"no roaring bitmap begins with {first}"
        (size,) = _COUNT.unpack_from(written, 4)
        at, as_runs, offsets = 8, [0] * size, True
    heads = unpack_from(f"<{2 * size}H", written, at)
    at += 8 * size if offsets else 4 * size
    found: list[Runs] = []
    for number, is_runs in enumerate(as_runs):
        runs, at = _container(written, at, heads[2 * number + 1] + 1, bool(is_runs))
        found.append(runs + (heads[2 * number] << 16))
    return found[0] if len(found) == 1 else _joined(np.concatenate(found)) if found else np.empty((0, 2), dtype=np.int64)


def numbers_of(runs: Runs) -> npt.NDArray[np.int64]:
    """The numbers of a set, ascending."""
    lengths = runs[:, 1] - runs[:, 0]
    shifts = np.repeat(runs[:, 0] - np.cumsum(lengths) + lengths, lengths)
    numbers: npt.NDArray[np.int64] = np.arange(len(shifts), dtype=np.int64) + shifts
    return numbers


def runs_among(numbers: npt.NDArray[np.int64]) -> Runs:
    """The runs of numbers that ascend."""
    if not len(numbers):
        return np.empty((0, 2), dtype=np.int64)
    breaks = np.flatnonzero(np.diff(numbers) != 1)
    return np.stack((numbers[np.concatenate(([0], breaks + 1))], numbers[np.concatenate((breaks, [-1]))] + 1), axis=1)


def _container(written: bytes, at: int, held: int, is_runs: bool) -> tuple[Runs, int]:
    """The runs in a container that holds so many numbers, and where it ends."""
    if is_runs:
        (number,) = _SHORT.unpack_from(written, at)
        pairs = np.frombuffer(written, np.uint16, 2 * number, at + 2).astype(np.int64).reshape(-1, 2)
        pairs[:, 1] += pairs[:, 0] + 1  # it is written as the last number less the first one
        return pairs, at + 2 + 4 * number
    if held <= _MOST_LISTED:
        return runs_among(np.frombuffer(written, np.uint16, held, at).astype(np.int64)), at + 2 * held
    bits = np.unpackbits(np.frombuffer(written, np.uint8, 8192, at), bitorder="little")
    return runs_among(np.flatnonzero(bits)), at + 8192


def _joined(runs: Runs) -> Runs:
    """The same numbers in as few runs as there can be: containers end where numbers go on."""
    apart = np.concatenate(([True], runs[1:, 0] != runs[:-1, 1]))
    ends = np.concatenate((apart[1:], [True]))
    return np.stack((runs[apart, 0], runs[ends, 1]), axis=1)
