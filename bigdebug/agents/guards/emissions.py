"""Guarded emissions: records leave a stage without those that cannot be pickled, combined, or told a partition."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from bigdebug.agents.emit import SAMPLES, Combined, Emitted, Records, Shuffled
from bigdebug.agents.frames import Dumps
from bigdebug.agents.guards.accumulators import Accumulators
from bigdebug.agents.guards.expected import NOTHING, Expected
from bigdebug.agents.guards.inflight import NO_RECORD, Instead, Note, crashes, crashes_of_calls
from bigdebug.agents.notes import Notes
from bigdebug.agents.segments import Leaked, Tally


def _at(note: Note | None, base: Callable[[], int], none: Callable[[int], None] = lambda position: None) -> Note:
    """``note`` for positions that count from ``base``; those that go nowhere are told to ``none``."""
    assert note is not None

    def noted(
        position: int | None, given: Any, problem: BaseException, met: Any = NO_RECORD, again: bool = False, replaces: bool = False,
    ) -> Instead:
        note(base() + (position or 0), given, problem, met)
        none(base() + (position or 0))
        return ()

    return noted


Check = Callable[[Any], None]
"""Raises what is known of the record that was taken last."""


def _counting(note: Note | None, expected: Expected, records: Iterable[Any], notes: Notes) -> tuple[Note, Check | None, Iterator[Any]]:
    """``note`` and a check for the record that was taken last, and the records; those of which something is noted go nowhere."""
    tally = Tally(records)

    def at() -> int:
        return tally.count() - 1

    check = (lambda record: expected.check(at(), record)) if expected.spares else None
    return _at(note, at, notes.column("out.none").append), check, tally.records


def nowhere(note: Note) -> Note:
    """``note`` for records that are not where they came from any more."""
    return lambda _, given, problem, met=NO_RECORD, again=False, replaces=False: note(None, given, problem, met)


@dataclass(frozen=True)
class GuardedShuffled(Shuffled):
    """Leaves out what is no pair, and keys that ``partition`` crashes on: the column ``out.none`` has their positions."""

    crashed: Note | None = None
    expected: Expected = NOTHING
    check: Check | None = None

    def frames(self, split: int, records: Iterable[Any], notes: Notes, emitted: Emitted, leaked: Leaked) -> Iterator[bytes]:
        crashed, check, passing = _counting(self.crashed, self.expected, records, notes)
        return super(GuardedShuffled, replace(self, crashed=crashed, check=check)).frames(split, passing, notes, emitted, leaked)

    def _pairs(self, records: Iterable[Any]) -> Iterator[Any]:
        return iter(records)

    def _dealt(self, records: Iterable[Any], split: int, note: Callable[[int], None]) -> list[list[Any]]:
        assert self.crashed is not None
        partition, targets = self.partition, self.targets
        buckets: list[list[Any]] = [[] for _ in range(targets)]
        for record in records:
            target = 0
            try:
                if self.check is not None:
                    self.check(record)
                key, value = (record[0], record[1]) if self.pairs else record
                target = partition(key) % targets
                buckets[target].append((key, value))
            except crashes_of_calls() as problem:
                self.crashed(None, record, problem)
            note(target)
        return buckets


@dataclass(frozen=True)
class GuardedCombined(Combined):
    """Leaves out what is no pair, values that cannot be combined, and keys that have no partition: ``out.none`` has their positions."""

    crashed: Note | None = None
    expected: Expected = NOTHING
    keeping: Dumps = pickle.dumps
    check: Check | None = None
    accumulators: Accumulators | None = None

    def frames(self, split: int, records: Iterable[Any], notes: Notes, emitted: Emitted, leaked: Leaked) -> Iterator[bytes]:
        crashed, check, passing = _counting(self.crashed, self.expected, records, notes)
        accumulators = Accumulators(self.merge, self.keeping)
        own = replace(self, crashed=crashed, check=check, accumulators=accumulators)
        return super(GuardedCombined, own).frames(split, passing, notes, emitted, leaked)

    def _combine(
        self, records: Iterable[Any], size: int, known: dict[Any, int], values: list[Any],
        note: Callable[[int], None], leaked: Leaked,
    ) -> Iterator[tuple[Any, Any]]:
        assert self.accumulators is not None
        if not known:
            self.accumulators.clear()
        part, last = -(-size // SAMPLES), (None, None)
        for number, record in enumerate(records, 1):
            code = self._code(record, known, values)
            if code is not None:
                last = record
            note(code or 0)
            if not number % part:
                yield last
        yield last

    def _code(self, record: Any, known: dict[Any, int], values: list[Any]) -> int | None:
        """The number of the combiner that has taken a record; None if it cannot be combined."""
        assert self.crashed is not None
        assert self.accumulators is not None
        met = NO_RECORD
        try:
            if self.check is not None:
                self.check(record)
            key, value = record
            code = known.setdefault(key, len(values))
            if code == len(values):
                self.partition(key) % self.targets
                values.append(self.create(value))
            else:
                met = values[code]
                self.accumulators.merge(values, code, value)
        except crashes_of_calls() as problem:
            if len(known) > len(values):
                known.popitem()
            elif met is not NO_RECORD:
                met = values[code]
            self.crashed(None, record, problem, met)
            return None
        return code


@dataclass(frozen=True)
class GuardedRecords(Records):
    """Leaves out what cannot be pickled."""

    crashed: Note | None = None

    def frames(self, split: int, records: Iterable[Any], notes: Notes, emitted: Emitted, leaked: Leaked) -> Iterator[bytes]:
        dumps = Picklable(self.dumps, _at(self.crashed, lambda: emitted.records))
        return Records(dumps, self.batch, self.branch).frames(split, records, notes, emitted, leaked)


@dataclass(frozen=True)
class Picklable:
    """Pickles batches without the records that cannot be pickled. ``crashed`` counts positions from that of the batch."""

    dumps: Dumps
    crashed: Note

    def __call__(self, batch: list[Any]) -> bytes:
        try:
            return self.dumps(batch)
        except crashes():
            return self.dumps([record for number, record in enumerate(batch) if self._takes(number, record)])

    def _takes(self, number: int, record: Any) -> bool:
        try:
            self.dumps([record])
        except crashes() as problem:
            self.crashed(number, record, problem)
            return False
        return True
