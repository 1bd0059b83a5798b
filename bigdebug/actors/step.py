"""The step that an actor is to a pipeline: it tells of places in files, where the actor knows numbers of items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bigdebug.actors.actor import Actor, Home, home_of
from bigdebug.actors.committed import ActorCulprit, Committed, Facts, Kept
from bigdebug.actors.flows import Flows, gives_path, takes_path
from bigdebug.actors.home import ActorHome
from bigdebug.actors.items import Items
from bigdebug.actors.values import digest_of
from bigdebug.errors import BigdebugError, IncompleteLineageError
from bigdebug.trace.across.located import Extent, Located, Unit
from bigdebug.trace.positions import Positions, distinct


@dataclass(frozen=True, eq=False, repr=False)
class ActorStep:
    """A committed actor. Items that stand in no file have an extent as well, whose name begins with ``item:``, with their numbers as rows.

    Opening one reads its catalog; what a question takes is read when it is asked. Raises StoreErrors where the actor was damaged.
    """

    facts: Facts
    _kept: Kept
    _home: ActorHome

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
        return self._committed.incomplete

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
        if self._committed.inputs.nowhere():
            files += [_items(gives_path(source)) for source in self._flows.sources] or [_items(takes_path(self.id))]
        return tuple(files)

    @cached_property
    def writes(self) -> Sequence[Extent]:
        """The files that its outputs stand in, and what it passes on without one."""
        files = list(self._committed.outputs.places.files)
        if self._committed.outputs.nowhere() or self._home.targets(self.id):
            files.append(_items(gives_path(self.id)))
        return tuple(files)

    def backward(self, outputs: Sequence[Located]) -> Sequence[Located]:
        """The inputs that outputs were made of."""
        numbers = _numbers(self._committed.outputs, outputs, gives_path(self.id))
        return self._told_inputs(self._committed.associations.backward(numbers))

    def forward(self, inputs: Sequence[Located]) -> Sequence[Located]:
        """The outputs that were made of inputs."""
        asked = [each for each in inputs if not self._flows.gives(each.path)]
        found = [_numbers(self._committed.inputs, asked, takes_path(self.id))]
        found += [self._flows.taken(each.path, each.positions) for each in inputs if self._flows.gives(each.path)]
        return self._told_outputs(self._committed.associations.forward(distinct(np.concatenate(found))))

    # ---- by value (Newt 3.1) ----------------------------------------------------------------------------------

    def hashes(self, path: str) -> npt.NDArray[np.uint64] | None:
        """Half of the digest of each item that is passed on, or taken, without a file; None if some were not told by value."""
        side = {gives_path(self.id): self._committed.outputs, takes_path(self.id): self._committed.inputs}.get(path)
        return None if side is None else side.hashes

    def made_of(self, given: object) -> Sequence[Located]:
        """The inputs that the outputs of this value were made of. A value of a DataType with a digest of its own: its bytes."""
        found = self._committed.outputs.equal(_digest(given))
        return self._told_inputs(self._committed.associations.backward(found))

    def made_from(self, taken: object) -> Sequence[Located]:
        """The outputs that were made of the inputs of this value."""
        found = self._committed.inputs.equal(_digest(taken))
        return self._told_outputs(self._committed.associations.forward(found))

    def inputs_of(self, records: object) -> Sequence[Located] | None:
        """The input that one of this actor's culprits is; None for what is none of its culprits."""
        if not isinstance(records, ActorCulprit) or records not in self.culprits:
            return None
        return self._told_inputs(np.array([] if records.number is None else [records.number], np.int64))

    def outputs_of(self, records: object) -> Sequence[Located] | None:
        """What was made of the input that a culprit is; None for what is none of its culprits."""
        if not isinstance(records, ActorCulprit) or records not in self.culprits:
            return None
        numbers = np.array([] if records.number is None else [records.number], np.int64)
        return self._told_outputs(self._committed.associations.forward(numbers))

    def __repr__(self) -> str:
        return f"<ActorStep {self.id}>"

    # ---- inside -----------------------------------------------------------------------------------------------

    @property
    def _committed(self) -> Committed:
        return self._kept.committed

    @cached_property
    def _flows(self) -> Flows:
        sources = self._home.sources(self.id)
        return Flows(self._committed.inputs, {source: self._home.kept(source).committed.outputs for source in sources if self._has_committed(source)})

    def _has_committed(self, actor: str) -> bool:
        return (self._home.root / actor).is_dir()

    def _told_inputs(self, numbers: Positions) -> Sequence[Located]:
        """Inputs, by where they stand: in files, in what another actor gave, or in this one's arrivals."""
        places = self._committed.inputs.places
        found, nowhere = list(places.locate(numbers)), places.without(numbers)
        if len(nowhere):
            given, own = self._flows.given(nowhere)
            found += [Located.of(gives_path(source), Unit.ROW, positions) for source, positions in given.items() if len(positions)]
            found += [Located.of(takes_path(self.id), Unit.ROW, own)] if len(own) else []
        return tuple(_merged(found))

    def _told_outputs(self, numbers: Positions) -> Sequence[Located]:
        places = self._committed.outputs.places
        found, own = list(places.locate(numbers)), places.without(numbers)
        if self._home.targets(self.id):
            own = numbers
        return (*found, *([Located.of(gives_path(self.id), Unit.ROW, own)] if len(own) else []))


