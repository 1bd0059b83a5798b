"""Narrow segments: chains of record-wise operators, and functions over an iterator, with the agents beside them.

PySpark pulls records one at a time, so between two pulls of the input every output belongs to the record pulled
last: one append per input names the lineage of all outputs (Titian 4.3, without an id on the record).

``run`` of a segment adds its level and columns to the notes at once and lets records pass later: levels stand in the
order of the segments. A function over an iterator is called at once as well, as PySpark calls it: the first one first, and
also if nobody asks for what it gives.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, compress, islice, repeat
from typing import Any

from bigdebug.agents.notes import CHUNK, Notes, smallest
from bigdebug.agents.pairing import pairing, selecting

Leaked = Callable[[str], Exception]
"""Makes the error that PySpark raises when a user's function lets a StopIteration escape."""


class no_leak:  # noqa: N801 (read after ``with``)
    """A StopIteration that a user's function lets escape is PySpark's error for it, and no end of the records."""

    def __init__(self, leaked: Leaked) -> None:
        self._leaked = leaked

    def __enter__(self) -> None:
        """Nothing is to be prepared. (contextlib would take an error caused by a StopIteration for Python's own.)"""

    def __exit__(self, kind: object, raised: BaseException | None, trace: object) -> None:
        if isinstance(raised, StopIteration):
            raise self._leaked(str(raised)) from raised


@dataclass(frozen=True)
class Map:
    function: Callable[[Any], Any]

    def apply(self, split: int, records: Iterable[Any]) -> Iterable[Any]:
        return map(self.function, records)


@dataclass(frozen=True)
class Filter:
    function: Callable[[Any], Any]

    def apply(self, split: int, records: Iterable[Any]) -> Iterable[Any]:
        return filter(self.function, records)


@dataclass(frozen=True)
class FlatMap:
    function: Callable[[Any], Iterable[Any]]

    def apply(self, split: int, records: Iterable[Any]) -> Iterable[Any]:
        return chain.from_iterable(map(self.function, records))


@dataclass(frozen=True)
class Partitionwise:
    """A function over the iterator of a partition, given its index as well."""

    function: Callable[[int, Iterable[Any]], Iterable[Any]]

    def apply(self, split: int, records: Iterable[Any]) -> Iterable[Any]:
        return self.function(split, records)


def counted(split: int, records: Iterable[Any]) -> list[int]:
    """What ``count`` asks of a partition. It looks at no record, so it crashes on none."""
    return [sum(1 for _ in records)]


class Tally:
    """Lets ``records`` pass and counts them, in C: each costs a few nanoseconds."""

    def __init__(self, records: Iterable[Any]) -> None:
        left = repeat(True, sys.maxsize)
        self.records: Iterator[Any] = compress(records, left)
        self.left: Callable[[], int] = left.__length_hint__
        """What is left of ``sys.maxsize``: what counts fastest."""

    def count(self) -> int:
        return sys.maxsize - self.left()


@dataclass(frozen=True)
class Around:
    """A step behind which somebody else lets the records pass, as they are."""

    step: Any
    behind: Callable[[Iterable[Any]], Iterable[Any]]

    def apply(self, split: int, records: Iterable[Any]) -> Iterable[Any]:
        return self.behind(self.step.apply(split, records))


Step = Map | Filter | FlatMap | Partitionwise | Around


@dataclass(frozen=True)
class OneToOne:
    """Steps that give one output for each input, in order: there is nothing to note."""

    steps: tuple[Step, ...]

    def run(self, split: int, records: Iterable[Any], notes: Notes, name: str, leaked: Leaked) -> Iterator[Any]:
        notes.levels.append(None)
        ended = False

        def end_of_input() -> Iterator[Any]:
            nonlocal ended
            ended = True
            yield from ()

        passing: Iterable[Any] = chain(records, end_of_input())
        for step in self.steps:
            passing = step.apply(split, passing)
        return chain(passing, _end_of_output(lambda: ended, leaked))


@dataclass(frozen=True)
class Offsets:
    """Record-wise steps with any number of outputs for an input: notes the outputs so far at each pull.

    The ``last`` segment of a stage need not count its outputs if the emission does.
    """

    steps: tuple[Step, ...]
    last: bool = False

    def run(self, split: int, records: Iterable[Any], notes: Notes, name: str, leaked: Leaked) -> Iterator[Any]:
        offsets = notes.column(f"{name}.offsets")
        notes.levels[-1] = offsets.__len__
        source = iter(records)
        ended = False

        def feed() -> Iterator[Any]:
            nonlocal ended
            append = offsets.append
            while not ended:
                before = len(offsets)
                for record in islice(source, CHUNK):
                    append(outputs())
                    yield record
                ended = len(offsets) == before
                offsets.settle()

        passing: Iterable[Any] = feed()
        for step in self.steps:
            passing = step.apply(split, passing)
        passing = chain(passing, _end_of_output(lambda: ended, leaked))
        if self.last and notes.progress is not None:
            outputs = notes.progress
            notes.levels.append(outputs)
            return passing
        tally = Tally(passing)
        outputs = tally.count
        notes.levels.append(outputs)
        return tally.records


@dataclass(frozen=True)
class Kept:
    """A filter that stands first in a stage: notes the positions of the records it keeps, and nothing for the others."""

    step: Filter

    def run(self, split: int, records: Iterable[Any], notes: Notes, name: str, leaked: Leaked) -> Iterator[Any]:
        ended = False

        def end_of_input() -> Iterator[Any]:
            nonlocal ended
            ended = True
            yield from ()

        paired = selecting(self.step.function, chain(records, end_of_input()))
        # A record that is kept is the one read last.
        notes.columns[f"{name}.kept"] = lambda: smallest(paired.reads() - 1)
        notes.levels[-1] = paired.inputs
        notes.levels.append(paired.outputs)
        return chain(paired.records, _end_of_output(lambda: ended, leaked))


def _end_of_output(input_ended: Callable[[], bool], leaked: Leaked) -> Iterator[Any]:
    """PySpark wraps every function against a leaked StopIteration; one look at the end sees the same leak."""
    if not input_ended():
        raise leaked("")
    yield from ()


@dataclass(frozen=True)
class Paired:
    """A function over an iterator: notes how much had been read for each output, until the next one was asked for (Newt 3.2)."""

    function: Callable[[int, Iterable[Any]], Iterable[Any]]

    def run(self, split: int, records: Iterable[Any], notes: Notes, name: str, leaked: Leaked) -> Iterator[Any]:
        paired = pairing(partial(self.function, split), records)
        notes.columns[f"{name}.reads"] = lambda: smallest(paired.reads())
        notes.levels[-1] = paired.inputs
        notes.levels.append(paired.outputs)
        return paired.records


@dataclass(frozen=True)
class Whole:
    """A function whose every output depends on the whole partition (glom, an external command)."""

    function: Callable[[int, Iterable[Any]], Iterable[Any]]

    def run(self, split: int, records: Iterable[Any], notes: Notes, name: str, leaked: Leaked) -> Iterator[Any]:
        incoming = iter(records)
        if notes.levels[-1] is None:
            feed = Tally(incoming)
            notes.levels[-1] = feed.count
            incoming = feed.records
        outputs = 0
        notes.levels.append(lambda: outputs)
        given = self.function(split, incoming)

        def whole() -> Iterator[Any]:
            nonlocal outputs
            for record in given:
                outputs += 1
                yield record

        return whole()
