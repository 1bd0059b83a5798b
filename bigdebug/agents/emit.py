"""Emissions: how the last level of a stage leaves its task, as frames."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

from bigdebug.agents.frames import LARGE, SMALL, Batches, Dumps, Pace, Tag, tagged, target_frame
from bigdebug.agents.notes import CHUNK, Column, Notes
from bigdebug.agents.segments import Leaked, no_leak

FEW_BYTES, MANY_BYTES = 4 << 20, 16 << 20
"""Between which the pickles of a chunk are kept: all of them are in memory together."""

SAMPLES = 16
"""How many records of a chunk are weighed where none of them is sent."""

_NONE: Any = object()


class Emission(Protocol):
    """Turns records into frames; ``Emitted.records`` counts what has left.

    ``prepare`` makes the columns it notes in, and says how many records were taken so far if it notes each.
    """

    def prepare(self, notes: Notes) -> None: ...

    def frames(self, split: int, records: Iterable[Any], notes: Notes, emitted: Emitted, leaked: Leaked) -> Iterator[bytes]: ...


@dataclass
class Emitted:
    records: int = 0


@dataclass(frozen=True)
class Records:
    """Hands records on as they are, in frames of ``batch`` records (-1: all in one), or of about 64 KB if that is None.

    Frames that are read as frames say which records they hold, and on which ``branch`` they come.
    """

    dumps: Dumps
    batch: int | None = None
    branch: int | None = None

    def prepare(self, notes: Notes) -> None:
        """Batches are taken at once: the records in them are counted by whoever gives them."""

    def frames(self, split: int, records: Iterable[Any], notes: Notes, emitted: Emitted, leaked: Leaked) -> Iterator[bytes]:
        # PySpark's growth rule: it decides how far take() reads ahead.
        size = sys.maxsize if self.batch == -1 else self.batch or 1
        source = iter(records)
        while batch := list(islice(source, size)):
            frame = self.dumps(batch)
            tag = self.branch is not None and Tag(self.branch, split, emitted.records, len(batch))
            emitted.records += len(batch)
            yield tagged(frame, tag) if tag else frame
            if self.batch is None:
                if len(frame) < SMALL:
                    size *= 2
                elif len(frame) > LARGE and size > 1:
                    size //= 2


@dataclass(frozen=True)
class Raw:
    """Hands on records that are bytes already, one frame each (saveAsTextFile)."""

    def prepare(self, notes: Notes) -> None:
        """Nothing is noted."""

    def frames(self, split: int, records: Iterable[Any], notes: Notes, emitted: Emitted, leaked: Leaked) -> Iterator[bytes]:
        for record in records:
            emitted.records += 1
            yield record


def in_place(key: Any) -> int:
    """Stands for a partition function where records stay in the partition that they are in, and as they are."""
    return 0


class Departures:
    """Sends buckets, one for each target, as tagged frames; the numbers of a target's records go on from call to call.

    What ``stays`` crosses no shuffle that has to be told its target.
    """

    def __init__(self, dumps: Dumps, targets: int, branch: int, split: int, stays: bool = False) -> None:
        self._stays = stays
        self._batches = Batches(dumps)
        self._branch, self._split = branch, split
        self._sent = [0] * targets

    def frames(self, buckets: list[list[Any]]) -> Generator[bytes, None, int]:
        """The frames, each behind the one that names its target, if any; gives back how many bytes they were."""
        size = 0
        for target, bucket in enumerate(buckets):
            for frame in self._batches.cut(bucket, self._branch, self._split, self._sent[target]):
                size += len(frame)
                if not self._stays:
                    yield target_frame(target)
                yield frame
            self._sent[target] += len(bucket)
            bucket.clear()  # before the next chunk is taken, not after it
        return size


def chunks(targets: int) -> Pace:
    """How many records pass between two looks at their bytes: as few as PySpark begins with, and more while they are small."""
    return Pace(min(10 * targets, 1000), FEW_BYTES, MANY_BYTES, CHUNK)


@dataclass(frozen=True)
class Nothing:
    """Reads the records and hands none on: for stages that are run for what passes in them."""

    def prepare(self, notes: Notes) -> None:
        """Nothing is noted."""

    def frames(self, split: int, records: Iterable[Any], notes: Notes, emitted: Emitted, leaked: Leaked) -> Iterator[bytes]:
        emitted.records = sum(1 for _ in records)
        yield from ()


@dataclass(frozen=True)
class Shuffled:
    """Buckets key-value records by ``partition(key) % targets`` and notes each record's target.

    With ``pairs`` they may have more parts than two, which go no further.
    """

    dumps: Dumps
    partition: Callable[[Any], int]
    targets: int
    branch: int = 0
    stays: bool = False
    pairs: bool = False

    def prepare(self, notes: Notes) -> None:
        notes.progress = notes.column("out.targets").__len__

    def frames(self, split: int, records: Iterable[Any], notes: Notes, emitted: Emitted, leaked: Leaked) -> Iterator[bytes]:
        column = notes.known("out.targets")
        departures, pace = Departures(self.dumps, self.targets, self.branch, split, self.stays), chunks(self.targets)
        bucketed = self._kept if self.partition is in_place else self._dealt
        source = self._pairs(records) if self.pairs else iter(records)
        while True:
            before = len(column)
            buckets = bucketed(islice(source, pace.size), split, column.append)
            taken = len(column) - before
            if not taken:
                return
            column.settle()
            emitted.records = len(column)
            pace.took(taken, (yield from departures.frames(buckets)))

    def _pairs(self, records: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        return ((record[0], record[1]) for record in records)

    def _dealt(self, records: Iterable[Any], split: int, note: Callable[[int], None]) -> list[list[Any]]:
        partition, targets = self.partition, self.targets
        buckets: list[list[Any]] = [[] for _ in range(targets)]
        for key, value in records:
            target = partition(key) % targets
            buckets[target].append((key, value))
            note(target)
        return buckets

    def _kept(self, records: Iterable[Any], split: int, note: Callable[[int], None]) -> list[list[Any]]:
        buckets: list[list[Any]] = [[] for _ in range(self.targets)]
        target = split % self.targets
        for record in records:
            buckets[target].append(record)
            note(target)
        return buckets


@dataclass(frozen=True)
class Combined:
    """Combines values by key before the shuffle: one code per record is the whole association (Smoke's Defer).

    When the combiners take more than half of ``memory`` bytes, they are sent and combining starts afresh. They are
    weighed, as pickles, once the records since may have added more than memory holds, by a sample of them: so weighing
    costs no more than sending. Nothing is asked of the process: a code must mean the same combiner on every attempt.
    """

    dumps: Dumps
    create: Callable[[Any], Any]
    merge: Callable[[Any, Any], Any]
    partition: Callable[[Any], int]
    targets: int
    memory: int
    branch: int = 0
    stays: bool = False

    def prepare(self, notes: Notes) -> None:
        notes.progress = notes.column("out.codes").__len__
        notes.column("out.targets")

    def frames(self, split: int, records: Iterable[Any], notes: Notes, emitted: Emitted, leaked: Leaked) -> Iterator[bytes]:
        codes, targets = notes.known("out.codes"), notes.known("out.targets")
        departures, pace = Departures(self.dumps, self.targets, self.branch, split, self.stays), chunks(self.targets)
        scale = Batches(self.dumps)
        source = iter(records)
        known: dict[Any, int] = {}
        values: list[Any] = []
        held = 0
        while True:
            before = len(codes)
            sample = list(self._combine(islice(source, pace.size), pace.size, known, values, codes.append, leaked))
            fresh = len(codes) - before
            emitted.records = len(codes)
            if fresh:
                # Codes of this round count from its first combiner; earlier rounds have sent len(targets) of them.
                codes.settle(shift=len(targets))
                added = fresh * _weight(scale, sample, 1024 * len(sample)) // len(sample)
                pace.took(fresh, added)
                held += added
            full = False
            if held > self.memory:
                held = _weight(scale, zip(known, values), held)
                full = held > self.memory // 2
            if full or not fresh:
                yield from departures.frames(self._bucketed(zip(known, values), split, targets))
                targets.settle()
                known, values, held = {}, [], 0
            if not fresh:
                return

    def _bucketed(self, pairs: Iterable[tuple[Any, Any]], split: int, targets: Column) -> list[list[Any]]:
        buckets: list[list[Any]] = [[] for _ in range(self.targets)]
        stay = self.partition is in_place
        for pair in pairs:
            target = (split if stay else self.partition(pair[0])) % self.targets
            buckets[target].append(pair)
            targets.append(target)
        return buckets

    def _combine(
        self, records: Iterable[Any], size: int, known: dict[Any, int], values: list[Any],
        note: Callable[[int], None], leaked: Leaked,
    ) -> Iterator[tuple[Any, Any]]:
        """Combines all records, of which there are ``size`` at most, and gives one in each sixteenth of them."""
        create, merge, code_of = self.create, self.merge, known.setdefault
        source, part = iter(records), -(-size // SAMPLES)
        fresh = len(values)
        while True:
            key = value = _NONE
            with no_leak(leaked):
                for key, value in islice(source, part):
                    code = code_of(key, fresh)
                    if code == fresh:
                        values.append(create(value))
                        fresh += 1
                    else:
                        values[code] = merge(values[code], value)
                    note(code)
            if key is _NONE:
                return
            yield key, value


def _weight(scale: Batches, records: Iterable[Any], otherwise: int) -> int:
    """The bytes of the records as pickles; ``otherwise`` if they cannot be pickled, as sending them will tell."""
    try:
        return scale.weigh(records)
    except Exception:  # a value that only its combiner makes picklable is the user's right
        return otherwise
