"""The log of an actor: what came and what went, in order, and nothing else (Newt 3.2). What was made of what is found out after the commit."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from bigdebug.actors.associations import Intervals
from bigdebug.actors.columns import Column
from bigdebug.actors.items import Items
from bigdebug.actors.kinds import DataType
from bigdebug.actors.places import NOWHERE, RUN, Place, Places, checked
from bigdebug.actors.reconstructed import INPUT, KINDS, LONE, OUTPUT, PAIR, RESET, reconstructed
from bigdebug.actors.values import digest_of
from bigdebug.errors import ActorError
from bigdebug.trace.across.located import ITEMS, Extent
from bigdebug.trace.across.stamps import stamp_of


def unhashable(tag: object) -> ActorError:
    """What is said of a tag that is in no dictionary."""
    return ActorError("A tag is a value that does not change, as keys of a dictionary are", value=tag, remedy="Give a text, a number, or a tuple of these.")


_NAN = float("nan")


def as_key(tag: Any) -> Any:
    """A tag as it is looked up: NaN is one, be it in tuples, as it is to ``groupby``, though Python has several that are not equal."""
    if type(tag) is tuple:
        return tuple(map(as_key, tag))
    return _NAN if isinstance(tag, (float, np.generic)) and tag != tag else tag


class Arrival:
    """What an item is known by that has neither value nor place: that it came after so many others."""

    def __repr__(self) -> str:
        return "actors.NEXT"


NEXT: Final = Arrival()
ANY: Final = "*"
"""The tag of what is given none (Newt, Table 1)."""


class Side:
    """Items of one side as they come. Not thread-safe."""

    def __init__(self, kind: DataType) -> None:
        self.count = 0
        self.extents: dict[str, Extent] = {}
        self._kind = kind
        self._codes: dict[str, int] = {}
        self._files: list[str] = []
        self._valued = array("q")
        self._digests = bytearray()
        self._runs = array("q")

    def prepared(self, item: Any, at: Place | None) -> tuple[bytes | None, Place | None]:
        """What there is to note of an item. Raises ActorError, and then there is nothing noted."""
        if isinstance(item, Place):
            item, at = NEXT, item
        if at is not None:
            at = checked(at, self.extents)
            known = self.extents.get(at.path)
            if known is not None and known.unit is not at.unit:
                raise ActorError(f"{at.path} is counted in units of {known.unit.value} already", value=at.unit.value)
        return None if item is NEXT else digest_of(item, self._kind.digest), at

    def know(self, at: Place | None) -> None:
        """Look at the file of a place, if it is told of for the first time."""
        if at is not None and at.path not in self._codes:
            self._new_file(Extent(at.path, at.unit))

    def note(self, digest: bytes | None, at: Place | None) -> None:
        """One more item."""
        if digest is not None:
            self._valued.append(self.count)
            self._digests += digest
        if at is not None:
            self._runs.extend((self.count, 1, self._codes[at.path], at.position, at.length))
        self.count += 1

    def _new_file(self, extent: Extent) -> None:
        """A file that is told of for the first time: its size and time of now."""
        self._codes[extent.path] = len(self._codes)
        self._files.append(extent.path)
        self.extents[extent.path] = extent if extent.path.startswith(ITEMS) else replace(extent, stamp=stamp_of(extent.path, digest=False))

    def last(self) -> Places:
        """Where the last of them stands."""
        run = self._runs[-len(RUN):]
        if not run or run[0] != self.count - 1:
            return NOWHERE
        number, count, file, position, size = run
        return Places.of([self.extents[self._files[file]]], np.array([(number, count, 0, position, size)], np.int64))

    def closed(self, more: Callable[[Extent], Extent]) -> Items:
        """All of them. ``more`` says more of a file than the calls did: its format, its stamp."""
        files = list(map(more, self.extents.values()))
        runs = np.array(self._runs, np.int64).reshape(-1, len(RUN))
        return Items.of(self.count, Places.of(files, runs), np.array(self._valued, np.int64), self._digests)


class Log:
    """All events of an actor. Not thread-safe: whoever writes to it holds its lock."""

    def __init__(self, takes: DataType, gives: DataType) -> None:
        self.inputs, self.outputs = Side(takes), Side(gives)
        self._events = array("q")
        self._tags: dict[Hashable, int] = {ANY: 0}
        self._tagsets: dict[Sequence[int], int] = {(0,): 0}
        self._sets: dict[Hashable, int] = {ANY: 0}
        self._of_all = 0  # of the last outputs, so many are made of all inputs

    def add_input(self, item: Any, tag: Hashable, at: Place | None) -> None:
        digest, at = self.inputs.prepared(item, at)
        self._note(self.inputs, INPUT + KINDS * self._set(tag), digest, at)

    def add_output(self, item: Any, tag: Hashable, at: Place | None) -> None:
        digest, at = self.outputs.prepared(item, at)
        self._note(self.outputs, OUTPUT + KINDS * self._set(tag), digest, at)

    def reset(self, tag: Hashable) -> None:
        self._events.append(RESET + KINDS * self._set(tag))

    def capture(self, taken: Any, given: Any) -> None:
        digest, at = self.inputs.prepared(taken, None)
        other, there = self.outputs.prepared(given, None)
        self.inputs.know(at)
        self.outputs.know(there)
        self._events.append(PAIR)
        self.inputs.note(digest, at)
        self.outputs.note(other, there)

    def add_many(self, side: Side, count: int, tag: Hashable) -> None:
        """So many items, known by their arrival."""
        kind = INPUT if side is self.inputs else OUTPUT
        self._events.extend(array("q", [kind + KINDS * self._set(tag)]) * count)
        side.count += count

    def lone(self, item: Any) -> int:
        """Its number: an input that nothing was made of."""
        digest, at = self.inputs.prepared(item, None)
        self._note(self.inputs, LONE, digest, at)
        return self.inputs.count - 1

    def _note(self, side: Side, event: int, digest: bytes | None, at: Place | None) -> None:
        side.know(at)
        self._events.append(event)
        side.note(digest, at)

    def whole(self, reads: Sequence[str], writes: Sequence[str]) -> list[str]:
        """Files of which no item was told, as one item each: those that were written last, made of all inputs. Which these are."""
        taken, given = ([path for path in paths if path not in side.extents] for paths, side in ((reads, self.inputs), (writes, self.outputs)))
        for path in taken:
            self.lone(Place.whole(path))
        for path in given:
            self.outputs.know(at := Place.whole(path))
            self.outputs.note(None, at)
        self._of_all += len(given)
        return [*taken, *given]

    def associations(self) -> Intervals:
        found = reconstructed(np.array(self._events, np.int64), list(self._tagsets))
        if not self._of_all:
            return found
        last, most = len(found.members), len(found.members) + self.inputs.count
        added = (np.arange(self.outputs.count - self._of_all, self.outputs.count), np.full(self._of_all, last), np.full(self._of_all, most), np.arange(self.inputs.count))
        return Intervals(*(Column.of(np.concatenate((column.array, more))) for column, more in zip((found.outputs, found.starts, found.stops, found.members), added)))

    def _set(self, tag: Any) -> int:
        """The number of a set of tags: of those in a set, or of the one."""
        try:
            return self._known(tag)
        except TypeError as problem:
            raise unhashable(tag) from problem

    def _known(self, tag: Any) -> int:
        known = self._sets.get(tag) if isinstance(tag, (str, frozenset, int, tuple, bytes)) else None
        if known is not None:
            return known
        several = tag if isinstance(tag, (set, frozenset, list)) else (tag,)
        if not several:
            raise ActorError("A set of tags has one at least", value=tag, remedy="Leave the tag out.")
        numbers = tuple(sorted({self._tags.setdefault(as_key(each), len(self._tags)) for each in several}))
        found = self._tagsets.setdefault(numbers, len(self._tagsets))
        if isinstance(tag, (str, frozenset, int, tuple, bytes)):
            self._sets[tag] = found
        return found
