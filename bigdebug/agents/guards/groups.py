"""Guarded functions of groups: in the place of the user's they give what is told of the rows of a group that crashed.

A row is told by a name of two numbers, which the last two columns of what the function is given hold.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from bigdebug.agents.guards.batches import Column, copied, part, rows_of
from bigdebug.agents.guards.code import Code, Fitting, anything, crash_of, told
from bigdebug.agents.guards.columns import Making
from bigdebug.agents.guards.inflight import crashes
from bigdebug.agents.guards.searching import found
from bigdebug.agents.guards.sides import Sides

Telling = list[tuple[int, list[tuple[int, int]], bytes]]
"""The number of the group, names of its rows that crashed together, and what is told of that."""

MOST_TOGETHER = 100
"""Rows that are named of those that crashed only together, the last ones."""


@dataclass(frozen=True)
class GuardedGroup:
    """A function of all rows of a group, or of two groups of one key."""

    code: Code
    table: Making
    fitting: Fitting = anything

    def __call__(self, key: tuple[Any, ...], *groups: Any) -> Any:
        bare = [_without_names(group) for group in groups]
        call = partial(fitted, self.fitting, self.code, key)
        try:
            call(*map(copied, bare))
        except crashes() as problem:
            return self.table({0: pickle.dumps(self._told(call, groups, bare, problem))}, 1)
        return self.table({}, 1)

    def _told(self, call: Callable[..., Any], groups: Sequence[Any], bare: Sequence[Any], problem: BaseException) -> Telling:
        """What is told of the rows that are the cause: without them the function does not crash. If none is alone, of all rows of one group."""
        def crash(*places: Sequence[int]) -> BaseException | None:
            return crash_of(call, *map(part, bare, places))

        sizes = [rows_of(group) for group in groups]
        causes = [dict(found(crash, sizes[0], problem))] if len(groups) == 1 else Sides(crash, (sizes[0], sizes[1]), problem).causes()
        tellings = [telling for side, known in enumerate(causes) for telling in named(side, _names_of(groups[side]), known)]
        if not tellings:
            side, names = next((side, names) for side, group in enumerate(groups) if (names := _names_of(group)))
            tellings = named(side, names, {len(names) - 1: told(problem, len(names))})
        return tellings


@dataclass(frozen=True)
class GuardedAggregate:
    """A function that gives one value of columns of many rows; its first two columns are the rows' names."""

    code: Code

    def __call__(self, one: Column, other: Column, *given: Column, **columns: Column) -> bytes | None:
        try:
            self.code.function(*map(copied, given), **{name: copied(column) for name, column in columns.items()})
        except crashes() as problem:
            names = list(zip(_numbers(one), _numbers(other), strict=True))
            crash = partial(self._crash, given, columns)
            return pickle.dumps(named(0, names, dict(found(crash, len(names), problem))))
        return None

    def _crash(self, given: Sequence[Column], columns: dict[str, Column], places: Sequence[int]) -> BaseException | None:
        some = {name: part(column, places) for name, column in columns.items()}
        return crash_of(self.code.function, *[part(column, places) for column in given], **some)


def named(side: int, names: Sequence[tuple[int, int]], known: dict[int, bytes]) -> Telling:
    """What is told of rows at their places, by their names."""
    return [(side, [*names[max(0, at + 1 - _together(packed)):at + 1]], packed) for at, packed in known.items()]


def _together(packed: bytes) -> int:
    together: int = pickle.loads(packed)[-1]
    return min(max(1, together), MOST_TOGETHER)


def _names_of(group: Any) -> list[tuple[int, int]]:
    columns = [group.iloc[:, at] for at in (-2, -1)] if hasattr(group, "iloc") else group.columns[-2:]
    return list(zip(*map(_numbers, columns), strict=True))


def _without_names(group: Any) -> Any:
    if hasattr(group, "iloc"):
        return group.iloc[:, :-2]
    return group.remove_column(group.num_columns - 1).remove_column(group.num_columns - 2)


def _numbers(column: Column) -> list[int]:
    return [int(value) for value in (column.tolist() if hasattr(column, "iloc") else column.to_pylist())]


@dataclass(frozen=True)
class LenientGroup:
    """A function of groups that gives nothing for those on which the user's crashes."""

    code: Code
    empty: Callable[[Any], Any]
    fitting: Fitting = anything

    def __call__(self, key: tuple[Any, ...], *groups: Any) -> Any:
        try:
            return fitted(self.fitting, self.code, key, *groups)
        except crashes():
            return self.empty(self.code.returns)


@dataclass(frozen=True)
class LenientAggregate:
    """A function of columns that gives None where the user's crashes. The user's may change them, and others are given the same ones."""

    code: Code

    def __call__(self, *given: Column, **columns: Column) -> Any:
        try:
            return self.code.function(*map(copied, given), **{name: copied(column) for name, column in columns.items()})
        except crashes():
            return None


def fitted(fitting: Fitting, code: Code, key: tuple[Any, ...], *groups: Any) -> Any:
    """What a function of groups gives; raises what Spark would if that, or a part of it, does not fit its type."""
    given = called(code, key, *groups)
    fits = fitting(code.returns)
    if fits is not None:
        for part_of in given if isinstance(given, list) else [given]:
            fits(part_of, 0)
    return given


def called(code: Code, key: tuple[Any, ...], *groups: Any) -> Any:
    """What a function gives that takes groups, or a key and those."""
    return code.function(key, *groups) if code.arguments > len(groups) else code.function(*groups)
