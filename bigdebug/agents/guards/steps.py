"""Guarded steps: record-wise steps that give nothing for a record on which one of them crashes, or what comes instead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, repeat
from operator import and_
from typing import Any

import numpy as np
import numpy.typing as npt

from bigdebug.agents.guards.guard import Guard, guarded
from bigdebug.agents.guards.inflight import NO_RECORD, Instead, Note
from bigdebug.agents.guards.inputs import Inputs
from bigdebug.agents.notes import Notes, smallest
from bigdebug.agents.segments import Around, Filter, Leaked, Map, Offsets, OneToOne, Step, Tally


@dataclass(frozen=True)
class GuardedSteps:
    """Outputs are noted at each pull, whatever the steps are; of those that give one for each input, the inputs without."""

    steps: tuple[Step, ...]
    operators: tuple[int, ...]
    number: int
    guard: Guard
    inputs: Inputs | None = None
    """Of what they give, if somebody asks for these."""

    def run(self, split: int, records: Iterable[Any], notes: Notes, name: str, leaked: Leaked) -> Iterator[Any]:
        if not self.guard.replaces and all(isinstance(step, Map) for step in self.steps):
            return self._one_to_one(split, records, notes, name, leaked)

        def position() -> int:
            return len(notes.known(f"{name}.offsets")) - 1

        return Offsets(self._guarded(position, lambda note: note)).run(split, records, notes, name, leaked)

    def _one_to_one(self, split: int, records: Iterable[Any], notes: Notes, name: str, leaked: Leaked) -> Iterator[Any]:
        pulled = Tally(records)
        without: list[int] = []

        def position() -> int:
            return pulled.count() - 1

        def noting(note: Note) -> Note:
            return partial(_noted, note, lambda: without.append(position()))

        def offsets() -> npt.NDArray[Any]:
            every = np.arange(pulled.count())
            return smallest(every - np.searchsorted(without, every))

        passing = Tally(OneToOne(self._guarded(position, noting)).run(split, pulled.records, notes, name, leaked))
        notes.columns[f"{name}.offsets"] = offsets
        notes.levels[-2:] = [pulled.count, passing.count]
        return passing.records

    def _guarded(self, position: Callable[[], int], noting: Callable[[Note], Note]) -> tuple[Step, ...]:
        guard, first_alone = self.guard, (self.inputs, *repeat(None, len(self.steps) - 1))
        # Behind steps that give one output at most, no two records have one position.
        alone = (True, *accumulate(map(_gives_one, self.steps[:-1]), and_))
        return tuple(
            guarded(step, noting(guard.note(operator, self.number)), position, guard, guard.expected(operator), inputs, one)
            for operator, step, inputs, one in zip(self.operators, self.steps, first_alone, alone, strict=True)
        )


def _gives_one(step: Step) -> bool:
    return _gives_one(step.step) if isinstance(step, Around) else isinstance(step, Map | Filter)


def _noted(
    note: Note, left_out: Callable[[], None], position: int | None, given: Any, problem: BaseException, met: Any = NO_RECORD, again: bool = False,
    replaces: bool = False,
) -> Instead:
    left_out()
    return note(position, given, problem, met, again, replaces)
