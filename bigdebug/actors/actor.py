"""Actor: an entity that transforms data and says what it made of what (Newt's capture API, Table 1)."""

from __future__ import annotations

import logging
import os
import stat
import threading
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, final

import numpy as np

from bigdebug.actors.aside import being_tried
from bigdebug.actors.associations import Associations
from bigdebug.actors.committed import ActorCulprit, Committed, Facts
from bigdebug.actors.failed import Failure
from bigdebug.actors.home import ActorHome
from bigdebug.actors.items import Items
from bigdebug.actors.kinds import RECORD, ActorType, DataType, check_flow
from bigdebug.actors.log import ANY, NEXT, Log, Side
from bigdebug.actors.places import NOWHERE, Place, Places, located
from bigdebug.actors.stamping import Stamper, written_at
from bigdebug.actors.values import digest_of
from bigdebug.errors import ActorError, BigdebugError
from bigdebug.outside import said
from bigdebug.shown import masked, shown
from bigdebug.store.paths import mode_of
from bigdebug.trace.across.located import ITEMS, Extent, FileStamp, Unit

log = logging.getLogger("bigdebug")

Home = str | os.PathLike[str] | ActorHome | None

ACTOR = ActorType("actor")
"""The type of an actor that is given none."""


@final
class Actor:
    """One that was registered. Within ``with`` it commits at the end, or has failed if an exception leaves the block: that one is raised, also where the failure cannot be kept.

    What passes is given to ``add_input`` and ``add_output``, by what it holds, by a place (``actors.Place.line(path, n)``), by both (``at=``), or by nothing: then an item is known by
    the order in which it came. An output was made of the inputs that came before it, since the last ``reset``; of a tag, of those with that tag.
    An output before any input was made of nothing. Calls come from any thread, and take a microsecond or so.
    """

    def __init__(self, facts: Facts, home: ActorHome, registration: Any, takes: DataType, gives: DataType, keeps: _Keeps | None) -> None:
        self.facts = facts
        self._home = home
        self._registration = registration
        self._log = Log(takes, gives)
        self._keeps = keeps
        self._alone = threading.Lock()
        self._extents: dict[str, Extent] = {}
        self._culprits: list[ActorCulprit] = []
        self._failed_in: dict[str, Extent] = {}
        self._began_with: tuple[Sequence[str], Mapping[str, Any]] = ((), {})
        self._stamp = Stamper()
        self._done = ""

    @property
    def id(self) -> str:
        """Unique, in all processes."""
        return self.facts.id

    @property
    def done(self) -> bool:
        """Whether it has committed, or failed: nothing more is captured."""
        return bool(self._done)

    # ---- Newt's standard and paired capture -------------------------------------------------------------------

    def capture(self, taken: Any, given: Any) -> bool:
        """``given`` was made of ``taken``, and of nothing else that was captured. True: in this replay the output is to be dropped."""
        if self._keeps is not None and self._keeps.drops(taken):
            return True
        with self._alone:
            self._go_on("captured")
            self._log.capture(taken, given)
        return False

    def add_input(self, item: Any = NEXT, tag: Hashable = ANY, *, at: Place | None = None) -> bool:
        """An input came, of a tag, or of several in a set. True: in this replay it is to be dropped."""
        if self._keeps is not None and self._keeps.drops(item, at):
            return True
        with self._alone:
            self._go_on("given an input")
            self._log.add_input(item, tag, at)
        return False

    def add_output(self, item: Any = NEXT, tag: Hashable = ANY, *, at: Place | None = None) -> None:
        """An output went, made of all inputs of its tag, or of any of its tags, since their last reset."""
        with self._alone:
            self._go_on("given an output")
            self._log.add_output(item, tag, at)

    def add_inputs(self, count: int, tag: Hashable = ANY) -> None:
        """So many inputs came, each known by its order; a tenth of a microsecond for each."""
        with self._alone:
            self._go_on("given inputs")
            self._log.add_many(self._log.inputs, _count(count), tag)

    def add_outputs(self, count: int, tag: Hashable = ANY) -> None:
        """So many outputs went."""
        with self._alone:
            self._go_on("given outputs")
            self._log.add_many(self._log.outputs, _count(count), tag)

    def reset(self, tag: Hashable = ANY) -> None:
        """What comes next of this tag, or of these, is made of nothing that came before."""
        with self._alone:
            self._go_on("reset")
            self._log.reset(tag)

    # ---- management -------------------------------------------------------------------------------------------

    def file(self, path: str | os.PathLike[str], form: str = "", options: Mapping[str, str] | None = None, stamp: FileStamp | None = None) -> None:
        """Say more of a file that items stand in: its format, the options that say where its records begin, what it held."""
        with self._alone:
            self._go_on("told of a file")
            name = located(path)
            if not isinstance(options or {}, Mapping):
                raise ActorError("The options of a file are a dictionary", value=options, remedy='Give texts by their names: {"header": "true"}.')
            self._extents[name] = Extent(name, Unit.LINE, form, tuple(sorted((options or {}).items())), stamp)

    def fail(self, item: Any = NEXT, output: Any = None, error: BaseException | str = "") -> None:
        """An input made trouble: keep it as a culprit (Newt 4). Without one it is the input that came last. The actor may go on, and commit."""
        with self._alone:
            self._go_on("told of a failure")
            number = self._log.inputs.count - 1 if item is NEXT else self._log.lone(item)
            text = _trouble(error)
            look = "" if item is NEXT else shown(tuple(item)[:3] if isinstance(item, Place) else item)
            self._fail(number, look, "" if output is None else shown(output), text, self._log.inputs.last())

    def fail_at(self, number: int, error: BaseException, places: Places = NOWHERE) -> None:
        """The input of this number made trouble: what is captured as a whole knows numbers, and where its inputs stand."""
        with self._alone:
            self._go_on("told of a failure")
            self._fail(number, "", "", _trouble(error), places)

    def commit(self) -> None:
        """It is done: what it said is kept, whole. What it contains and what has not committed is dropped. Raises ActorError the second time, StoreError."""
        with self._alone:
            self._go_on("committed")
            self._commit_log(())

    def commit_with(self, reads: Sequence[str], writes: Sequence[str], incomplete: Sequence[str], untold: Callable[[Sequence[str]], str]) -> None:
        """Commit what calls said, and of these files (by their absolute paths) those of which they said nothing, as wholes: each that was written was made of all inputs.

        ``untold`` says so of these, if there are any.
        """
        with self._alone:
            self._go_on("committed")
            found = self._log.whole(reads, writes)
            self._commit_log((*incomplete, *([untold(found)] if found else ())))

    def commit_as(self, inputs: Items, outputs: Items, associations: Associations, incomplete: Iterable[str] = (), believed: str = "") -> None:
        """Commit what was found out as a whole, instead of what calls would have said one by one."""
        with self._alone:
            self._go_on("committed")
            self._commit(inputs, outputs, associations, tuple(incomplete), believed)

    def begins_with(self, reads: Sequence[str], writes: Sequence[str]) -> None:
        """It begins with these files, by their absolute paths: what is captured as a whole tells no places on its way."""
        self._began_with = (tuple(reads), {path: written_at(path) for path in writes})

    def abandon(self, error: BaseException | str) -> None:
        """It will not commit: keep why, its culprits, and which files it had begun to read, and to write."""
        with self._alone:
            self._go_on("abandoned")
            self._done = "has failed"
            text = _trouble(error)
            took, stood = self._began_with
            took = tuple(dict.fromkeys((*took, *_files(self._log.inputs))))
            written = [Extent(path, Unit.WHOLE, stamp=self._stamp(path)) for path, before in stood.items() if written_at(path) != before or stat.S_ISDIR(mode_of(path))]
            # What the user's own code wrote may still have to come to its file: of that nothing is told but the name.
            left = (*written, *(Extent(path, Unit.WHOLE) for path in _files(self._log.outputs)))
            self._home.fail(self.id, self._registration, Failure(text, time.time(), tuple(self._culprits), tuple(self._failed_in.values()), took, left))

    def __enter__(self) -> Actor:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if self._done:
            return
        if error is None:
            self.commit()
            return
        try:
            self.fail(error=error)
            self.abandon(error)
        except BigdebugError as problem:
            log.warning("bigdebug: why %s failed is not kept: %s", self.id, problem)

    def __repr__(self) -> str:
        return f"<Actor {self.id}: {self._done or 'is capturing'}>"

    # ---- inside -----------------------------------------------------------------------------------------------

    def _fail(self, number: int, look: str, output: str, text: str, places: Places) -> None:
        at = None
        for found in places.locate(np.array([number])) if number >= 0 else ():
            extent = next(each for each in places.files if each.path == found.path)
            self._failed_in[extent.path] = self._told(extent, extent.stamp)
            at = Place(found.path, found.unit, int(found.positions[0]), len(found))
        self._culprits.append(ActorCulprit(number if number >= 0 else None, look, output, text, self.id, at))

    def _commit_log(self, incomplete: tuple[str, ...]) -> None:
        self._commit(self._log.inputs.closed(self._read), self._log.outputs.closed(self._written), self._log.associations(), incomplete, "")

    def _commit(self, inputs: Items, outputs: Items, associations: Associations, incomplete: tuple[str, ...], believed: str) -> None:
        # Said once that it is over, also if it cannot be written: half of it would be written the second time.
        self._done = "has committed"
        dropped = tuple(self._home.drop_parts(self.id))
        made = Committed(self.facts, time.time(), inputs, outputs, associations, tuple(self._culprits), incomplete, dropped, believed)
        self._home.commit(self.id, self._registration, made.write)

    def _read(self, first: Extent) -> Extent:
        """A file that inputs stand in, as it was when the first of them came: with a digest, if it still is what it was."""
        now = self._stamp(first.path)
        same = first.stamp is None or now is None or (now.size, now.modified) == (first.stamp.size, first.stamp.modified)
        return self._told(first, now if same else first.stamp)

    def _written(self, first: Extent) -> Extent:
        """A file that outputs stand in, as it is now."""
        return self._told(first, self._stamp(first.path))

    def _told(self, extent: Extent, stamp: FileStamp | None) -> Extent:
        """With what the user said of it."""
        more = self._extents.get(extent.path, extent)
        return Extent(extent.path, extent.unit, more.form, more.options, (more.stamp if more is not extent else None) or stamp)

    def _go_on(self, what: str) -> None:
        if self._done:
            raise ActorError(f"This actor {self._done}, and cannot be {what} any more", value=self.id, remedy="Register another one.")


