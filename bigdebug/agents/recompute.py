"""Recomputation: a stage run once more on a partition to see records that were not kept, and to check that they are
the records of the run."""

from __future__ import annotations

import io
import pickle
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bigdebug.agents.emit import Emitted
from bigdebug.agents.notes import Notes
from bigdebug.agents.segments import Leaked
from bigdebug.agents.stage import StageFunction


class Facts(NamedTuple):
    """What a recomputation saw: compared with the block of the run. ``operators`` are digests by segment, if asked."""

    partition: int
    levels: tuple[int, ...]
    digest: int
    operators: tuple[int, ...] = ()


@dataclass
class Tap:
    """Lets all records pass and keeps those at ``wanted`` positions that satisfy ``test`` (None: all)."""

    wanted: Any
    test: Callable[[Any], Any] | None
    kept: list[tuple[int, Any]] = field(default_factory=list)

    def pass_on(self, records: Iterable[Any]) -> Iterator[Any]:
        wanted = iter(self.wanted.tolist())
        following = next(wanted, -1)
        for position, record in enumerate(records):
            if position == following:
                if self.test is None or self.test(record):
                    self.kept.append((position, record if self.test is None else None))
                following = next(wanted, -1)
            yield record


@dataclass(frozen=True)
class Watched:
    """A segment with a digest of what leaves it, record by record: to find the operator that does not repeat itself."""

    segment: Any
    digests: list[int]

    def run(self, split: int, records: Any, notes: Notes, name: str, leaked: Leaked) -> Iterator[Any]:
        number = len(self.digests)
        self.digests.append(0)
        passing = self.segment.run(split, records, notes, name, leaked)

        def watched() -> Iterator[Any]:
            for record in passing:
                self.digests[number] = zlib.crc32(canonical(record), self.digests[number])
                yield record

        return watched()


def canonical(record: Any) -> bytes:
    """Bytes that are equal for equal records, whether or not their parts are shared objects."""
    sink = io.BytesIO()
    pickler = pickle.Pickler(sink)
    pickler.fast = True  # without a memo: 'aa' twice is 'aa' twice
    try:
        pickler.dump(record)
        return sink.getvalue()
    except Exception:  # a record that contains itself, or one that lives inside a stage and cannot be pickled
        return repr(type(record)).encode()


@dataclass(frozen=True)
class Recompute:
    """Runs ``stage`` again on the partitions of ``wanted``, taps its level ``level``, and reports facts.

    Gives (position, record) pairs, then one Facts; nothing for other partitions. Level 0 is what the stage reads.
    """

    stage: StageFunction
    level: int
    wanted: Mapping[int, Any]
    test: Callable[[Any], Any] | None = None
    watched: bool = False

    def __call__(self, split: int, incoming: Iterable[Any]) -> Iterator[Any]:
        if split not in self.wanted:
            return
        notes, emitted, digests = Notes(), Emitted(), list[int]()
        tap = Tap(np.asarray(self.wanted[split]), self.test)
        stage = self.stage
        stage.emission.prepare(notes)
        records: Any = stage.reader.read(incoming, notes)
        if self.level == 0:
            records = tap.pass_on(records)
        for number, segment in enumerate(stage.segments):
            run = Watched(segment, digests) if self.watched else segment
            records = run.run(split, records, notes, f"segment{number}", stage.leaked)
            if self.level == number + 1:
                records = tap.pass_on(records)
        digest = 0
        for frame in stage.emission.frames(split, records, notes, emitted, stage.leaked):
            digest = zlib.crc32(frame, digest)
        yield from tap.kept
        yield Facts(split, notes.counts(emitted.records), digest, tuple(digests))


@dataclass(frozen=True)
class Pick:
    """The records at ``wanted`` positions of an RDD as it is, with their positions or, if ``bare``, without."""

    wanted: Mapping[int, Any]
    test: Callable[[Any], Any] | None = None
    bare: bool = False

    def __call__(self, split: int, incoming: Iterable[Any]) -> Iterator[Any]:
        if split not in self.wanted:
            return
        wanted = iter(self.wanted[split].tolist())
        following = next(wanted, None)
        if following is None:
            return
        for position, record in enumerate(incoming):
            if position == following:
                if self.test is None or self.test(record):
                    yield record if self.bare else (position, None if self.test else record)
                following = next(wanted, None)
                if following is None:
                    return


@dataclass(frozen=True)
class Without:
    """All records but those at ``places``, which are dropped, or changed by ``edit``."""

    places: Mapping[int, Any]
    edit: Callable[[Any], Any] | None = None

    def __call__(self, split: int, incoming: Iterable[Any]) -> Iterator[Any]:
        if split not in self.places:
            return iter(incoming)
        return self._changed(split, incoming)

    def _changed(self, split: int, incoming: Iterable[Any]) -> Iterator[Any]:
        chosen = iter(self.places[split].tolist())
        following = next(chosen, -1)
        for position, record in enumerate(incoming):
            if position != following:
                yield record
                continue
            following = next(chosen, -1)
            if self.edit is not None:
                yield self.edit(record)


@dataclass(frozen=True)
class Verified:
    """A recomputation as an ordinary stream of records: it fails if the facts are not those of the run."""

    recompute: Recompute
    expected: Mapping[int, tuple[tuple[int, ...], int]]
    complain: Callable[[int], Exception]
    edit: Without | None = None

    def __call__(self, split: int, incoming: Iterable[Any]) -> Iterator[Any]:
        found = list(self.recompute(split, incoming))
        if found and agrees(found[-1], self.expected[split]):
            records = (record for _, record in found[:-1])
            return records if self.edit is None else self.edit(split, records)
        if found:
            raise self.complain(split)
        return iter(())


def agrees(facts: Facts, expected: tuple[tuple[int, ...], int]) -> bool:
    """Whether a recomputation emitted what the run did. Its levels may be finer; the ends must agree."""
    levels, digest = expected
    return (facts.levels[0], facts.levels[-1], facts.digest) == (levels[0], levels[-1], digest)
