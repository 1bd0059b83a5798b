"""Passes: how more keys than memory holds are merged, by reading the spool several times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from bigdebug.agents.notes import smallest
from bigdebug.agents.spool import Spool

_LATER = -1
NOBODY = -2
"""The code of a record that goes into no group."""


class Passes:
    """Gives each pass an empty dict of keys to fill, and the group of every record as ``codes``.

    When a pass has taken its ``share`` of bytes, records with new keys wait for the next one. Which these are follows from
    the bytes that arrived and from nothing else: groups stand in the order in which their keys first appear, whatever
    the machine, and however keys hash.
    """

    def __init__(self, spool: Spool, share: int) -> None:
        self._spool = spool
        self._share = share
        self._codes = np.full(len(spool), _LATER, dtype=np.int64)
        self._before = 0
        self._known: dict[Any, int] = {}
        self._left = True
        self._batch: tuple[int, Any] = (0, slice(None))

    def __iter__(self) -> Iterator[dict[Any, int]]:
        while self._left:
            self._left = False
            yield self._known
            self._before += len(self._known)
            self._known = {}

    def batches(self, known: dict[Any, int]) -> Iterator[tuple[int, list[Any], Callable[[int], None]]]:
        """Branch and records of this pass, and where to note the code that each record has in ``known``."""
        at = taken = 0
        for tag, size, records in self._spool.batches():
            here = self._codes[at : at + len(records)]
            at += len(records)
            mine: Any = slice(None)
            if self._before:
                mine = np.flatnonzero(here == _LATER)
                records = [records[i] for i in mine.tolist()]
            if taken > self._share:
                old = [i for i, (key, _) in enumerate(records) if key in known]
                self._left = self._left or len(old) < len(records)
                mine = np.arange(len(here))[mine][old]
                records = [records[i] for i in old]
            noted: list[int] = []
            self._batch = at - len(here), mine
            yield tag.branch, records, noted.append
            codes = np.array(noted, dtype=np.int64)
            here[mine] = np.where(codes == NOBODY, NOBODY, codes + self._before)
            taken += size * len(records) // max(1, tag.count)

    def position(self, number: int) -> int:
        """Where the record stands among all that arrived that is the one at ``number`` of the batch given last."""
        start, mine = self._batch
        return start + (number if isinstance(mine, slice) else int(mine[number]))

    def codes(self) -> npt.NDArray[Any]:
        """The group of each record; one more than there are, for records that went into none, or whose pass nobody asked for."""
        groups = self._before + len(self._known)
        return smallest(np.where(self._codes < 0, groups, self._codes))
