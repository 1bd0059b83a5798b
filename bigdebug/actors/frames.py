"""Frames: which files, or which actor's outputs, the rows of a frame are. Nothing is written on a frame, so its user sees the one he would see without."""

from __future__ import annotations

import sys
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bigdebug.actors.aside import being_tried
from bigdebug.actors.cells import Cells, UnseenError
from bigdebug.actors.files import runs_of
from bigdebug.actors.items import Items
from bigdebug.actors.places import NOWHERE, Places
from bigdebug.outside import from_outside
from bigdebug.trace.across.located import Extent, Unit, gives_path
from bigdebug.trace.across.paths import key_of
from bigdebug.trace.across.ways import alike

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bigdebug.actors.associations import Associations
    from bigdebug.actors.steady import Steady

CHANGED = "The frame was changed after it was read or made by a step, so its rows are not followed further: put that change into a step"
UNSEEN = "What the cells of the frame hold cannot be looked at, so it is not known whether it was changed after it was read or made by a step, and its rows are not followed further"
FOREIGN = "The frame came from no step, so its rows are not followed further: give what actors.read_csv, another step, or toPandas() of a captured run gave"


@dataclass(frozen=True, eq=False)
class _Known:
    frame: weakref.ref[Any]
    places: Places
    index: Any
    cells: Cells | None
    """None if they cannot be looked at."""


@dataclass(frozen=True, eq=False)
class _Given:
    """A frame that no step of actors gave. Nothing was looked at: who gave it is asked which rows it has when a step takes it."""

    frame: weakref.ref[Any]
    extent: Extent
    taken: weakref.WeakMethod[Callable[[Any], Extent]]


class Frames:
    """The frames that are held by somebody, and of which the places of all rows are known. They are known by themselves, not by what is in them."""

    def __init__(self) -> None:
        self._known: dict[int, _Known | _Given] = {}
        self.gave = False
        """Whether a step of actors gave a frame in this process, be it that nobody holds it any more."""

    def tell(self, frame: Any, files: Sequence[Extent], counts: Sequence[int]) -> None:
        """The rows of a frame are all rows of these files, one behind the other. Takes a millisecond, and what ``Cells.of`` does. In a trial, nothing is known."""
        if being_tried():
            return
        self.gave = True
        self._known[id(frame)] = _Known(self._held(frame), Places.of(files, runs_of(counts)), frame.index, _seen(frame))

    def tell_given(self, frame: Any, extent: Extent, taken: Callable[[Any], Extent]) -> None:
        """The rows of a frame are those of what was no step of actors, and is known to itself alone: nothing is computed. In a trial, nothing is known.

        When a step takes the frame, ``taken``, a method, is told, and says what its rows are then; as long as somebody holds its object, else they are those of ``extent``.
        """
        if not being_tried():
            self._known[id(frame)] = _Given(self._held(frame), extent, weakref.WeakMethod(taken))

    def paths(self, value: Any) -> tuple[str, ...]:
        """The files, or what an actor gave, of which a frame has the rows; none for what is no frame, or came from no step."""
        known = self._known.get(id(value))
        if known is None or known.frame() is not value:
            return ()
        return tuple(extent.path for extent in ((known.extent,) if isinstance(known, _Given) else known.places.files))

    def inputs(self, frame: Any) -> tuple[Items, tuple[str, ...]]:
        """The rows of a frame as inputs of an actor, and why they are not followed further, if they are not."""
        known = self._known.get(id(frame))
        if known is None or id(known.frame()) != id(frame):
            return Items(len(frame)), (FOREIGN,)
        if isinstance(known, _Given):
            taken = known.taken()
            extent = known.extent if taken is None else taken(frame)
            return Items(len(frame), Places.of([extent], runs_of([len(frame)]))), ()
        why = _why_not(known, frame)
        return (Items(len(frame)), (why,)) if why else (Items(len(frame), known.places), ())

    def _held(self, frame: Any) -> weakref.ref[Any]:
        """The frame, held by nobody here: what is known of it goes with it."""
        name = id(frame)
        return weakref.ref(frame, lambda _: self._known.pop(name, None))

    def perhaps(self, value: Any) -> tuple[Items, tuple[str, ...]] | None:
        """The same of what may be anything. None for what is no frame, and as long as no step has given one, for what is not known: who makes frames by hand alone is told
        nothing of steps.
        """
        pandas = sys.modules.get("pandas")
        if pandas is None or not isinstance(value, pandas.DataFrame) or not (self.gave or id(value) in self._known):
            return None
        return self.inputs(value)


FRAMES = Frames()
"""The frames of this process. (They are held by its users, and nowhere else could stand what is known of them.)"""


def all_inputs(frames: Sequence[Any], apart: Callable[[Items], Items] = lambda items: items) -> tuple[Items, tuple[str, ...]]:
    """The rows of several frames as inputs, one frame behind the other.

    Of a file that several read, as it was at other times or counted in another way, records are no longer known by their places: what ``apart`` gives for the rows of such a frame stands for them.
    """
    found = [FRAMES.inputs(frame) for frame in frames]
    files: dict[Extent, int] = {}
    runs, count = [], 0
    for items, _ in found:
        if _differ(files, items.places.files):
            items = apart(items)
        places = items.places
        number, size, file, position, width = (getattr(places, each).array for each in ("number", "count", "file", "position", "size"))
        codes = np.array([files.setdefault(each, len(files)) for each in places.files], np.int64)
        runs.append(np.stack([number + count, size, codes[file] if len(file) else file, position, width], axis=1))
        count += items.count
    made = Places.of(list(files), np.concatenate(runs)) if files else NOWHERE
    return Items(count, made), tuple(dict.fromkeys(why for _, whys in found for why in whys))


def given(actor: Steady, result: Any, inputs: Items, associations: Associations, why: tuple[str, ...], believed: str = "") -> None:
    """Commit a step that gives ``result``, and know the rows of that, if it is a frame, from then on."""
    count = size(result)
    actor.commit_as(inputs, Items(count), associations, why, believed)
    if actor.id and hasattr(result, "iloc"):
        FRAMES.tell(result, [Extent(gives_path(actor.id), Unit.ROW, "item")], [count])


def size(result: Any) -> int:
    """How many items a result is: its rows, or itself."""
    return len(result) if hasattr(result, "iloc") else 1


def _differ(known: Iterable[Extent], files: Iterable[Extent]) -> bool:
    """Whether a file is among both, and position n is another record in it."""
    by_key = {key_of(extent.path): extent for extent in known}
    return not all(alike(by_key.get(key_of(extent.path), extent), extent) for extent in files)


def _seen(frame: Any) -> Cells | None:
    """What a frame holds; None if there are cells of which nobody tells what they hold."""
    try:
        return Cells.of(frame)
    except Exception as error:  # of what the cells are
        if from_outside(error):
            raise
        return None


def _why_not(known: _Known, frame: Any) -> str:
    """Why a frame is not followed to where it came from; empty if it holds the same still."""
    if known.cells is None:
        return UNSEEN
    try:
        return "" if frame.index is known.index and known.cells.same(frame) else CHANGED
    except UnseenError:
        return UNSEEN
    except Exception as error:  # of what the cells are now
        if from_outside(error):
            raise
        return CHANGED
