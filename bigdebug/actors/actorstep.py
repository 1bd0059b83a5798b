"""The step that an actor is to a pipeline: it tells of places in files, where the actor knows numbers of items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bigdebug.actors.associations import doubt
from bigdebug.actors.committed import ActorCulprit, Committed, Facts, Kept
from bigdebug.actors.flows import Flows
from bigdebug.actors.home import ActorHome
from bigdebug.actors.items import Items
from bigdebug.actors.kinds import RECORD, DataType
from bigdebug.actors.values import digest_of
from bigdebug.errors import BigdebugError
from bigdebug.trace.across.located import Extent, Located, Unit, gives_path, takes_path
from bigdebug.trace.positions import Positions, distinct


class Links(NamedTuple):
    """The actors that one takes from, and those that take from it, as ``flow_link`` said."""

    sources: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class ActorStep:
    """A committed actor. Items that stand in no file have an extent as well, whose name begins with ``item:``, with their numbers as rows.

    Opening one reads its catalog, and what says whether its items stand in files; what a question takes is read when it is asked. Raises StoreErrors where
    the actor was damaged.
    """

    facts: Facts
    _kept: Kept
    _home: ActorHome
    links: Links

    @property
    def id(self) -> str:
        return self.facts.id

    @property
    def name(self) -> str:
        return self.facts.name

    @property
    def kind(self) -> str:
        return self.facts.kind[0]

    @property
    def parents(self) -> Sequence[str]:
        """The ids of the actors that contain this one."""
        return self.facts.within

    @property
    def began(self) -> float | None:
        return self.facts.began

    @property
    def ended(self) -> float | None:
        return self._committed.ended

    @property
    def incomplete(self) -> Sequence[str]:
        return (*self._committed.incomplete, *self._sources[1])

    @property
    def believed(self) -> str:
        """What was promised of it, and tried on some records alone."""
        return self._committed.believed

    @property
    def culprits(self) -> Sequence[ActorCulprit]:
        """The inputs that it failed on."""
        return self._committed.culprits

    @property
    def dropped(self) -> Sequence[str]:
        """The ids of the actors that it contained, and that had not committed when it did."""
        return self._committed.dropped

    @cached_property
    def reads(self) -> Sequence[Extent]:
        """The files that its inputs stand in, and the actors that it takes from."""
        files = list(self._committed.inputs.places.files)
        nowhere = self._committed.inputs.nowhere()
        files += [_items(gives_path(source)) for source in (self._flows.sources if nowhere else self._flows.found())]
        if nowhere and not self._flows.sources:
            files.append(_items(takes_path(self.id)))
        return tuple(files)

    @cached_property
    def writes(self) -> Sequence[Extent]:
        """The files that its outputs stand in, and what it passes on without one."""
        files = list(self._committed.outputs.places.files)
        if self._committed.outputs.nowhere() or self.links.targets:
            files.append(_items(gives_path(self.id)))
        return tuple(files)

    def backward(self, outputs: Sequence[Located]) -> Sequence[Located]:
        """The inputs that outputs were made of."""
        return self._made_of(_numbers(self._committed.outputs, outputs, gives_path(self.id)))

    def forward(self, inputs: Sequence[Located]) -> Sequence[Located]:
        """The outputs that were made of inputs."""
        asked = [each for each in inputs if not self._flows.gives(each.path)]
        found = [_numbers(self._committed.inputs, asked, takes_path(self.id))]
        found += [self._flows.taken(each.path, each.positions) for each in inputs if self._flows.gives(each.path)]
        return self._made_from(distinct(np.concatenate(found)))

    def count(self, path: str) -> int:
        """How many items there are of what it took, or passed on, without a file."""
        if path == gives_path(self.id):
            return self._committed.outputs.count
        return self._flows.count(path) if self._flows.gives(path) else self._committed.inputs.count

    def untold(self, found: Located) -> bool:
        """Whether it said nothing of some of these records of a file that it wrote. (Of a header before its records nobody does.)"""
        told = self._committed.outputs.places.covered(found.path, found.positions)
        return not bool((told.there | (found.positions == 0) & (told.first == 1)).all())

    def leaves(self, found: Located) -> bool:
        """Whether some of these records stand before all that it said it wrote there, so that it may have left them as they were."""
        first = self._committed.outputs.places.covered(found.path, found.positions).first
        return len(found) > 0 and bool(found.positions[0] < first) and self.untold(found)

    # ---- by value (Newt 3.1) ----------------------------------------------------------------------------------

    def hashes(self, path: str) -> npt.NDArray[np.uint64] | None:
        """Half of the digest of each item that is passed on, or taken, without a file; None if some were not told by value."""
        side = {gives_path(self.id): self._committed.outputs, takes_path(self.id): self._committed.inputs}.get(path)
        return None if side is None else side.hashes

    def made_of(self, given: object, kind: DataType = RECORD) -> Sequence[Located]:
        """The inputs that the outputs of this value were made of. ``kind`` is the DataType, if it has a digest of its own."""
        return self._made_of(self._committed.outputs.equal(_digest(given, kind)))

    def made_from(self, taken: object, kind: DataType = RECORD) -> Sequence[Located]:
        """The outputs that were made of the inputs of this value, of a ``kind`` as in ``made_of``."""
        return self._made_from(self._committed.inputs.equal(_digest(taken, kind)))

    def inputs_of(self, records: object) -> Sequence[Located] | None:
        """The input that one of this actor's culprits is; None for what is none of its culprits."""
        if not isinstance(records, ActorCulprit) or records not in self.culprits:
            return None
        return self._told_inputs(np.array([] if records.number is None else [records.number], np.int64))

    def outputs_of(self, records: object) -> Sequence[Located] | None:
        """What was made of the input that a culprit is; None for what is none of its culprits."""
        if not isinstance(records, ActorCulprit) or records not in self.culprits:
            return None
        return self._made_from(np.array([] if records.number is None else [records.number], np.int64))

    def __repr__(self) -> str:
        return f"<ActorStep {self.id}>"

    # ---- inside -----------------------------------------------------------------------------------------------

    @property
    def _committed(self) -> Committed:
        return self._kept.committed

    @cached_property
    def _flows(self) -> Flows:
        return Flows(self._committed.inputs, self._sources[0])

    @cached_property
    def _sources(self) -> tuple[dict[str, Items], list[str]]:
        """What the actors give that this one takes from; and why it is not known of the others."""
        found: dict[str, Items] = {}
        lost = []
        for source in self.links.sources:
            if not self._home.has(source):
                lost.append(f"What the actor {source} gave to {self.id} is not known: it has not committed, or was forgotten")
                continue
            try:
                found[source] = self._home.kept(source).committed.outputs
            except BigdebugError as problem:
                lost.append(f"What the actor {source} gave to {self.id} cannot be read: {problem}")
        return found, lost

    def _made_of(self, outputs: Positions) -> Sequence[Located]:
        associations = self._committed.associations
        return _doubted(self._told_inputs(associations.backward(outputs)), doubt(associations, outputs))

    def _made_from(self, inputs: Positions) -> Sequence[Located]:
        associations = self._committed.associations
        made = associations.forward(inputs)
        return _doubted(self._told_outputs(made), doubt(associations, made))

    def _told_inputs(self, numbers: Positions) -> Sequence[Located]:
        """Inputs, by where they stand: in files, in what another actor gave, or in this one's arrivals."""
        places = self._committed.inputs.places
        found, nowhere = list(places.locate(numbers)), places.without(numbers)
        given, own = self._flows.given(numbers, nowhere)
        found += [Located.of(gives_path(source), Unit.ROW, positions) for source, positions in given.items() if len(positions)]
        found += [Located.of(takes_path(self.id), Unit.ROW, own)] if len(own) else []
        return tuple(_merged(found))

    def _told_outputs(self, numbers: Positions) -> Sequence[Located]:
        places = self._committed.outputs.places
        found, own = list(places.locate(numbers)), places.without(numbers)
        if self.links.targets:
            own = numbers
        return (*found, *([Located.of(gives_path(self.id), Unit.ROW, own)] if len(own) else []))


def _numbers(items: Items, asked: Sequence[Located], own: str) -> Positions:
    """The items that stand where something was asked for."""
    found = [items.check(each.positions) if each.path == own else items.places.numbers(each) for each in asked]
    return distinct(np.concatenate(found)) if found else np.zeros(0, np.int64)


def _doubted(found: Sequence[Located], why: str) -> Sequence[Located]:
    return tuple(replace(each, why=why) for each in found) if why else found


def _merged(found: Sequence[Located]) -> Iterator[Located]:
    """One for each file."""
    paths: dict[str, Located] = {}
    for each in found:
        old = paths.get(each.path)
        paths[each.path] = each if old is None else replace(each, positions=distinct(np.concatenate((old.positions, each.positions))))
    yield from paths.values()


def _items(path: str) -> Extent:
    return Extent(path, Unit.ROW, "item")


def _digest(value: object, kind: DataType) -> npt.NDArray[np.bytes_]:
    return np.array([digest_of(value, kind.digest)])
