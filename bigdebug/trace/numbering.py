"""Numberings: the records of a level numbered from 0 in the order of their rids. Rids that follow one another take two integers, however many."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bigdebug.errors import TooLargeError, UnknownRecordError
from bigdebug.model import POSITION_BITS, Rids
from bigdebug.store.arrays import Listed, StoredArray, write_array
from bigdebug.store.ranges import spread
from bigdebug.trace.places import Places, places_of, rids_of
from bigdebug.trace.positions import Positions

MOST = 1 << 30
"""Records of a level that are listed at once."""


class Numbering:
    """Runs of rids: ``starts`` are their first ones, ascending, ``numbers`` those that they have, and behind them how many records there are."""

    def __init__(self, starts: Rids, numbers: Positions) -> None:
        """Raises ValueError for what are no runs."""
        if len(numbers) != len(starts) + 1 or (numbers[:1] != 0).any() or (np.diff(numbers) < 1).any() or (starts < 0).any():
            raise ValueError("these are no runs of record ids")
        if (starts[1:] < starts[:-1] + np.diff(numbers)[:-1]).any():
            raise ValueError("runs of record ids overlap")
        self._starts, self._numbers = starts, numbers

    @classmethod
    def of_counts(cls, counts: Mapping[int, int]) -> Numbering:
        """Of so many records in each partition."""
        held = sorted(partition for partition, count in counts.items() if count)
        numbers = np.concatenate([[0], np.cumsum([counts[partition] for partition in held])]).astype(np.int64)
        return cls(np.array(held, np.int64) << POSITION_BITS, numbers)

    @classmethod
    def of_rids(cls, rids: Rids) -> Numbering:
        """Of ascending, distinct rids."""
        begins = np.flatnonzero(np.concatenate([[True], rids[1:] != rids[:-1] + 1])) if len(rids) else np.empty(0, np.int64)
        return cls(rids[begins], np.append(begins, len(rids)))

    @property
    def count(self) -> int:
        """How many records there are."""
        return int(self._numbers[-1])

    def known(self, places: Places) -> Places:
        """Those of some places that are numbered."""
        rids = rids_of(places)
        return places_of(rids[self._run(rids)[1]])

    def numbers(self, places: Places) -> Positions:
        """The numbers of records, ascending. Raises UnknownRecordError for one that has none."""
        return self.numbers_of(rids_of(places))

    def numbers_of(self, rids: Rids) -> Positions:
        """The number of each of some rids, in their order. Raises UnknownRecordError for one that has none."""
        run, here = self._run(rids)
        if not here.all():
            raise UnknownRecordError("There is no record of this id here", value=int(rids[~here][0]), remedy="rids() lists the ids that there are.")
        return self._numbers[run] + rids - self._starts[run]

    def rids_of(self, numbers: Positions) -> Rids:
        """The rid of each of some numbers, in their order."""
        run = np.searchsorted(self._numbers, numbers, "right") - 1
        return self._starts[run] + numbers - self._numbers[run]

    def places(self, numbers: Positions) -> dict[int, Positions]:
        """The inverse of ``numbers``; these ascend."""
        return places_of(self.rids_of(numbers)) if len(numbers) else {}

    def every(self) -> dict[int, Positions]:
        """All records. Raises TooLargeError for more than 2**30."""
        if self.count > MOST:
            raise TooLargeError(f"These are {self.count:,} records", remedy="Ask for some of them: at([rid]).")
        return places_of(spread(self._starts, np.diff(self._numbers))) if self.count else {}

    def sizes(self) -> dict[int, int]:
        """How many records there are up to the last of each partition."""
        ends = self._starts + np.diff(self._numbers)
        return {int(end - 1 >> POSITION_BITS): int(end - 1 & (1 << POSITION_BITS) - 1) + 1 for end in ends}

    def dump(self, home: Path, name: str) -> dict[str, Any]:
        """Write it below ``home``; what a catalog lists of it."""
        return {"starts": write_array(home, f"{name}.starts", self._starts).dump(), "numbers": write_array(home, f"{name}.numbers", self._numbers).dump()}

    @classmethod
    def load(cls, data: Mapping[str, Any], find: Callable[[str], Path]) -> Numbering:
        starts, numbers = (StoredArray(Listed.load(data[name]), find) for name in ("starts", "numbers"))
        return cls(starts.part(0, len(starts)).astype(np.int64), numbers.part(0, len(numbers)).astype(np.int64))

    def _run(self, rids: Rids) -> tuple[Positions, Any]:
        """Which run each rid would stand in, and whether it does."""
        if not len(self._starts):
            return np.zeros(len(rids), np.int64), np.zeros(len(rids), bool)
        run = np.searchsorted(self._starts, rids, "right") - 1
        here = (run >= 0) & (rids - self._starts[run] < np.diff(self._numbers)[run])
        return run, here


def whole(count: int) -> Numbering:
    """Of records that have numbers only: so many, in one partition."""
    return Numbering.of_counts({0: count})