class _Keeps:
    """Which inputs a replay keeps (Newt 5.2): those that were traced, or all others."""

    def __init__(self, items: Collection[Any], others: bool, kind: DataType) -> None:
        self._kind = kind
        self._others = others
        self._items = {self._key(item) for item in items}

    def drops(self, item: Any, at: Place | None = None) -> bool:
        """Whether an item is to be dropped. One of which value and place are told is among them by either."""
        known = [self._key(item)] if item is not NEXT else []
        known += [at] if at is not None else []
        return bool(known) and any(key in self._items for key in known) is self._others

    def _key(self, item: Any) -> Any:
        return item if isinstance(item, Place) else digest_of(item, self._kind.digest)


def register(
    name: str, kind: ActorType = ACTOR, within: Actor | str | Iterable[Actor | str] = (), *, takes: DataType = RECORD, gives: DataType = RECORD,
    home: Home = None, only: Collection[Any] | None = None, without: Collection[Any] | None = None,
) -> Actor:
    """A new actor, before it processes anything (Newt's ``register``): of a type, within actors that contain it.

    ``only`` and ``without`` are items of a replay: ``add_input`` and ``capture`` answer True for what is not, or is, among them. Raises ActorError for types that do not
    fit, UnknownActorError for parents that are not there, StoreError where the home of actors cannot be written.
    """
    if not isinstance(name, str) or not name:
        raise ActorError("The name of an actor is a text that says something", value=name)
    types: tuple[tuple[object, type[ActorType | DataType]], ...] = ((kind, ActorType), (takes, DataType), (gives, DataType))
    for given, wanted in types:
        if not isinstance(given, wanted):
            raise ActorError(f"That is no {wanted.__name__}", value=given, remedy=f"Make one: actors.{wanted.__name__}(name).")
    for items in (only, without):
        if not (items is None or (isinstance(items, Collection) and not isinstance(items, (str, bytes)))):
            raise ActorError("The items of a replay are in a list", value=items, remedy="Give a list or a set of them.")
    if not isinstance(within, (Actor, str, Iterable)):
        raise ActorError("What contains an actor is an actor, or the id of one, or several", value=within)
    if only is not None and without is not None:
        raise ActorError("A replay is of some items only, or without some", remedy="Give one of only= and without=.")
    if being_tried():
        raise ActorError(f"{name} is registered by a function that is being tried on a few rows", remedy="Register it outside of that function, or give the function's step check=False.")
    place = home_of(home)
    parents = tuple(map(_id, [within] if isinstance(within, (Actor, str)) else within))
    for parent in parents:
        kind.check_parent(place.facts(parent).kind)
    keeps = _Keeps(only, False, takes) if only is not None else None if without is None else _Keeps(without, True, takes)
    began = time.time()
    facts, registration = place.register(name, lambda given: Facts(given, name, kind.chain, takes.chain, gives.chain, parents, began))
    return Actor(facts, place, registration, takes, gives, keeps)


