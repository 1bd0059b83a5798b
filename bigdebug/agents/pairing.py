"""Pairing: which inputs belong to the outputs of a function that reads an iterator as it likes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, compress, count
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bigdebug.agents.notes import CHUNK, Column

Positions = npt.NDArray[np.int64]


class Pairing(NamedTuple):
    """The outputs of a function over an iterator, how many inputs and outputs have passed so far, and how many inputs
    had been read when whoever had an output asked for the next one."""

    records: Iterator[Any]
    inputs: Callable[[], int]
    outputs: Callable[[], int]
    reads: Callable[[], Positions]


_END = object()


def pairing(function: Callable[[Iterator[Any]], Iterable[Any]], records: Iterable[Any]) -> Pairing:
    """Applies ``function`` to ``records`` and pairs both sides.

    One clock ticks at each input, and whenever an output is asked for. So the tick at which the next one was, less those of all askings, is what had
    been read for an output, also by whoever had it: it may be one of ``groupby``'s groups, which reads on itself. While an output follows each input the clock is
    two further on each time, and nothing is noted at all. Who reads on of what was given before when nothing is asked for any more, may read it through any output.
    """
    clock = count(1)
    given = iter(function(compress(records, clock)))
    jumps = Column()
    expected, looks = -1, 0
    read: int | None = None
    """How many inputs had been when the function had ended."""

    def reads() -> Positions:
        every = inputs()
        found = np.append(_reads(*_runs(jumps, expected)), every) if read is None else _reads(*_runs(jumps, expected))
        return found[1:] if read is None or read == every else np.full(len(found) - 1, every)

    def outputs() -> int:
        return _asked() - (read is not None)

    def inputs() -> int:
        nonlocal looks
        looks += 1  # looking at the clock moves it
        return next(clock) - looks - _asked()

    def _asked() -> int:
        return int(_runs(jumps, expected)[1].sum()) - 1

    def passing() -> Iterator[Any]:
        nonlocal expected, read
        append, room, end = jumps.append, CHUNK, _END
        for asked, record in zip(clock, chain(given, (end,))):
            expected += 2
            if asked != expected:
                append(expected)
                append(asked)
                expected = asked
                room -= 1
                if not room:
                    jumps.settle()
                    room = CHUNK
            if record is end:
                read = inputs()
                return
            yield record

    return Pairing(passing(), inputs, outputs, reads)


class Reads:
    """How many inputs had been read, when the next one was asked for, for each output of a function that is called again and again, each time on what it is given
    again and on what comes behind. Outputs that follow an input each are not noted.
    """

    def __init__(self) -> None:
        self._jumps = Column()
        self._room = CHUNK
        self._calls: list[tuple[int, int, int, int, int | None]] = []
        self._call: Callable[[], tuple[int, int, int, int | None]] = lambda: (0, 0, 1, None)

    def jump(self, expected: int, read: int) -> None:
        """An output of the present call, at which it had read otherwise than expected."""
        self._jumps.append(expected)
        self._jumps.append(read)
        self._room -= 1
        if not self._room:
            self._jumps.settle()
            self._room = CHUNK

    def begin(self, call: Callable[[], tuple[int, int, int, int | None]]) -> None:
        """A call begins, of which ``call`` tells how many inputs had come before, how many of all it is given again, how many of its own are
        expected to have been read for its next output, and how many are while somebody has that; None if nobody has.
        """
        self._call = call

    def end(self) -> None:
        self._calls.append((len(self._jumps), *self._call()))
        self._call = lambda: (0, 0, 1, None)

    def array(self) -> Positions:
        due, had = self._jumps.array().astype(np.int64).reshape(-1, 2).T
        found, done = [np.zeros(0, np.int64)], 0
        for jumps, came, again, expected, held in [*self._calls, (len(self._jumps), *self._call())]:
            these = slice(done, jumps // 2)
            done = these.stop
            starts = np.append(1, had[these])
            sizes = np.append(due[these], expected) - starts
            read = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
            found.append(came + np.maximum((read if held is None else np.append(read, held)) - again, 0))
        return np.concatenate(found)


def _runs(jumps: Column, expected: int) -> tuple[Positions, Positions]:
    """Runs of askings, each two ticks after the one before it: the tick of the first one, and how many they are.

    A jump is the tick that was expected of an asking and the one that it had. The first run begins at an asking that
    is none, at tick -1.
    """
    due, had = jumps.array().astype(np.int64).reshape(-1, 2).T
    starts = np.append(-1, had)
    return starts, (np.append(due, expected + 2) - starts) // 2


def _reads(starts: Positions, sizes: Positions) -> Positions:
    """What had been read at each asking: its tick, less the askings up to it."""
    reads = np.repeat(starts - 2 * (np.cumsum(sizes) - sizes), sizes)
    reads += np.arange(len(reads))
    return reads[1:]
