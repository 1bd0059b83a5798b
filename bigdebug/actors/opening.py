"""Opening: the actors of a home as steps, for a pipeline or one by one: those that have committed, and those that say why they have not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakValueDictionary

import numpy as np

from bigdebug.actors.actor import Actor, Home, home_of
from bigdebug.actors.actorstep import ActorStep, Links
from bigdebug.actors.committed import ActorCulprit
from bigdebug.actors.home import ActorHome
from bigdebug.errors import BigdebugError, IncompleteLineageError, UntraceableError
from bigdebug.trace.across.located import Extent, Located

_OPENED: WeakValueDictionary[tuple[object, ...], ActorStep | UncommittedStep] = WeakValueDictionary()
"""Steps that somebody holds: the same actor is the same object, so that a pipeline sees that nothing is new, and nothing is read twice."""


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
    failed_in: Sequence[Extent] = ()
    """The files that its culprits stand in. It has no part in what else comes of these."""
    reads: Sequence[Extent] = ()
    writes: Sequence[Extent] = ()
    took: Sequence[str] = ()
    left: Sequence[Extent] = ()
    """The files that it had begun to read when it failed, or was killed, and those that it had written."""
    lost: str = ""
    """Why nobody knows what it read and wrote, where it, or what it said of its failure, was damaged."""

    def backward(self, outputs: Sequence[Located]) -> Sequence[Located]:
        raise self._refused()

    def forward(self, inputs: Sequence[Located]) -> Sequence[Located]:
        raise self._refused()

    def inputs_of(self, records: object) -> Sequence[Located] | None:
        """Where the input stands that one of its culprits is; None for what is none of its culprits. Raises UntraceableError where that was not told."""
        if not isinstance(records, ActorCulprit) or records not in self.culprits:
            return None
        if records.at is None:
            raise UntraceableError("Where this culprit stands was not told, and the step did not commit", value=str(records), remedy="Tell the places of inputs: add_input(at=actors.Place.line(path, n)).")
        return (Located.of(records.at.path, records.at.unit, np.arange(records.at.position, records.at.position + records.at.length)),)

    def outputs_of(self, records: object) -> Sequence[Located] | None:
        """Nothing was made of a culprit; None for what is none of its culprits."""
        return () if isinstance(records, ActorCulprit) and records in self.culprits else None

    def _refused(self) -> BigdebugError:
        return IncompleteLineageError(self.incomplete[0], remedy="Run it again, and commit it when it is done.")


def steps(home: Home = None) -> list[ActorStep | UncommittedStep]:
    """All actors of a home (of this user's, if None), in the order in which they began; those that have not committed say so.

    One that was damaged is left among those that say so; the others are not touched by it.
    """
    place = home_of(home)
    committed, waiting = place.ids()
    links = _links(place)
    found = [_opened(place, actor, links.get(actor, Links())) for actor in committed]
    found += [_uncommitted(place, actor) for actor in waiting]
    return sorted(found, key=lambda step: (step.began or 0.0, step.id))


def step(actor: Actor | str, home: Home = None) -> ActorStep:
    """A committed actor, to be asked. Raises UnknownActorError, IncompleteLineageError if it has not committed, StoreErrors."""
    place = home_of(actor._home if isinstance(actor, Actor) and home is None else home)
    name = actor.id if isinstance(actor, Actor) else actor
    if name in place.ids()[1]:
        raise IncompleteLineageError(f"The actor {name} cannot be asked: {place.why_not(name)[0]}", remedy="Commit it when it is done.")
    kept = place.kept(name)
    return ActorStep(kept.facts, kept, place, _links(place).get(name, Links()))


def forget(actor: Actor | str | ActorStep | UncommittedStep, home: Home = None) -> None:
    """Take away an actor, committed or not, and all that it contains."""
    own = getattr(actor, "_home", None)
    home_of(own if home is None else home).forget(actor if isinstance(actor, str) else actor.id)


def _links(home: ActorHome) -> dict[str, Links]:
    """The links of all actors that have some."""
    found: dict[str, Links] = {}
    for source, target in home.links():
        for actor, more in ((source, Links(targets=(target,))), (target, Links(sources=(source,)))):
            known = found.get(actor, Links())
            found[actor] = Links(known.sources + more.sources, known.targets + more.targets)
    return found


def _opened(home: ActorHome, actor: str, links: Links) -> ActorStep | UncommittedStep:
    name = (home.root, home.check is None, actor, links, tuple(map(home.has, links.sources)))  # what it was given is known when that has committed
    known = _OPENED.get(name)
    if known is not None:
        return known
    try:
        kept = home.kept(actor)
        found = ActorStep(kept.facts, kept, home, links)
        _ = found.reads, found.writes, found.incomplete  # which everybody asks of all steps
    except BigdebugError as damaged:
        return _same(name, UncommittedStep(actor, actor, "actor", None, None, (str(damaged),), lost=str(damaged)))
    return _same(name, found)


def _same(name: tuple[object, ...], step: ActorStep | UncommittedStep) -> ActorStep | UncommittedStep:
    """The step that is known by this name, if it says the same."""
    known = _OPENED.get(name)
    if known is not None and known == step:
        return known
    _OPENED[name] = step
    return step


def _uncommitted(home: ActorHome, actor: str) -> ActorStep | UncommittedStep:
    try:
        (why, told), facts = home.why_not(actor), home.facts(actor)
    except BigdebugError as damaged:
        return UncommittedStep(actor, actor, "actor", None, None, (str(damaged),), lost=str(damaged))
    sentence = f"The actor {facts.name} cannot be asked: {why}"
    lost = sentence if home.failed(actor) and not told.error else ""
    return _same((home.root, actor), UncommittedStep(
        actor, facts.name, facts.kind[0], facts.began, told.ended, (sentence,), facts.within, told.culprits, told.reads, took=told.took, left=told.left, lost=lost,
    ))
