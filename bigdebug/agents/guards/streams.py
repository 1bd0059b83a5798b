"""Streams: functions that take a group in batches, called on a whole one, and one that gives nothing for groups on which it crashes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from bigdebug.agents.guards.code import Code, Fitting, anything
from bigdebug.agents.guards.groups import fitted
from bigdebug.agents.guards.inflight import crashes


@dataclass(frozen=True)
class StreamingGroup(Code):
    """A function of a group, or of a key and a group, of an iterator of batches. It is called on all of them, and all that it gives is taken."""

    def _chain(self) -> Callable[..., Any]:
        given = super()._chain()
        return lambda *taken: list(given(*taken[:-1], iter(_batches(taken[-1]))))


@dataclass(frozen=True)
class StreamingAggregate(Code):
    """A function that gives one value of an iterator of columns, or of tuples of them. It is called on columns."""

    def _chain(self) -> Callable[..., Any]:
        given = super()._chain()
        return lambda *columns: given(iter([columns if len(columns) > 1 else columns[0]]))


@dataclass(frozen=True)
class LenientStream:
    """A function of groups in batches that gives nothing for those on which the user's crashes. A group is held, and what it gives."""

    code: Code
    fitting: Fitting = anything

    def __call__(self, key: tuple[Any, ...], batches: Iterator[Any]) -> Iterator[Any]:
        group = list(batches)  # all of it: Spark reads the next one behind it
        try:
            return iter(fitted(self.fitting, self.code, key, group))
        except crashes():
            return iter(())


def _batches(group: Any) -> list[Any]:
    """A table as the batches that it came in; pandas does not know of any."""
    if isinstance(group, list):
        return group
    return group.to_batches() if hasattr(group, "to_batches") else [group]
