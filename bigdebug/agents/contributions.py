"""Contributions: what each record that a program is entered with adds to one key of the exchange that it comes to (BigSift 4.2).

Where every way there is of functions of single records, what a record adds hangs on that record alone, so it is computed once however many sets of
records are tried. That functions keep nothing from one record to the next is taken for granted here: whoever uses it asks the program itself in the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from bigdebug.agents.entered import Entered, Positions
from bigdebug.agents.evaluate import Node
from bigdebug.agents.guards.held import is_plain
from bigdebug.agents.operations import Coalesced, Dealt, Stepped, United, Wire
from bigdebug.agents.orders import arranged
from bigdebug.agents.runs import Runs
from bigdebug.agents.segments import Filter, FlatMap, Map
from bigdebug.agents.stretches import Stretch


@dataclass(frozen=True)
class Piece:
    """A partition of an entry, and the steps that its records take."""

    entry: Entered
    split: int
    steps: tuple[Stepped, ...] = ()


@dataclass(frozen=True)
class Part:
    """What reaches the exchange from one partition on one ``branch``: values in their order, and whose they are by their places, ascending.

    Values that may change are held as their pickles, if ``pickled``.
    """

    branch: int
    split: int
    owners: Positions
    values: list[Any]
    pickled: bool

    @cached_property
    def first(self) -> int | None:
        """The first owner, if each that follows adds one value; else None."""
        alone = len(self.owners) > 0 and bool(np.all(np.diff(self.owners) == 1))
        return int(self.owners[0]) if alone else None

    def among(self, runs: Runs) -> list[Stretch]:
        """The stretches of the values that belong to some candidates."""
        return [(start, end) for start, end in self.owners.searchsorted(runs).tolist() if start < end]

    def within(self, runs: Iterable[tuple[int, int]]) -> list[Stretch]:
        """The same where there is a ``first``."""
        first, size = self.first, len(self.values)
        assert first is not None
        return [(max(start - first, 0), min(end - first, size)) for start, end in runs if first < end and start < first + size]

    def between(self, stretches: Sequence[Stretch], wire: Wire, order: int = 0) -> Iterator[Any]:
        """The values of some stretches; what may change is the caller's own. In another ``order`` of the records, each record's are in theirs."""
        if order:
            chosen = np.concatenate([np.arange(start, end) for start, end in stretches])
            found: Iterable[Any] = (self.values[each] for each in chosen[arranged(self.owners[chosen], order)].tolist())
        else:
            found = chain.from_iterable(self.values[start:end] for start, end in stretches)
        return map(wire.loads, found) if self.pickled else iter(found)


def never_changes(value: Any) -> bool:
    """Whether a value can be given to functions again and again."""
    return is_plain(value) or isinstance(value, np.generic)


def ways(nodes: Mapping[int, Node], number: int) -> list[list[Piece]] | None:
    """By partition, the pieces that the records of an operator come from; None if anything but single records decides what they are."""
    node = nodes[number]
    operation = node.operation
    if isinstance(operation, Entered):
        return [[Piece(operation, split)] for split in range(len(operation.sizes))]
    found = [ways(nodes, parent) for parent in node.parents]
    parents = [each for each in found if each is not None]
    if len(parents) < len(found):
        return None
    match operation:
        case Stepped(record_wise=True) if isinstance(operation.step.copy(), Map | Filter | FlatMap):
            return [[Piece(each.entry, each.split, (*each.steps, operation)) for each in pieces] for pieces in parents[0]]
        case United(aligned=False):
            return list(chain.from_iterable(parents))
        case United():
            return [list(chain.from_iterable(together)) for together in zip(*filter(len, parents), strict=True)]
        case Dealt(targets=targets):  # to which partition, others decide; for a combiner it is no matter
            return [list(chain.from_iterable(parents[0])), *([] for _ in range(targets - 1))]
        case Coalesced(groups=groups):
            return [[piece for split in group for piece in parents[0][split]] for group in groups]
        case _:
            return None


def parts(pieces: Sequence[Sequence[Piece]], branch: int, key: Any, candidates: Positions, wire: Wire) -> list[Part] | None:
    """What candidates, which are named by their places, add to ``key`` in each partition; None if the key is written in several ways, or they do not ascend."""
    found = []
    for split, those in enumerate(pieces):
        owners: list[int] = []
        values: list[Any] = []
        for piece in those:
            numbers = piece.entry.within(piece.split, candidates)
            if len(numbers) and not _added(piece, numbers, int(np.searchsorted(candidates, numbers[0])), key, owners, values, wire):
                return None
        places = np.array(owners, dtype=np.int64)
        if np.any(places[1:] < places[:-1]):
            return None
        if values:
            plain = all(map(never_changes, values))
            found.append(Part(branch, split, places, values if plain else list(map(wire.dumps, values)), not plain))
    return found


def _added(piece: Piece, numbers: Positions, first: int, key: Any, owners: list[int], values: list[Any], wire: Wire) -> bool:
    """Note what the records of a piece add. Each is pulled when all is seen that the one before it gives: so it is known whose it is (Titian 4.3)."""
    place = first - 1

    def pulled() -> Iterator[Any]:
        nonlocal place
        for record in piece.entry.records(piece.split, numbers, wire):
            place += 1
            yield record

    passing: Iterable[Any] = pulled()
    for step in piece.steps:
        passing = step.step.copy().apply(piece.split, passing)
    kind, simple = type(key), type(key) in (str, int)
    for pair in passing:
        known = pair[0]
        if known == key:
            if type(known) is not kind or not (simple or repr(known) == repr(key)):
                return False
            owners.append(place)
            values.append(pair[1])
    return place == first - 1 + len(numbers)  # else a function let a StopIteration escape, which ends nothing in PySpark
