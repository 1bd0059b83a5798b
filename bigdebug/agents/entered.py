"""Entered: operations of a program that is tried on some of the records that it is entered with, and of whose outputs those of some keys are looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from bigdebug.agents.guards.held import is_plain
from bigdebug.agents.operations import NOTHING, Frames, Operation, Partitions, Wire
from bigdebug.agents.orders import arranged

Positions = npt.NDArray[np.int64]


@dataclass
class Entered:
    """Records that the program is entered with, as frames by partition; a trial is given the chosen ones, in an ``order`` (agents/orders.py).

    ``begins`` is the number of the first of them among all candidates, which are numbered in the order of operators, partitions and positions.
    """

    frames: tuple[Frames, ...]
    sizes: tuple[int, ...]
    begins: int
    crossing: bool = False
    chosen: Positions = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    order: int = 0
    _held: dict[int, list[Any]] = field(default_factory=dict)

    def run(self, parents: list[Partitions], wire: Wire) -> Partitions:
        chosen = (self.within(split, self.chosen) for split in range(len(self.frames)))
        return [iter(self.records(split, numbers, wire)) if len(numbers) else NOTHING for split, numbers in enumerate(chosen)]

    def within(self, split: int, numbers: Positions) -> Positions:
        """Which of some candidates, ascending, stand in a partition."""
        start = self.begins + sum(self.sizes[:split])
        first, last = np.searchsorted(numbers, (start, start + self.sizes[split]))
        return numbers[first:last]

    def records(self, split: int, numbers: Positions, wire: Wire) -> Sequence[Any]:
        """The candidates of some numbers, all in one partition, which whoever gets them may change."""
        held = self._held.get(split)
        if held is None:
            held = list(wire.records(self.frames[split]))
            if all(map(is_plain, held)):  # others are read anew for each trial, which may change them
                self._held[split] = held
        wanted = numbers - self.begins - sum(self.sizes[:split])
        if self.order:
            wanted = wanted[arranged(numbers, self.order)]
        return [held[place] for place in wanted.tolist()]


@dataclass
class OfKeys:
    """An operation that gives pairs, of which a trial sees those with the keys of its output; all of them if ``keys`` is None."""

    operation: Operation
    keys: list[Any] | None = None

    @property
    def crossing(self) -> bool:
        return self.operation.crossing

    def run(self, parents: list[Partitions], wire: Wire) -> Partitions:
        found = self.operation.run(parents, wire)
        return found if self.keys is None else [part if part is NOTHING else self._those(part) for part in found]

    def _those(self, pairs: Iterable[Any]) -> Iterator[Any]:
        return (pair for pair in pairs if of_keys(pair, self.keys or ()))


def of_keys(pair: Any, keys: Sequence[Any]) -> bool:
    """Whether a pair has one of some keys; NaN is the key that NaN is."""
    return any(pair[0] == key or (pair[0] != pair[0] and key != key) for key in keys)
