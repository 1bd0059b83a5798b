"""Kinds: the types of actors and of data that a developer declares, each within others (Newt 3.1). What contains what is in them; they hold no actors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from bigdebug.errors import ActorError


@dataclass(frozen=True)
class ActorType:
    """A type of actors: one of the type ``within`` begins them, and is not done before they are."""

    name: str
    within: ActorType | None = None

    def __post_init__(self) -> None:
        _check(self.name, self.within, ActorType)

    @property
    def chain(self) -> tuple[str, ...]:
        """Its name, and those of what it is within, innermost first."""
        return tuple(each.name for each in _upwards(self))

    def check_parent(self, parent: tuple[str, ...]) -> None:
        """See that an actor of this type may be within one whose chain this is. Raises ActorError."""
        outer = self.chain[1:]
        if (outer and parent[0] not in outer) or self.name in parent[1:]:
            raise ActorError(
                f"A {self.name} is not within a {parent[0]}", remedy=f"Give it a type that is: ActorType({self.name!r}, within=...).",
            )


@dataclass(frozen=True)
class DataType:
    """A type of data. ``digest`` gives the bytes by which two of its items are the same; None: all of what they hold."""

    name: str
    within: DataType | None = None
    digest: Callable[[Any], bytes] | None = None

    def __post_init__(self) -> None:
        _check(self.name, self.within, DataType)

    @property
    def chain(self) -> tuple[str, ...]:
        """Its name, and those of what it is within, innermost first."""
        return tuple(each.name for each in _upwards(self))


def check_flow(given: tuple[str, ...], taken: tuple[str, ...]) -> None:
    """See that what an actor gives is what another takes, or a part of it, or contains it. Raises ActorError."""
    if given[0] not in taken and taken[0] not in given:
        raise ActorError(
            f"An actor that gives a {given[0]} has no flow to one that takes a {taken[0]}",
            remedy="Register both with the types of data that they pass on: register(..., takes=, gives=).",
        )


def _check(name: Any, within: Any, kind: type[ActorType | DataType]) -> None:
    if not isinstance(name, str) or not name:
        raise ActorError("The name of a type is a text that says something", value=name)
    if within is not None and not isinstance(within, kind):
        raise ActorError(f"{name} can only be within another {kind.__name__}", value=within)
    if within is not None and name in within.chain:
        raise ActorError(f"{name} cannot be within another {name}")


def _upwards(kind: Any) -> Iterator[Any]:
    while kind is not None:
        yield kind
        kind = kind.within


JOB = ActorType("job")
STAGE = ActorType("stage", JOB)
TASK = ActorType("task", STAGE)
OPERATOR = ActorType("operator", TASK)

DATASET = DataType("dataset")
FILE = DataType("file", DATASET)
RECORD = DataType("record", FILE)
