"""Diagnosing: a partition of a failed stage run once more under guard, for its culprits alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from bigdebug.agents.apart import kept
from bigdebug.agents.emit import Emitted
from bigdebug.agents.frames import Dumps
from bigdebug.agents.guards.early import Early
from bigdebug.agents.guards.flight import Call, Changed, FarEnough, Flight, folder_of
from bigdebug.agents.guards.guard import Guard
from bigdebug.agents.guards.noted import Noted
from bigdebug.agents.guards.placed import Arrived, Shared
from bigdebug.agents.guards.policy import Policy
from bigdebug.agents.guards.seeking import Seeking
from bigdebug.agents.guards.stage import guarded_stage
from bigdebug.agents.notes import Notes
from bigdebug.agents.picked import read_out
from bigdebug.agents.readers import Reader
from bigdebug.agents.stage import StageFunction
from bigdebug.store.blocks import Block

MOST_BYTES = 64 << 20
"""Of a block that comes with what a task tells."""


class Diagnosed(NamedTuple):
    """The crashes of a partition: the first ones in full, and how many there are."""

    partition: int
    crashes: Noted
    total: int
    lost: bool = False
    """Whether a function had read more than is kept, when it crashed: there may be culprits among that."""
    changed: bool = False
    """Whether it gave other records than when a worker had ended in it: it was looked at no further."""
    attempt: int = 0
    block: bytes = b""
    """The attempt that its block bears, and the block, where the task does not see the store."""
    unwritten: str = ""
    """Why there is no block."""
    failed: frozenset[int] | None = None
    """Where the run had a policy, which of the crashes it failed of: it went on from the others."""


class _Look(NamedTuple):
    """What became of a partition under guard, and what read its records."""

    guard: Guard
    notes: Notes
    emitted: Emitted
    changed: bool
    reader: Reader


@dataclass(frozen=True)
class Diagnose:
    """Runs ``stage`` under guard, and keeps ``most`` crashes of a partition in full.

    A partition with culprits leaves a block, so that a trace leads from its records to those that they were made of.
    """

    stage: StageFunction
    run: str
    most: int
    dumps: Dumps
    home: str
    """The directory of the driver's, for what is no block."""
    flights: bool = False
    """Whether calls are noted in files that outlive a worker, where workers end."""
    ended: Mapping[int, Sequence[Call]] = field(default_factory=dict)
    """The calls in which they did, by partition."""
    closed: frozenset[int] = frozenset()
    """Partitions that are looked at as far as it is known that workers ended in them, and no further."""
    early: Early | None = None
    """Who is told of the first crash at once, if somebody waits for that."""
    policy: str | None = None
    """What became of crashes in the run, if it was not to fail of all."""

    def __call__(self, split: int, incoming: Iterable[object]) -> Iterator[Diagnosed]:
        task = self.stage.identify().attempt
        folder = folder_of(self.home, self.run)
        flight = Flight(folder, self.stage.stage, split, task, self.ended.get(split, ()), split in self.closed) if self.flights else None
        arriving = iter(incoming)
        try:
            guard, notes, emitted, changed, reader = self._looked(split, self.stage, arriving, flight)
            if isinstance(reader, Arrived) and reader.is_shared:
                guard, notes, emitted, changed, _ = self._looked(split, replace(self.stage, reader=reader.again()), arriving, flight)
        finally:
            if flight is not None:
                flight.close()
        block, unwritten = self._written(split, task, notes, emitted.records) if guard.total else (b"", "")
        failed = frozenset(guard.failed) if isinstance(guard, Seeking) else None
        yield Diagnosed(split, guard.crashes, guard.total, guard.lost, changed, task, block, unwritten, failed)

    def _looked(self, split: int, function: StageFunction, arriving: Iterator[object], flight: Flight | None) -> _Look:
        """A stage's partition run under guard."""
        guard = self._guard(split, flight)
        # What becomes of crashes is said here, and not by the job, whose stages below do as the run did.
        stage = replace(guarded_stage(function, guard), identify=lambda: function.identify()._replace(policy=None))
        notes, emitted, changed = Notes(), Emitted(), False
        try:
            for _ in stage.frames(split, arriving, notes, emitted):
                pass
            read_out(arriving)
        except (FarEnough, Shared):
            pass
        except Changed:
            changed = True
        return _Look(guard, notes, emitted, changed, stage.reader)

    def _guard(self, split: int, flight: Flight | None) -> Guard:
        first = None if self.early is None else partial(self.early.tell, split)
        if self.policy is None:
            return Guard(self.dumps, self.most, flight, first)
        policy = replace(Policy.unpacked(self.policy, split), most=self.most, dumps=self.dumps)
        return Seeking(policy, self.stage, split, flight, first)

    def _written(self, split: int, task: int, notes: Notes, emitted: int) -> tuple[bytes, str]:
        """The block, where the driver has to write it, or why there is none."""
        try:
            columns = {name: column() for name, column in notes.columns.items() if not name.startswith("out.")}
            block = Block(self.stage.stage, split, task, notes.counts(emitted), 0, columns, ended=notes.ended, finished=notes.finished)
            _, posted = kept(self.stage.store, self.run, block)
        except Exception as problem:  # the crashes are told all the same
            return b"", f"{type(problem).__name__}: {problem}"
        return (posted, "") if len(posted) <= MOST_BYTES else (b"", f"its {len(posted) >> 20} MB are more than tasks may give the driver")
