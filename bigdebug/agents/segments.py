"""Narrow segments: chains of record-wise operators, and functions over an iterator, with the agents beside them.

PySpark pulls records one at a time, so between two pulls of the input every output belongs to the record pulled
last: one append per input names the lineage of all outputs (Titian 4.3, without an id on the record).

``run`` of a segment adds its level and columns to the notes at once and lets records pass later: levels stand in the
order of the segments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, compress, islice
from typing import Any

from bigdebug.agents.notes import CHUNK, Notes

Leaked = Callable[[str], Exception]
"""Makes the error that PySpark raises when a user's function lets a StopIteration escape."""


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


class Tally:
    """Lets records pass and counts them."""

    def __init__(self, records: Iterable[Any]) -> None:
        self._records = records
        self.passed = 0

    def count(self) -> int:
        return self.passed

    def pass_on(self) -> Iterator[Any]:
        for record in self._records:
            self.passed += 1
            yield record


Step = Map | Filter | FlatMap | Partitionwise


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
        return tally.pass_on()


@dataclass(frozen=True)
class Kept:
    """A filter that looks at many records before any is used: notes the positions of those it keeps.

    Only for stages that read their input to the end: what a filter has looked at then makes no difference.
    """

    step: Filter

    def run(self, split: int, records: Iterable[Any], notes: Notes, name: str, leaked: Leaked) -> Iterator[Any]:
        kept = notes.column(f"{name}.kept")
        seen = 0
        notes.levels[-1] = lambda: seen
        notes.levels.append(kept.__len__)
        source = iter(records)
        function = self.step.function

        def chunks() -> Iterator[Iterable[Any]]:
            nonlocal seen
            while chunk := list(islice(source, CHUNK)):
                mask: list[Any] = []
                trouble: BaseException | None = None
                try:
                    mask.extend(map(function, chunk))
                except Exception as raised:  # earlier records go first, as they would have one by one
                    trouble = raised
                for position in compress(range(seen, seen + len(mask)), mask):
                    kept.append(position)
                kept.settle()
                seen += len(mask)
                yield compress(chunk, mask)
                if trouble is not None:
                    raise trouble
                if len(mask) < len(chunk):
                    raise leaked("")

        return chain.from_iterable(chunks())


def _end_of_output(input_ended: Callable[[], bool], leaked: Leaked) -> Iterator[Any]:
    """PySpark wraps every function against a leaked StopIteration; one look at the end sees the same leak."""
    if not input_ended():
        raise leaked("")
    yield from ()


@dataclass(frozen=True)
class Paired:
    """A function over an iterator: notes how much had been read when each output appeared (Newt 3.2)."""

    function: Callable[[int, Iterable[Any]], Iterable[Any]]

    def run(self, split: int, records: Iterable[Any], notes: Notes, name: str, leaked: Leaked) -> Iterator[Any]:
        reads = notes.column(f"{name}.reads")
        feed = Tally(records)
        notes.levels[-1] = feed.count
        notes.levels.append(reads.__len__)
        function = self.function

        def paired() -> Iterator[Any]:
            for record in function(split, feed.pass_on()):
                reads.append(feed.passed)
                if not len(reads) % CHUNK:
                    reads.settle()
                yield record

        return paired()


@dataclass(frozen=True)
class Whole:
    """A function whose every output depends on the whole partition (glom, an external command)."""

    function: Callable[[int, Iterable[Any]], Iterable[Any]]

    def run(self, split: int, records: Iterable[Any], notes: Notes, name: str, leaked: Leaked) -> Iterator[Any]:
        incoming = records
        if notes.levels[-1] is None:
            feed = Tally(records)
            notes.levels[-1] = feed.count
            incoming = feed.pass_on()
        outputs = 0
        notes.levels.append(lambda: outputs)

        def whole() -> Iterator[Any]:
            nonlocal outputs
            for record in self.function(split, iter(incoming)):
                outputs += 1
                yield record

        return whole()
