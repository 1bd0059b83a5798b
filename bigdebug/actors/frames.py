"""Frames: which files, or which actor's outputs, the rows of a frame are. Nothing is written on a frame, so its user sees the one he would see without."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bigdebug.actors.items import Items
from bigdebug.actors.places import NOWHERE, Places
from bigdebug.trace.across.located import Extent
from bigdebug.trace.positions import Positions

if TYPE_CHECKING:
    from collections.abc import Sequence

_SAMPLED = 64
"""Rows of a frame by which it is seen that it was changed in place: its index is looked at for all."""

CHANGED = "The frame was changed after it was read or made by a step, so its rows are not followed further: put that change into a step"
FOREIGN = "The frame came from no step, so its rows are not followed further: give what actors.read_csv, or another step, gave"


@dataclass(frozen=True, eq=False)
class _Known:
    frame: weakref.ref[Any]
    places: Places
    index: Any
    sample: Any


class Frames:
    """The frames that are held by somebody, and of which the places of all rows are known. They are known by themselves, not by what is in them."""

    def __init__(self) -> None:
        self._known: dict[int, _Known] = {}

    def tell(self, frame: Any, files: Sequence[Extent], counts: Sequence[int]) -> None:
        """The rows of a frame are all rows of these files, one behind the other. Takes a millisecond or so."""
        name = id(frame)
        runs = np.array([[sum(counts[:i]), count, i, 0, 1] for i, count in enumerate(counts) if count], np.int64).reshape(-1, 5)
        known = weakref.ref(frame, lambda _: self._known.pop(name, None))
        self._known[name] = _Known(known, Places.of(files, runs), frame.index, frame.iloc[_sampled(len(frame))].copy())

    def inputs(self, frame: Any) -> tuple[Items, tuple[str, ...]]:
        """The rows of a frame as inputs of an actor, and why they are not followed further, if they are not."""
        known = self._known.get(id(frame))
        if known is None or id(known.frame()) != id(frame):
            return Items(len(frame)), (FOREIGN,)
        if frame.index is not known.index or not _equal(frame.iloc[_sampled(len(frame))], known.sample):
            return Items(len(frame)), (CHANGED,)
        return Items(len(frame), known.places), ()


FRAMES = Frames()
"""The frames of this process. (They are held by its users, and nowhere else could stand what is known of them.)"""


def all_inputs(frames: Sequence[Any]) -> tuple[Items, tuple[str, ...]]:
    """The rows of several frames as inputs, one frame behind the other."""
    found = [FRAMES.inputs(frame) for frame in frames]
    files: list[Extent] = []
    runs, count = [], 0
    for items, _ in found:
        places = items.places
        number, size, file, position, width = (getattr(places, each).array for each in ("number", "count", "file", "position", "size"))
        codes = np.array([_code(files, each) for each in places.files], np.int64)
        runs.append(np.stack([number + count, size, codes[file] if len(file) else file, position, width], axis=1))
        count += items.count
    made = Places.of(files, np.concatenate(runs)) if files else NOWHERE
    return Items(count, made), tuple(dict.fromkeys(why for _, whys in found for why in whys))


def _code(files: list[Extent], file: Extent) -> int:
    if file not in files:
        files.append(file)
    return files.index(file)


def _sampled(count: int) -> Positions:
    return np.unique(np.linspace(0, count - 1, min(count, _SAMPLED)).astype(np.int64)) if count else np.zeros(0, np.int64)


def _equal(one: Any, other: Any) -> bool:
    try:
        return bool(one.equals(other))
    except Exception:  # cells that cannot be compared, by pandas or by what they are: then it is not known that they are the same
        return False
