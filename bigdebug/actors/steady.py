"""Steady: an actor around the user's own step, whose result and exceptions are what they are without."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from bigdebug.actors.actor import Actor, Home, begun
from bigdebug.actors.aside import being_tried
from bigdebug.actors.associations import Associations
from bigdebug.actors.items import Items
from bigdebug.actors.kinds import ActorType
from bigdebug.actors.places import NOWHERE, Places
from bigdebug.errors import ActorError, BigdebugError, StoreError

log = logging.getLogger("bigdebug")

PANDAS, GENERATOR, PROGRAM = ActorType("pandas"), ActorType("generator"), ActorType("program")
"""The types of what is captured ready-made, as a pipeline shows them."""


class Steady:
    """An actor, or none where the home of actors cannot be written: then a warning was logged, and nothing is captured."""

    def __init__(self, actor: Actor | None) -> None:
        self.actor = actor

    @property
    def id(self) -> str:
        """Empty if there is none."""
        return "" if self.actor is None else self.actor.id

    def commit_as(self, inputs: Items, outputs: Items, associations: Associations, incomplete: tuple[str, ...] = (), believed: str = "") -> None:
        """Commit; a StoreError is logged, and that somebody forgot the actor meanwhile, or committed it in another process."""
        if self.actor is None:
            return
        try:
            self.actor.commit_as(inputs, outputs, associations, incomplete, believed)
        except (StoreError, ActorError) as problem:
            self.actor = None
            self.warn(problem)

    def fail_at(self, number: int, error: BaseException, places: Places = NOWHERE) -> None:
        """The input of this number, which stands there, made trouble."""
        if self.actor is not None:
            self.actor.fail_at(number, error, places)

    def commit_with(self, reads: Sequence[str], writes: Sequence[str], incomplete: Sequence[str], untold: Callable[[Sequence[str]], str]) -> None:
        """Commit what calls said, and files of which they said nothing; else as ``commit_as``."""
        if self.actor is None:
            return
        try:
            self.actor.commit_with(reads, writes, incomplete, untold)
        except (StoreError, ActorError) as problem:
            self.warn(problem)

    def abandon(self, error: BaseException | str) -> None:
        """The user's step went wrong. Else as ``commit_as``."""
        if self.actor is None or self.actor.done:
            return
        try:
            self.actor.abandon(error)
        except (StoreError, ActorError) as problem:
            self.warn(problem)

    def warn(self, problem: BigdebugError) -> None:
        """Log that the step is not captured."""
        log.warning("bigdebug: a step is not captured: %s", problem)


@contextmanager
def steady(name: str, kind: ActorType, home: Home, reads: Sequence[str] = (), writes: Sequence[str] = ()) -> Iterator[Steady]:
    """Within: the user's step, which begins with these files. What it raises is raised, and the actor has failed; that the home cannot be written is a warning alone. In a trial there is no actor."""
    try:
        made = Steady(None if being_tried() else begun(name, kind, home, reads, writes))
    except StoreError as problem:
        made = Steady(None)
        made.warn(problem)
    try:
        yield made
    except BaseException as error:
        made.abandon(error)
        raise
