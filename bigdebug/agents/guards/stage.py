"""Guarded stages: a stage with guards around all that it calls of the user's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from bigdebug.agents import readers
from bigdebug.agents.emit import Combined, Emission, Records, Shuffled, in_place
from bigdebug.agents.frames import Dumps
from bigdebug.agents.guards.emissions import GuardedCombined, GuardedRecords, GuardedShuffled, Picklable, nowhere
from bigdebug.agents.guards.guard import Guard
from bigdebug.agents.guards.inputs import Inputs
from bigdebug.agents.guards.merges import GuardedCombine, GuardedGather, GuardedSort
from bigdebug.agents.guards.partition import Before, GuardedPaired, GuardedPartition
from bigdebug.agents.guards.placed import Arrived
from bigdebug.agents.guards.steps import GuardedSteps
from bigdebug.agents.merge import Combine, Gather, Sort
from bigdebug.agents.segments import Kept, Offsets, OneToOne, Paired, Whole, counted
from bigdebug.agents.stage import StageFunction


def guarded_segment(run: Any, operators: tuple[int, ...], number: int, guard: Guard, before: Before | None = None, behind: Inputs | None = None) -> Any:
    """What runs segment ``number`` of a stage, the one with these operators, and goes on where one of them crashes.

    ``before`` knows how to hold what it reads, and ``behind`` is to know those of what it gives, if anything is.
    """
    note = guard.note(operators[-1], number)
    match run:
        case OneToOne(steps) | Offsets(steps):
            return GuardedSteps(steps, operators, number, guard, behind)
        case Kept(step):
            return GuardedSteps((step,), operators, number, guard, behind)
        case Whole(function) if function is counted:
            return run
        case Paired(function) | Whole(function):
            expected = guard.expected(operators[-1])
            over = GuardedPartition(
                function, note, guard.dumps, guard.flight, exact=guard.decides, expected=expected, lost=guard.lose, before=before,
                unheard=guard.unheard,
            )
            return GuardedPaired(over) if isinstance(run, Paired) and not guard.decides else replace(run, function=over)
        case Combine(merge, memory, finish):
            return GuardedCombine(guard.flown(merge), memory, finish, note, guard.expected(operators[-1]), guard.dumps)
        case Gather(branches, finish, memory):
            return GuardedGather(branches, finish, memory, note)
        case Sort(order):
            return GuardedSort(order, note)
        case _:
            return run


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
    arrived = _arrived(guard, function)
    between = {n: _inputs(guard, run, following) for n, (run, following) in enumerate(pairwise(function.segments), 1)}
    segments = tuple(
        guarded_segment(run, operators, n, guard, between.get(n) if n else arrived, between.get(n + 1))
        for n, (run, operators) in enumerate(zip(function.segments, function.operators, strict=True))
    )
    return replace(function, reader=arrived or function.reader, segments=segments, emission=guarded_emission(function.emission, function.ends, len(segments), guard))


def _arrived(guard: Guard, function: StageFunction) -> Arrived | None:
    """What is to know where the first function's records stand among those that a shuffle hands over. Not where ``_inputs`` knows nothing either."""
    if guard.replaces or guard.flight is not None or not isinstance(function.reader, readers.Shuffled):
        return None
    return Arrived(function.reader) if any(isinstance(run, (Paired, Whole)) for run in function.segments[:1]) else None


def _inputs(guard: Guard, run: Any, following: Any) -> Inputs | None:
    """What is to know the inputs of what a segment gives to the one that follows.

    Not where something else may come in the place of what crashes, nor where functions are called in other processes.
    """
    if guard.replaces or guard.flight is not None or not isinstance(following, (Paired, Whole)):
        return None
    match run:
        case OneToOne(steps) | Offsets(steps):
            return Inputs.of(steps)
        case Kept(step):
            return Inputs.of((step,))
    return None