@dataclass(frozen=True)
class UncommittedStep:
    """An actor that has not committed: it is there, and ``incomplete`` says why it cannot be asked. ``culprits`` are those that it failed on."""

    id: str
    name: str
    kind: str
    began: float | None
    ended: float | None
    incomplete: Sequence[str]
    parents: Sequence[str] = ()
    culprits: Sequence[ActorCulprit] = ()
    reads: Sequence[Extent] = ()
    writes: Sequence[Extent] = ()

    def backward(self, outputs: Sequence[Located]) -> Sequence[Located]:
        raise self._refused()

    def forward(self, inputs: Sequence[Located]) -> Sequence[Located]:
        raise self._refused()

    def _refused(self) -> BigdebugError:
        return IncompleteLineageError(self.incomplete[0], remedy="Run it again, and commit it when it is done.")


def steps(home: Home = None) -> list[ActorStep | UncommittedStep]:
    """All actors of a home (of this user's, if None), in the order in which they began; those that have not committed say so.

    One that was damaged is left among those that say so; the others are not touched by it.
    """
    place = home_of(home)
    committed, waiting = place.ids()
    found: list[ActorStep | UncommittedStep] = [_opened(place, actor) for actor in committed]
    found += filter(None, (_uncommitted(place, actor) for actor in waiting))
    return sorted(found, key=lambda step: (step.began or 0.0, step.id))


def step(actor: Actor | str, home: Home = None) -> ActorStep:
    """A committed actor, to be asked. Raises UnknownActorError, IncompleteLineageError if it has not committed, StoreErrors."""
    place = home_of(actor._home if isinstance(actor, Actor) and home is None else home)
    name = actor.id if isinstance(actor, Actor) else actor
    if name in place.ids()[1]:
        raise IncompleteLineageError(f"The actor {name} cannot be asked: {place.why_not(name)[0]}", remedy="Commit it when it is done.")
    kept = place.kept(name)
    return ActorStep(kept.facts, kept, place)


def forget(actor: Actor | str | ActorStep | UncommittedStep, home: Home = None) -> None:
    """Take away an actor, committed or not, and all that it contains."""
    own = getattr(actor, "_home", None)
    home_of(own if home is None else home).forget(actor if isinstance(actor, str) else actor.id)


def _opened(home: ActorHome, actor: str) -> ActorStep | UncommittedStep:
    try:
        kept = home.kept(actor)
    except BigdebugError as damaged:
        return UncommittedStep(actor, actor, "actor", None, None, (str(damaged),))
    return ActorStep(kept.facts, kept, home)


def _uncommitted(home: ActorHome, actor: str) -> UncommittedStep | None:
    why, told = home.why_not(actor)
    try:
        facts = home.facts(actor)
    except BigdebugError as damaged:
        return UncommittedStep(actor, actor, "actor", None, None, (str(damaged),))
    culprits = tuple(ActorCulprit(**each) for each in told.get("culprits", ()))
    return UncommittedStep(actor, facts.name, facts.kind[0], facts.began, told.get("ended"), (f"The actor {facts.name} cannot be asked: {why}",), facts.within, culprits)


def _numbers(items: Items, asked: Sequence[Located], own: str) -> Positions:
    """The items that stand where something was asked for."""
    found = [items.check(each.positions) if each.path == own else items.places.numbers(each) for each in asked]
    return distinct(np.concatenate(found)) if found else np.zeros(0, np.int64)


def _merged(found: Sequence[Located]) -> Iterator[Located]:
    """One for each file."""
    paths: dict[str, Located] = {}
    for each in found:
        old = paths.get(each.path)
        paths[each.path] = each if old is None else replace(each, positions=distinct(np.concatenate((old.positions, each.positions))))
    yield from paths.values()


def _items(path: str) -> Extent:
    return Extent(path, Unit.ROW, "item")


def _digest(value: object) -> npt.NDArray[np.bytes_]:
    return np.array([digest_of(value)])
