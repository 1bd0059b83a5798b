"""Emissions: how the last level of a stage leaves its task, as frames."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

from bigdebug.agents.frames import LARGE, SMALL, Batches, Dumps, Tag, tagged, target_frame
from bigdebug.agents.notes import CHUNK, Notes
from bigdebug.agents.segments import Leaked


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
    """Hands records on as they are, in frames of ``batch`` records, or of about 64 KB if that is None.

    Frames that are read as frames say which records they hold, and on which ``branch`` they come.
    """

    dumps: Dumps
    batch: int | None = None
    branch: int | None = None

    def prepare(self, notes: Notes) -> None:
        """Batches are taken at once: the records in them are counted by whoever gives them."""

    def frames(self, split: int, records: Iterable[Any], notes: Notes, emitted: Emitted, leaked: Leaked) -> Iterator[bytes]:
        # PySpark's growth rule: it decides how far take() reads ahead.
        size = self.batch or 1
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
    """Buckets key-value records by ``partition(key) % targets`` and notes each record's target."""

    dumps: Dumps
    partition: Callable[[Any], int]
    targets: int
    branch: int = 0

    def prepare(self, notes: Notes) -> None:
        notes.progress = notes.column("out.targets").__len__

    def frames(self, split: int, records: Iterable[Any], notes: Notes, emitted: Emitted, leaked: Leaked) -> Iterator[bytes]:
        column = notes.known("out.targets")
        note, partition, targets = column.append, self.partition, self.targets
        batches = Batches(self.dumps)
        sent = [0] * targets
        source = iter(records)
        while True:
            buckets: list[list[Any]] = [[] for _ in range(targets)]
            before = len(column)
            for key, value in islice(source, CHUNK):
                target = partition(key) % targets
                buckets[target].append((key, value))
                note(target)
            if len(column) == before:
                return
            column.settle()
            emitted.records = len(column)
            for target, bucket in enumerate(buckets):
                for frame in batches.cut(bucket, self.branch, split, sent[target]):
                    yield target_frame(target)
                    yield frame
                sent[target] += len(bucket)


@dataclass(frozen=True)
class Combined:
    """Combines values by key before the shuffle: one code per record is the whole association (Smoke's Defer).

    When the combiners take more than half of ``memory`` bytes, they are sent and combining starts afresh. They are
    weighed, as pickles, once the records since may have added more than memory holds: so weighing costs no more than
    sending. Nothing is asked of the process: a code must mean the same combiner on every attempt.
    """

    dumps: Dumps
    create: Callable[[Any], Any]
    merge: Callable[[Any, Any], Any]
    partition: Callable[[Any], int]
    targets: int
    memory: int
    branch: int = 0

    def prepare(self, notes: Notes) -> None:
        notes.progress = notes.column("out.codes").__len__
        notes.column("out.targets")

    def frames(self, split: int, records: Iterable[Any], notes: Notes, emitted: Emitted, leaked: Leaked) -> Iterator[bytes]:
        codes, targets = notes.known("out.codes"), notes.known("out.targets")
        batches = Batches(self.dumps)
        sent = [0] * self.targets
        source = iter(records)
        known: dict[Any, int] = {}
        values: list[Any] = []
        held = 0
        while True:
            before = len(codes)
            sample = self._combine(islice(source, CHUNK), known, values, codes.append, leaked)
            fresh = len(codes) - before
            emitted.records = len(codes)
            if fresh:
                # Codes of this round count from its first combiner; earlier rounds have sent len(targets) of them.
                codes.settle(shift=len(targets))
                held += fresh * self._weight(sample)
            full = False
            if held > self.memory:
                held = self._weigh(known, values, held)
                full = held > self.memory // 2
            if full or not fresh:
                buckets: list[list[Any]] = [[] for _ in range(self.targets)]
                for key, value in zip(known, values):
                    target = self.partition(key) % self.targets
                    buckets[target].append((key, value))
                    targets.append(target)
                for target, bucket in enumerate(buckets):
                    for frame in batches.cut(bucket, self.branch, split, sent[target]):
                        yield target_frame(target)
                        yield frame
                    sent[target] += len(bucket)
                known, values, held = {}, [], 0
                targets.settle()
            if not fresh:
                return

    def _weight(self, sample: tuple[Any, Any]) -> int:
        try:
            return len(self.dumps(sample))
        except Exception:  # a value that only its combiner makes picklable is the user's right
            return 1024

    def _weigh(self, known: dict[Any, int], values: list[Any], held: int) -> int:
        """The bytes of all combiners as pickles; ``held`` if they cannot be pickled, as sending them will tell."""
        pairs = zip(known, values)
        try:
            return sum(len(self.dumps(batch)) for batch in iter(lambda: list(islice(pairs, CHUNK)), []))
        except Exception:
            return held

    def _combine(
        self, records: Iterable[Any], known: dict[Any, int], values: list[Any],
        note: Callable[[int], None], leaked: Leaked,
    ) -> Any:
        create, merge, code_of = self.create, self.merge, known.setdefault
        key = value = None
        fresh = len(values)
        try:
            for key, value in records:
                code = code_of(key, fresh)
                if code == fresh:
                    values.append(create(value))
                    fresh += 1
                else:
                    values[code] = merge(values[code], value)
                note(code)
        except StopIteration as stop:
            raise leaked(str(stop)) from stop
        return key, value
