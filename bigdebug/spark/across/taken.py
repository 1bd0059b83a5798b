"""Taken: a frame that an action gave to its program, as a step took it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bigdebug.errors import BigdebugError
from bigdebug.spark.across.looseness import Numbers
from bigdebug.spark.across.rowkeys import Keys
from bigdebug.trace.across.located import Extent, Unit
from bigdebug.trace.positions import Positions


class Refusal(NamedTuple):
    """Why something is not known. An error that is raised has a traceback, and that holds all that was there, also a frame of the user's: so none is kept."""

    kind: type[BigdebugError]
    what: str
    value: object
    remedy: str

    @classmethod
    def of(cls, error: BigdebugError) -> Refusal:
        return cls(type(error), error.what, error.value, error.remedy)

    def error(self) -> BigdebugError:
        """Another one each time."""
        return self.kind(self.what, value=self.value, remedy=self.remedy)


class Taken(NamedTuple):
    """The frame as a step took it: its rows, in their order. ``path`` is what it is called, for it is in no file."""

    path: str
    size: int
    keys: Keys | Refusal
    """By row; or why that is not known."""
    numbers: Numbers
    """Of columns of numbers that tell no rows apart; none where it is not known."""
    labels: Positions | None = None
    """By row, where its index says that it stood when it was given: what sorts or leaves out rows takes their labels along. None if it says no such."""

    @property
    def extent(self) -> Extent:
        return Extent(self.path, Unit.ROW, "item")

    def known(self) -> Keys:
        if isinstance(self.keys, Refusal):
            raise self.keys.error()
        return self.keys

    def moved(self, now: Keys) -> bool:
        """Whether rows stand elsewhere than their labels say, of a query that gives them in this order: then a change may have put others in their places."""
        keys = self.known()
        return self.labels is None or int(self.labels.max(initial=-1)) >= len(now) or not np.array_equal(now[self.labels], keys)

    def same(self, other: Taken) -> bool:
        """Whether the same rows stand in the same order, as far as that is known."""
        if isinstance(self.keys, Refusal) or isinstance(other.keys, Refusal):
            return self.keys is other.keys or (isinstance(self.keys, Refusal) and self.keys == other.keys and self.size == other.size)
        return np.array_equal(self.keys, other.keys) and all(np.array_equal(mine, other.numbers[i], equal_nan=True) for i, mine in self.numbers.items())


def labels_of(index: Any) -> Positions | None:
    """The labels of rows as places of a frame whose rows are counted; None if they are no such. Nothing of the index is held, nor made in it."""
    if hasattr(index, "step"):  # it counts
        found = np.arange(index.start, index.stop, index.step, dtype=np.int64)
    elif index.nlevels > 1 or not isinstance(index.dtype, np.dtype) or index.dtype.kind != "i":
        return None
    else:
        found = np.array(index, dtype=np.int64)
    return found if not len(found) or (int(found.min()) >= 0 and len(np.unique(found)) == len(found)) else None
