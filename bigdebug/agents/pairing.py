"""Pairing: which inputs belong to the outputs of a function that reads an iterator as it likes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import compress, count
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bigdebug.agents.notes import CHUNK, Column

Positions = npt.NDArray[np.int64]


class Jumps:
    """Where ticks of a clock are not those that were expected. Of the others nothing is noted."""

    def __init__(self) -> None:
        self._noted = Column()
        self._room = CHUNK

    def __len__(self) -> int:
        return len(self._noted) // 2

    def note(self, expected: int, had: int) -> int:
        """Gives what it had."""
        self._noted.append(expected)
        self._noted.append(had)
        self._room -= 1
        if not self._room:
            self._noted.settle()
            self._room = CHUNK
        return had

    def both(self) -> tuple[Positions, Positions]:
        """What was expected at each, and what it had."""
        due, had = self._noted.array().astype(np.int64).reshape(-1, 2).T
        return due, had


class Pairing(NamedTuple):
    """The outputs of a function over an iterator, how many inputs and outputs have passed so far, and how many inputs
    had been read for each output."""

    records: Iterator[Any]
    inputs: Callable[[], int]
    outputs: Callable[[], int]
    reads: Callable[[], Positions]


def pairing(function: Callable[[Iterator[Any]], Iterable[Any]], records: Iterable[Any]) -> Pairing:
    """Applies ``function`` to ``records`` and pairs both sides: what had been read for an output, is what had been when whoever had it asked for the next one.

    One clock ticks at each input, and whenever an output is asked for. So the tick at which the next one was, less those of all askings, is what had
    been read for an output, also by whoever had it: it may be one of ``groupby``'s groups, which reads on itself. While an output follows each input the clock is
    two further on each time, and nothing is noted at all. Who reads on of what was given before when nothing is asked for any more, may read it through any output.
    """
    clock = count(1)
    given = iter(function(compress(records, clock)))
    jumps = Jumps()
    expected = asked = -1
    read: int | None = None
    """How many inputs had been when the function had ended, or raised something: for the last asking there is no output then."""

    def askings() -> int:
        return int(_runs(jumps, -1, expected)[1].sum()) - 1

    def outputs() -> int:
        return askings() - (read is not None)

    def inputs() -> int:
        return _ticked(clock) - askings() - (asked != expected)

    def reads() -> Positions:
        every = inputs()
        found = _reads(*_runs(jumps, -1, expected))
        if read is None:
            last = every if asked == expected else asked - askings() - 1
            return np.append(found, last)[1:]
        return found[1:] if read == every else np.full(len(found) - 1, every)

    def passing() -> Iterator[Any]:
        nonlocal expected, asked, read
        tick = clock.__next__
        asked = tick()
        try:
            for record in given:
                expected += 2
                if asked != expected:
                    expected = jumps.note(expected, asked)
                yield record
                asked = tick()
        finally:
            if asked != expected:  # nobody has been given anything since
                expected += 2
                if asked != expected:
                    expected = jumps.note(expected, asked)
                read = inputs()

    return Pairing(passing(), inputs, outputs, reads)


def selecting(keeps: Callable[[Any], Any], records: Iterable[Any]) -> Pairing:
    """The same of a filter, which goes on behind a record that it has raised something on, as Python's does. What it gives is what it read last, and nobody reads on through that: the clock
    ticks when it is given.
    """
    clock = count(1)
    jumps = Jumps()
    expected = 0

    def outputs() -> int:
        return int(_runs(jumps, 0, expected)[1].sum()) - 1

    def inputs() -> int:
        return _ticked(clock) - outputs()

    def reads() -> Positions:
        return _reads(*_runs(jumps, 0, expected))

    def passed(record: Any, tick: int) -> Any:
        nonlocal expected
        expected += 2
        if tick != expected:
            expected = jumps.note(expected, tick)
        return record

    return Pairing(map(passed, filter(keeps, compress(records, clock)), clock), inputs, outputs, reads)


class Reads:
    """How many inputs had been read, when the next one was asked for, for each output of a function that is called again and again, each time on what it is given
    again and on what comes behind. Outputs that follow an input each are not noted.
    """

    def __init__(self) -> None:
        self._jumps = Jumps()
        self._calls: list[tuple[int, int, int, int, int | None]] = []
        self._call: Callable[[], tuple[int, int, int, int | None]] = lambda: (0, 0, 1, None)
        self._over = 0
        self._read: Callable[[], int] | None = None

    def jump(self, expected: int, read: int) -> None:
        """An output of the present call, for which it had read otherwise than expected."""
        self._jumps.note(expected, read)

    def begin(self, call: Callable[[], tuple[int, int, int, int | None]]) -> None:
        """A call begins, of which ``call`` tells how many inputs had come before, how many of all it is given again, how many of its own are
        expected to have been read for its next output, and how many are while somebody has that; None if nobody has.
        """
        self._call = call

    def end(self) -> None:
        """The call has ended."""
        self._calls.append((len(self._jumps), *self._call()))
        self._call = lambda: (0, 0, 1, None)

    def over(self, read: Callable[[], int]) -> None:
        """So has the function. ``read`` tells how many the last call has read, which may be more by the time of a question: through any of its outputs."""
        self._over, self._read = read(), read

    def array(self) -> Positions:
        due, had = self._jumps.both()
        found, done = [np.zeros(0, np.int64)], 0
        late = self._read() if self._read is not None else 0
        for number, (jumps, came, again, expected, held) in enumerate([*self._calls, (len(self._jumps), *self._call())], 1):
            these = slice(done, jumps)
            done = these.stop
            starts = np.append(1, had[these])
            sizes = np.append(due[these], expected) - starts
            read = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
            if late > self._over and number == len(self._calls):
                read[:] = late
            found.append(came + np.maximum((read if held is None else np.append(read, held)) - again, 0))
        return np.concatenate(found)


def _ticked(clock: count[int]) -> int:
    """How often a clock has ticked. To ask for its next tick would move it: what it shows is read."""
    return int(repr(clock)[len("count("):-1]) - 1


def _runs(jumps: Jumps, first: int, expected: int) -> tuple[Positions, Positions]:
    """Runs of ticks, each two behind the one before it: the first one, and how many they are.

    A jump is the tick that was expected and the one that it was. The first run begins with one that is none.
    """
    due, had = jumps.both()
    starts = np.append(first, had)
    return starts, (np.append(due, expected + 2) - starts) // 2


def _reads(starts: Positions, sizes: Positions) -> Positions:
    """What had been read at each tick: that, less the ticks of its side up to it."""
    reads = np.repeat(starts - 2 * (np.cumsum(sizes) - sizes), sizes)
    reads += np.arange(len(reads))
    return reads[1:]