def begun(name: str, kind: ActorType, home: Home, reads: Sequence[str], writes: Sequence[str]) -> Actor:
    """A new actor of a step that is captured as a whole, with the files that it begins with, by their absolute paths: they are known also where its process is killed."""
    place, began = home_of(home), time.time()
    facts, registration = place.register(name, lambda given: Facts(given, name, kind.chain, RECORD.chain, RECORD.chain, (), began), reads, writes)
    made = Actor(facts, place, registration, RECORD, RECORD, None)
    made.begins_with(reads, writes)
    return made


def flow_link(source: Actor | str, target: Actor | str, *, home: Home = None) -> None:
    """``target`` takes what ``source`` gives: equal hashes are one item; without hashes, equal places in the order. Newt's ``flow_link``.

    Raises UnknownActorError where one of them is not there, ActorError where types do not fit, or where the flow would come back.
    """
    place = home_of(source._home if isinstance(source, Actor) and home is None else home)
    given, taken = place.facts(_id(source)), place.facts(_id(target))
    check_flow(given.gives, taken.takes)
    place.link(given.id, taken.id)


def home_of(home: Home) -> ActorHome:
    """The home of actors that is meant. Raises ActorError for what names none."""
    if not (home is None or isinstance(home, (str, os.PathLike, ActorHome))):
        raise ActorError("A home of actors is a directory", value=home, remedy="Give its path, or leave it out: then it is this user's.")
    return home if isinstance(home, ActorHome) else ActorHome(home)


def _id(actor: Actor | str) -> str:
    return actor.id if isinstance(actor, Actor) else actor


def _count(count: Any) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise ActorError("That is not how many there are", value=count)
    return count


def _files(side: Side) -> list[str]:
    """The files that items of one side stand in."""
    return [path for path in side.extents if not path.startswith(ITEMS)]


def _trouble(error: BaseException | str) -> str:
    """What went wrong, as it is kept: without what is secret, for whoever reads it later may know of no secrets."""
    return masked(error if isinstance(error, str) else f"{type(error).__name__}: {said(error)}")
