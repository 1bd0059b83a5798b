"""Guarded stages: a stage with guards around all that it calls of the user's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from bigdebug.agents.emit import Combined, Emission, Records, Shuffled, in_place
from bigdebug.agents.frames import Dumps
from bigdebug.agents.guards.emissions import GuardedCombined, GuardedRecords, GuardedShuffled, Picklable, nowhere
from bigdebug.agents.guards.guard import Guard, guarded
from bigdebug.agents.guards.inflight import Note
from bigdebug.agents.guards.merges import GuardedCombine, GuardedSort
from bigdebug.agents.guards.partition import GuardedPartition
from bigdebug.agents.merge import Combine, Sort
from bigdebug.agents.notes import Notes
from bigdebug.agents.segments import Kept, Leaked, Offsets, OneToOne, Paired, Step, Whole
from bigdebug.agents.stage import StageFunction


@dataclass(frozen=True)
class GuardedSteps:
    """Record-wise steps of which some give nothing for a record: outputs are noted at each pull, whatever the steps are."""

    steps: tuple[Step, ...]
    operators: tuple[int, ...]
    number: int
    guard: Guard

    def run(self, split: int, records: Iterable[Any], notes: Notes, name: str, leaked: Leaked) -> Iterator[Any]:
        def position() -> int:
            return len(notes.known(f"{name}.offsets")) - 1

        steps = tuple(
            guarded(step, self.guard.note(operator, self.number), position, self.guard, self.guard.expected(operator))
            for operator, step in zip(self.operators, self.steps, strict=True)
        )
        return Offsets(steps).run(split, records, notes, name, leaked)


def guarded_segment(run: Any, operators: tuple[int, ...], number: int, guard: Guard) -> Any:
    """What runs segment ``number`` of a stage, the one with these operators, and goes on where one of them crashes."""
    note = guard.note(operators[-1], number)
    match run:
        case OneToOne(steps) | Offsets(steps):
            return GuardedSteps(steps, operators, number, guard)
        case Kept(step):
            return GuardedSteps((step,), operators, number, guard)
        case Paired(function):
            return Paired(_over_partition(function, note, guard, operators[-1]))
        case Whole(function):
            return Whole(_over_partition(function, note, guard, operators[-1]))
        case Combine(merge, memory, finish):
            return GuardedCombine(guard.flown(merge), memory, finish, note, guard.expected(operators[-1]), guard.dumps)
        case Sort(order):
            return GuardedSort(order, note)
        case _:
            return run


def _over_partition(function: Callable[[int, Iterable[Any]], Iterable[Any]], note: Note, guard: Guard, operator: int) -> GuardedPartition:
    return GuardedPartition(function, note, guard.dumps, guard.flight, guard.decides, guard.expected(operator), guard.lose)


def guarded_emission(emission: Emission, operator: int, number: int, guard: Guard) -> Emission:
    """What emits a stage's records, which are those before segment ``number``, for ``operator``, and leaves out where that crashes."""
    note, expected = guard.note(operator, number), guard.expected(operator)

    def sending(dumps: Dumps) -> Dumps:
        # Records are counted where they are read: what a job gives has no gaps.
        return dumps if guard.decides else Picklable(dumps, nowhere(note))

    match emission:
        case Records(dumps, batch, branch) if not guard.decides:
            return GuardedRecords(dumps, batch, branch, note)
        case Shuffled(dumps, partition, targets, branch, stays, pairs):
            return GuardedShuffled(sending(dumps), _dealing(guard, partition), targets, branch, stays, pairs, note, expected)
        case Combined(dumps, create, merge, partition, targets, memory, branch, stays):
            create, merge, partition = guard.flown(create), guard.flown(merge), _dealing(guard, partition)
            return GuardedCombined(sending(dumps), create, merge, partition, targets, memory, branch, stays, note, expected, guard.dumps)
        case _:
            return emission


def _dealing(guard: Guard, partition: Callable[[Any], int]) -> Callable[[Any], int]:
    return partition if partition is in_place else guard.flown(partition)


def guarded_stage(function: StageFunction, guard: Guard) -> StageFunction:
    """A stage that goes on behind what crashes in it."""
    pairs = zip(function.segments, function.operators, strict=True)
    segments = tuple(guarded_segment(run, known, n, guard) for n, (run, known) in enumerate(pairs))
    return replace(function, segments=segments, emission=guarded_emission(function.emission, function.ends, len(segments), guard))
