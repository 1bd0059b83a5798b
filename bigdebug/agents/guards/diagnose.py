"""Diagnosing: a partition of a failed stage run once more under guard, for its culprits alone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from bigdebug.agents.emit import Emitted
from bigdebug.agents.frames import Dumps
from bigdebug.agents.guards.cut import Cut, Impatience
from bigdebug.agents.guards.flight import Flight
from bigdebug.agents.guards.guard import Guard
from bigdebug.agents.guards.noted import Noted
from bigdebug.agents.guards.stage import guarded_stage
from bigdebug.agents.notes import Notes
from bigdebug.agents.recompute import read_out
from bigdebug.agents.stage import StageFunction
from bigdebug.store.blocks import CUT, GUARDED, Block, drop_block, write_block


class Diagnosed(NamedTuple):
    """The crashes of a partition: the first ones in full, and how many there are; if it was ``cut``, as far as it was read."""

    partition: int
    crashes: Noted
    total: int
    lost: bool = False
    """Whether a function had read more than is kept, when it crashed: there may be culprits among that."""
    cut: bool = False


@dataclass(frozen=True)
class Diagnose:
    """Runs ``stage`` under guard, and keeps ``most`` crashes of a partition in full. Whoever is impatient has partitions cut that take long.

    A partition with culprits leaves a block, so that a trace leads from its records to those that they were made of.
    """

    stage: StageFunction
    run: str
    most: int
    dumps: Dumps
    flights: str | None = None
    """A directory for what is to outlive a worker, where workers end."""
    impatience: Impatience | None = None

    def __call__(self, split: int, incoming: Iterable[object]) -> Iterator[Diagnosed]:
        flight = None if self.flights is None else Flight(os.path.join(self.flights, f"{self.stage.stage}-{split}"))
        guard = Guard(self.dumps, self.most, flight)
        stage = guarded_stage(self.stage, guard)
        notes, emitted = Notes(), Emitted()
        cut = None if self.impatience is None else Cut(self.impatience, split, guard)
        arriving = iter(incoming)
        for _ in stage.frames(split, arriving, notes, emitted, cut):
            pass
        was_cut = cut is not None and cut.ended()
        if not was_cut:
            read_out(arriving)
        if flight is not None:
            flight.close()
        if guard.total:
            self._write(split, CUT if was_cut else GUARDED, notes, emitted.records)
        if not was_cut:
            drop_block(self.stage.store, self.run, self.stage.stage, split, CUT)
        yield Diagnosed(split, guard.crashes, guard.total, guard.lost, was_cut)

    def _write(self, split: int, attempt: int, notes: Notes, emitted: int) -> None:
        columns = {name: column() for name, column in notes.columns.items() if not name.startswith("out.")}
        levels = notes.counts(emitted)
        write_block(self.stage.store, self.run, Block(self.stage.stage, split, attempt, levels, 0, columns, ended=notes.ended and attempt != CUT, finished=notes.finished and attempt != CUT))
