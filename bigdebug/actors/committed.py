"""Committed: all that an actor said, whole. A directory of arrays, which are mapped when somebody asks, and a catalog."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bigdebug.actors.associations import Associations, load
from bigdebug.actors.items import Items
from bigdebug.actors.places import Place
from bigdebug.errors import StoreError
from bigdebug.shown import by_fields, plain
from bigdebug.store.contained import contained, read_json
from bigdebug.store.formats import check_format
from bigdebug.trace.across.located import Unit
from bigdebug.trace.across.paths import short

FORMAT = 1
CATALOG = "actor.json"

_REMEDY = "Restore the directory, or remove it: no other actor needs it."


@dataclass(frozen=True)
class Facts:
    """What an actor said when it was registered. ``kind``, ``takes`` and ``gives`` are names of types, innermost first; ``within`` are ids; ``began`` is in seconds since 1970."""

    id: str
    name: str
    kind: tuple[str, ...]
    takes: tuple[str, ...]
    gives: tuple[str, ...]
    within: tuple[str, ...]
    began: float

    def dump(self) -> dict[str, Any]:
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}

    @classmethod
    def load(cls, data: Mapping[str, Any]) -> Facts:
        """Raises ValueError, LookupError, TypeError for what nobody wrote."""
        chains = {name: tuple(map(str, data[name])) for name in ("kind", "takes", "gives", "within")}
        if not all(chains[name] for name in ("kind", "takes", "gives")):
            raise ValueError("an actor without types")
        return cls(str(data["id"]), str(data["name"]), began=float(data["began"]), **chains)


@dataclass(frozen=True, repr=False)
class ActorCulprit:
    """An input that an actor failed on (Newt 4): its number among the inputs, how it looks, what was to be made of it, and what went wrong.

    ``number`` is None if nothing had come yet. ``actor`` is the id of that actor. ``at`` is where it stands, of an actor that did not commit: of one that did, its inputs say so.
    """

    number: int | None
    input: str
    output: str
    error: str
    actor: str
    at: Place | None = None

    def __str__(self) -> str:
        which = "no input" if self.number is None else f"input {self.number:,}"
        where = "" if self.at is None or self.input else f"{short(self.at.path)}, {self.at.unit.value} {self.at.position + (self.at.unit is Unit.LINE):,}"
        return plain(": ".join(filter(None, (which, self.input or where, self.error))))

    def __repr__(self) -> str:
        return by_fields(self)

    def dump(self) -> dict[str, Any]:
        """As data that JSON takes."""
        return {name: value for name, value in vars(self).items() if name not in ("actor", "at")}

    @classmethod
    def load(cls, data: Mapping[str, Any], actor: str) -> ActorCulprit:
        """The inverse, of an actor. Raises ValueError, LookupError, TypeError for what nobody wrote."""
        number = data["number"]
        return cls(None if number is None else int(number), str(data["input"]), str(data["output"]), str(data["error"]), actor)


@dataclass(frozen=True, eq=False)
class Committed:
    """What a committed actor knows. ``incomplete`` says why its lineage is not exact, or not there; ``dropped`` are the parts that had not committed;
    ``believed`` is what was promised of it, and tried on some records alone.
    """

    facts: Facts
    ended: float
    inputs: Items
    outputs: Items
    associations: Associations
    culprits: tuple[ActorCulprit, ...] = ()
    incomplete: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    believed: str = ""

    def write(self, home: Path) -> None:
        """Write it into a directory that nobody looks into before it has its name."""
        catalog = {
            "format": FORMAT, **self.facts.dump(), "ended": self.ended, "inputs": self.inputs.dump(home, "inputs"), "outputs": self.outputs.dump(home, "outputs"),
            "associations": self.associations.dump(home), "culprits": [each.dump() for each in self.culprits],
            "incomplete": list(self.incomplete), "dropped": list(self.dropped), "believed": self.believed,
        }
        (home / CATALOG).write_text(json.dumps(catalog), encoding="utf-8")
        for file in home.iterdir():
            file.chmod(0o600)


Check = Callable[[Path], object]
"""Looks at a file before it is read; raises StoreErrors where it is not the one that was written."""


class Kept:
    """A committed actor in its directory. Its catalog is read at once, its arrays when they are needed.

    Raises StoreError for a directory that is not whole, StoreVersionError for one of a later format, CorruptBlockError where bytes are not those that were written.
    """

    def __init__(self, home: Path, check: Check | None = None) -> None:
        self._home = home
        with self._named():
            if check is not None:
                check(home / CATALOG)
            self._catalog = read_json(home, CATALOG)
            check_format(self._catalog["format"], FORMAT, home, "actor was committed", "committed")
            self.facts = Facts.load(self._catalog)
            if self.facts.id != home.name:
                raise ValueError(f"it says that it is {self.facts.id!r}")

    @cached_property
    def committed(self) -> Committed:
        told = self._catalog
        with self._named():
            inputs, outputs = (Items.load(told[side], self._find) for side in ("inputs", "outputs"))
            return Committed(
                self.facts, float(told["ended"]), inputs, outputs, load(told["associations"], self._find, inputs.count, outputs.count), tuple(ActorCulprit.load(each, self.facts.id) for each in told["culprits"]),
                tuple(map(str, told["incomplete"])), tuple(map(str, told["dropped"])), str(told.get("believed", "")),
            )

    def _find(self, name: str) -> Path:
        return contained(self._home, name)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """What Python says of a catalog that nobody of ours wrote becomes an error of ours."""
        try:
            yield
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as problem:
            raise StoreError(
                f"This is no committed actor, or it was altered: {type(problem).__name__}: {problem}", value=str(self._home), remedy=_REMEDY,
            ) from problem
