"""Paired: the order of what a generator reads and gives, noted without a step of Python for each (paired capture, Newt 3.2)."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import count
from operator import not_
from typing import Any

import numpy as np

from bigdebug.actors.passed import passed
from bigdebug.trace.positions import Positions


class Paired:
    """One clock ticks at each input and at each output. The ticks of one side are kept, and the other side's follow from them.

    Both sides pass through iterators that are not Python's own code: some 25 ns for a record whose tick is not kept, some 70 ns and 8 bytes for one whose tick is.
    ``note_inputs`` keeps those of inputs, which is less where each gives several outputs.
    """

    def __init__(self, note_inputs: bool) -> None:
        self._clock = count(1)
        self._ticks = array("q")
        self._note_inputs = note_inputs
        self._total = -1
        self._noted = map(not_, map(self._ticks.append, self._clock))

    def reading(self, records: Any) -> Iterator[Any]:
        """The records, as the function reads them."""
        return passed(records, self._noted if self._note_inputs else self._clock)

    def given(self) -> int:
        """How many outputs there have been until now; for who noted inputs, how many of those."""
        return len(self._ticks)

    def giving(self, outputs: Any) -> Iterator[Any]:
        """Its outputs, as it gives them."""
        return passed(outputs, self._clock if self._note_inputs else self._noted)

    @property
    def passed(self) -> int:
        """How many have passed by now, of both sides. To ask the clock moves it: what it shows is read."""
        return int(repr(self._clock)[len("count("):-1]) - 1

    def stop(self) -> None:
        """Nothing passes any more. Questions come afterwards."""
        if self._total < 0:
            self._total = next(self._clock) - 1

    @property
    def inputs(self) -> int:
        """How many have been read; before it stopped, for who noted inputs."""
        return len(self._ticks) if self._note_inputs else self._total - len(self._ticks)

    @property
    def outputs(self) -> int:
        """How many have been given."""
        return self._total - self.inputs

    def offsets(self) -> Positions:
        """How many outputs had been given when each input was read, and at the end. For who noted inputs."""
        return np.append(self._others(), self.outputs)

    def reads(self) -> Positions:
        """How many inputs had been read when each output was given. For who noted outputs."""
        return self._others()

    def _others(self) -> Positions:
        """How many of the other side had passed at each tick that was kept."""
        ticks = np.array(self._ticks, dtype=np.int64)
        return ticks - np.arange(1, len(ticks) + 1)
