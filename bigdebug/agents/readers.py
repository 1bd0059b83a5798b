"""Readers: the first level of a stage on one partition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol

from bigdebug.agents.frames import Loads, tag_of
from bigdebug.agents.notes import Notes
from bigdebug.agents.spool import Spool


class Reader(Protocol):
    """Turns what the worker was given into the records of level 0, noting what a trace needs to name them."""

    def read(self, incoming: Iterable[Any], notes: Notes) -> Iterable[Any]: ...


@dataclass(frozen=True)
class Direct:
    """Reads records that arrive one by one, in the order of their partition: position is id, nothing is noted."""

    def read(self, incoming: Iterable[Any], notes: Notes) -> Iterable[Any]:
        notes.levels.append(None)
        return incoming


@dataclass(frozen=True)
class Shuffled:
    """Reads the frames of a shuffle in canonical order. ``memory`` bytes of them are held, the rest spooled."""

    loads: Loads
    memory: int

    def read(self, incoming: Iterable[bytes], notes: Notes) -> Spool:
        return Spooled(Spool(incoming, self.loads, self.memory)).read((), notes)


@dataclass(frozen=True)
class Spooled:
    """Reads frames of a shuffle that have arrived already."""

    spool: Spool

    def read(self, incoming: Iterable[bytes], notes: Notes) -> Spool:
        self.spool.note(notes)
        notes.levels.append(self.spool.__len__)
        return self.spool


@dataclass(frozen=True)
class Product:
    """Reads pairs of tagged frames of a cartesian product and gives the pairs of records, frame by frame."""

    loads: Loads

    def read(self, incoming: Iterable[tuple[bytes, bytes]], notes: Notes) -> Iterator[Any]:
        notes.levels.append(None)
        columns = [notes.column(f"product.{side}_{fact}") for side in ("left", "right") for fact in ("start", "count")]

        def pairs() -> Iterator[Any]:
            for frames in incoming:
                tags = [tag_of(frame) for frame in frames]
                facts = (tags[0].start, tags[0].count, tags[1].start, tags[1].count)
                for column, fact in zip(columns, facts):
                    column.append(fact)
                yield from product(*map(self.loads, frames))

        return pairs()
