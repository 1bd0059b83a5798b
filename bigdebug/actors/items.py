"""Items: all that one side of an actor took, or gave: numbered as it came, known by its value or its place if that was told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bigdebug.actors.columns import EMPTY, Column
from bigdebug.actors.places import NOWHERE, Places
from bigdebug.actors.values import SIZE
from bigdebug.store.arrays import Listed, StoredArray, write_array
from bigdebug.trace.positions import Positions, distinct

Digests = npt.NDArray[np.bytes_]
NO_DIGESTS: Digests = np.zeros(0, f"S{SIZE}")
_HALF = np.dtype("<u8")


@dataclass(frozen=True, eq=False)
class Items:
    """``count`` items, numbered from 0; ``valued`` are the numbers of those that are known by value, ascending, with their digests beside."""

    count: int
    places: Places = NOWHERE
    valued: Column = EMPTY
    halves: StoredArray | npt.NDArray[np.uint64] | None = None

    @classmethod
    def of(cls, count: int, places: Places, valued: Positions, digests: bytes | bytearray) -> Items:
        """``digests`` are those of ``valued``, behind one another."""
        return cls(count, places, Column.of(valued), np.frombuffer(bytes(digests), _HALF) if len(valued) else None)

    @cached_property
    def digests(self) -> Digests:
        """Those of ``valued``. (Of equal length, so what numpy does with zeros at the end of bytes does not show.)"""
        if self.halves is None:
            return NO_DIGESTS
        halves = self.halves.part(0, len(self.halves)) if isinstance(self.halves, StoredArray) else self.halves
        return np.ascontiguousarray(halves, _HALF).view(f"S{SIZE}")

    def digests_at(self, numbers: Positions) -> Digests:
        """The digests of those of the items that have one."""
        return self.digests[self.valued.holding(numbers)]

    def equal(self, wanted: Digests) -> Positions:
        """The items whose digests are among ``wanted``."""
        if not len(wanted) or not len(self.digests):
            return np.zeros(0, np.int64)
        return self.valued.take(np.flatnonzero(np.isin(self.digests, wanted)))

    @property
    def known_by_value(self) -> bool:
        """Whether all are."""
        return len(self.valued) == self.count > 0

    @property
    def hashes(self) -> npt.NDArray[np.uint64] | None:
        """Half of the digest of each; None if some have none."""
        return self.digests.view(_HALF)[::2].astype(np.uint64) if self.known_by_value else None

    def nowhere(self) -> bool:
        """Whether some of the items stand in no file."""
        return int(self.places.count.array.sum()) < self.count

    @cached_property
    def loose(self) -> bool:
        """Whether some are known by nothing but their order."""
        if len(self.valued) == self.count or not self.nowhere():
            return False
        return len(np.setdiff1d(self.places.without(np.arange(self.count)), self.valued.array, assume_unique=True)) > 0

    def check(self, numbers: Positions) -> Positions:
        """Those of the numbers that are items."""
        return distinct(numbers[(numbers >= 0) & (numbers < self.count)])

    def dump(self, home: Path, name: str) -> dict[str, Any]:
        halves = None if self.halves is None else write_array(home, f"{name}.digests", self.digests.view(_HALF)).dump()
        return {"count": self.count, "places": self.places.dump(home, name), "valued": self.valued.dump(home, f"{name}.valued"), "digests": halves}

    @classmethod
    def load(cls, data: Mapping[str, Any], find: Callable[[str], Path]) -> Items:
        """Raises ValueError, LookupError for what nobody wrote."""
        halves = None if data["digests"] is None else StoredArray(Listed.load(data["digests"]), find)
        count = int(data["count"])
        made = cls(count, Places.load(data["places"], find, count), Column.load(data["valued"], find, count), halves)
        if made.count < 0 or (0 if halves is None else len(halves)) != 2 * len(made.valued):
            raise ValueError(f"{made.count} items, of which {len(made.valued)} have digests")
        return made
