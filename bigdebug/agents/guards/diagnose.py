"""Diagnosing: a partition of a failed stage run once more under guard, for its culprits alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from bigdebug.agents.apart import kept
from bigdebug.agents.emit import Emitted
from bigdebug.agents.frames import Dumps
from bigdebug.agents.guards.early import Early
from bigdebug.agents.guards.flight import Call, FarEnough, Flight
from bigdebug.agents.guards.guard import Guard
from bigdebug.agents.guards.noted import Noted
from bigdebug.agents.guards.stage import guarded_stage
from bigdebug.agents.notes import Notes
from bigdebug.agents.recompute import read_out
from bigdebug.agents.stage import Report, StageFunction
from bigdebug.store.blocks import Block
from bigdebug.store.directory import GUARDED


class Diagnosed(NamedTuple):
    """The crashes of a partition: the first ones in full, and how many there are."""

    partition: int
    crashes: Noted
    total: int
    lost: bool = False
    """Whether a function had read more than is kept, when it crashed: there may be culprits among that."""


@dataclass(frozen=True)
class Diagnose:
    """Runs ``stage`` under guard, and keeps ``most`` crashes of a partition in full.

    A partition with culprits leaves a block, so that a trace leads from its records to those that they were made of.
    """

    stage: StageFunction
    run: str
    most: int
    dumps: Dumps
    flights: str | None = None
    """A place for what is to outlive a worker, where workers end."""
    ended: Mapping[int, Sequence[Call]] = field(default_factory=dict)
    """The calls in which they did, by partition."""
    closed: frozenset[int] = frozenset()
    """Partitions that are looked at as far as it is known that workers ended in them, and no further."""
    early: Early | None = None
    """Who is told of the first crash at once, if somebody waits for that."""

    def __call__(self, split: int, incoming: Iterable[object]) -> Iterator[Diagnosed]:
        task = self.stage.identify().attempt
        flight = None if self.flights is None else Flight(self.flights, self.stage.stage, split, task, self.ended.get(split, ()), split in self.closed)
        guard = Guard(self.dumps, self.most, flight, None if self.early is None else partial(self.early.tell, split))
        stage = guarded_stage(self.stage, guard)
        notes, emitted = Notes(), Emitted()
        arriving = iter(incoming)
        with suppress(FarEnough):
            for _ in stage.frames(split, arriving, notes, emitted):
                pass
            read_out(arriving)
        if flight is not None:
            flight.close()
        if guard.total:
            self._write(split, notes, emitted.records)
        yield Diagnosed(split, guard.crashes, guard.total, guard.lost)

    def _write(self, split: int, notes: Notes, emitted: int) -> None:
        columns = {name: column() for name, column in notes.columns.items() if not name.startswith("out.")}
        levels = notes.counts(emitted)
        block = Block(self.stage.stage, split, GUARDED, levels, 0, columns, ended=notes.ended, finished=notes.finished)
        size, posted = kept(self.stage.store, self.run, block)
        if posted:
            self.stage.report([Report(self.run, self.stage.stage, split, GUARDED, levels, bytes=size, block=posted)])
