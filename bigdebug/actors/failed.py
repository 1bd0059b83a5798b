"""Failed: what an actor that will not commit says of it: what went wrong, and on which inputs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bigdebug.actors.committed import ActorCulprit
from bigdebug.actors.places import Place
from bigdebug.shown import masked
from bigdebug.trace.across.located import Extent, Unit, dump_extent, load_extent


@dataclass(frozen=True)
class Failure:
    """What went wrong, in words; when, in seconds since 1970; the inputs that it failed on, and the files that these stand in; all files that it took records of, and that it left."""

    error: str
    ended: float | None
    culprits: tuple[ActorCulprit, ...] = ()
    reads: tuple[Extent, ...] = ()
    took: tuple[str, ...] = ()
    left: tuple[Extent, ...] = ()

    def write(self) -> str:
        """As JSON."""
        culprits = [{**each.dump(), "at": None if each.at is None else list(each.at)} for each in self.culprits]
        files = {name: [dump_extent(each) for each in extents] for name, extents in (("reads", self.reads), ("left", self.left))}
        return json.dumps({"error": self.error, "culprits": culprits, "ended": self.ended, "took": self.took, **files})

    def masked(self) -> Failure:
        """The same, without what is secret by now."""
        culprits = tuple(replace(each, input=masked(each.input), output=masked(each.output), error=masked(each.error)) for each in self.culprits)
        return replace(self, error=masked(self.error), culprits=culprits)

    @classmethod
    def read(cls, text: str, actor: str) -> Failure:
        """The inverse, of an actor. Raises ValueError, LookupError, TypeError, AttributeError for what nobody wrote."""
        told = json.loads(text)
        if not isinstance(told, dict) or not isinstance(told.get("error"), str) or not isinstance(told.get("ended", 0.0), int | float | None):
            raise ValueError("this is no account of a failure")
        reads, left = (tuple(map(load_extent, told.get(name, []))) for name in ("reads", "left"))
        culprits = tuple(_culprit(each, actor) for each in told.get("culprits", []))
        return cls(told["error"], told.get("ended"), culprits, reads, tuple(map(_path, told.get("took", []))), left)


def _path(told: Any) -> str:
    if not isinstance(told, str):
        raise ValueError("this is no path")
    return told


def _culprit(told: Mapping[str, Any], actor: str) -> ActorCulprit:
    number, at = told["number"], told.get("at")
    if not isinstance(number, int | None) or not all(isinstance(told[each], str) for each in ("input", "output", "error")):
        raise ValueError("this is no culprit")
    return replace(ActorCulprit.load(told, actor), at=None if at is None else _place(*at))


def _place(path: str, unit: str, position: int, length: int) -> Place:
    if not isinstance(path, str) or not all(isinstance(each, int) and each >= 0 for each in (position, length)):
        raise ValueError("this is no place in a file")
    return Place(path, Unit(unit), position, length)
