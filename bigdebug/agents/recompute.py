"""Recomputation: a stage run once more on a partition to see records that were not kept, and to check that they are
the records of the run."""

from __future__ import annotations

import io
import pickle
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from bigdebug.agents.emit import Emitted
from bigdebug.agents.frames import Dumps, checksum
from bigdebug.agents.notes import Notes
from bigdebug.agents.picked import Without, read_out
from bigdebug.agents.stage import StageFunction, Watch


class Known(NamedTuple):
    """What is known of a stage on a partition, None where nothing is: records that entered it and that left it, a
    digest of what left, and one of the records that were asked for."""

    entered: int | None = None
    left: int | None = None
    digest: int | None = None
    answers: int | None = None


class Facts(NamedTuple):
    """What a recomputation saw; if asked, ``operators`` are digests by segment, and ``columns`` are its tables."""

    partition: int
    known: Known
    levels: tuple[int, ...]
    operators: tuple[int, ...] = ()
    columns: Mapping[str, Any] | None = None


def agrees(seen: Known, expected: Known) -> bool:
    """Whether a recomputation saw what is known."""
    return all(e is None or e == s for s, e in zip(seen, expected, strict=True))


@dataclass
class Tap:
    """Lets all records pass and keeps those at ``wanted`` positions that satisfy ``test`` (None: all), as pickles.

    As pickles, for the functions that come next may change them. With a test, those behind the first ``shown`` are kept as nothing but that they satisfy it.
    """

    wanted: Any
    test: Callable[[Any], Any] | None
    dumps: Dumps
    shown: int = 0
    kept: list[tuple[int, bytes]] = field(default_factory=list)
    digest: int = 0

    def pass_on(self, records: Iterable[Any]) -> Iterator[Any]:
        wanted = iter(self.wanted.tolist())
        following = next(wanted, -1)
        for position, record in enumerate(records):
            if position == following:
                if self.test is None:
                    self._keep(position, self.dumps(record))
                elif self.test(record):
                    self._keep(position, self.dumps(record) if len(self.kept) < self.shown else b"")
                following = next(wanted, -1)
            yield record

    def _keep(self, position: int, pickled: bytes) -> None:
        self.digest = checksum(pickled, zlib.crc32(position.to_bytes(8, "big"), self.digest))
        self.kept.append((position, pickled))


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

    Gives (partition, position, pickle) of each record, unless ``quiet``, then one Facts; nothing for other partitions. Level 0
    is what the stage reads. Where the run stopped early, ``limits`` says after how many records that left.
    """

    stage: StageFunction
    level: int
    wanted: Mapping[int, Any]
    dumps: Dumps
    test: Callable[[Any], Any] | None = None
    limits: Mapping[int, int] = field(default_factory=dict)
    watched: bool = False
    quiet: bool = False
    tables: bool = False
    shown: int = 0

    def __call__(self, split: int, incoming: Iterable[Any]) -> Iterator[Any]:
        if split not in self.wanted:
            return
        notes, emitted = Notes(), Emitted()
        tap = Tap(np.asarray(self.wanted[split]), self.test, self.dumps, self.shown)
        digests = [0] * len(self.stage.segments)

        limited = stopping(self.stage, self.limits.get(split))

        def watch(level: int, records: Iterable[Any]) -> Iterable[Any]:
            records = limited(level, records)
            if self.watched and level:
                records = _digesting(records, digests, level - 1)
            return tap.pass_on(records) if level == self.level else records

        digest = 0
        arriving = iter(incoming)
        for frame in self.stage.frames(split, arriving, notes, emitted, watch):
            digest = checksum(frame, digest)
        read_out(arriving)
        if not self.quiet:
            yield from ((split, position, pickled) for position, pickled in tap.kept)
        levels = notes.counts(emitted.records)
        columns = {name: column() for name, column in notes.columns.items()} if self.tables else None
        yield Facts(split, Known(levels[0], levels[-1], digest, tap.digest), levels, tuple(digests), columns)


def stopping(stage: StageFunction, limit: int | None) -> Watch:
    """Ends what leaves the stage after ``limit`` records, as the action did (None: it took them all)."""
    last = len(stage.segments)

    def limited(level: int, records: Iterable[Any]) -> Iterable[Any]:
        return islice(records, limit) if level == last and limit is not None else records

    return limited


def _digesting(records: Iterable[Any], digests: list[int], number: int) -> Iterator[Any]:
    for record in records:
        digests[number] = zlib.crc32(canonical(record), digests[number])
        yield record


@dataclass(frozen=True)
class Drained:
    """Runs ``stage`` on the partitions of ``wanted`` for their blocks alone, as far as ``limits`` say."""

    stage: StageFunction
    wanted: frozenset[int]
    limits: Mapping[int, int] = field(default_factory=dict)

    def __call__(self, split: int, incoming: Iterable[Any]) -> Iterable[Any]:
        if split in self.wanted:
            deque(self.stage(split, incoming, stopping(self.stage, self.limits.get(split))), maxlen=0)
        return ()


@dataclass(frozen=True)
class Digested:
    """(partition, crc32) of the frames of an RDD of bytes."""

    def __call__(self, split: int, incoming: Iterable[bytes]) -> Iterator[tuple[int, int]]:
        digest = 0
        for frame in incoming:
            digest = checksum(frame, digest)
        yield split, digest


@dataclass(frozen=True)
class Counted:
    """(partition, records) of an RDD."""

    def __call__(self, split: int, incoming: Iterable[Any]) -> Iterator[tuple[int, int]]:
        yield split, sum(1 for _ in incoming)


@dataclass(frozen=True)
class Verified:
    """A recomputation as an ordinary stream of records: it fails if it does not see what is ``expected``."""

    recompute: Recompute
    expected: Mapping[int, Known]
    complain: Callable[[int], Exception]
    edit: Without | None = None

    def __call__(self, split: int, incoming: Iterable[Any]) -> Iterator[Any]:
        found = list(self.recompute(split, incoming))
        if not found:
            return iter(())
        if not agrees(found[-1].known, self.expected[split]):
            raise self.complain(split)
        records = (pickle.loads(pickled) for _, _, pickled in found[:-1])
        return records if self.edit is None else self.edit(split, records)
