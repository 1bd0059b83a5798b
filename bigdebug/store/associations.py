"""Associations: one direction of an association table in files, as compressed sparse rows: of each record the records that it is associated with.

What says itself takes no file: where each record has one there are no offsets, and where the n-th of all is record n, no values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bigdebug.store.arrays import Listed, StoredArray, narrowest, write_array
from bigdebug.store.ranges import spread

Numbers = npt.NDArray[np.int64]


def write_associations(home: Path, name: str, records: Numbers, others: Numbers, count: int) -> dict[str, Any]:
    """Write pairs, those of a record behind one another and the records ascending, below ``home``; what a catalog lists of them.

    ``count`` is how many records there are. Takes passes over the pairs, and 4 bytes a pair for up to 2**32 records.
    """
    listed: dict[str, Any] = {"count": count, "pairs": len(others), "offsets": None, "values": None}
    if len(records) != count or not _counts_up(records):
        ends = np.cumsum(np.bincount(records, minlength=count))
        listed["offsets"] = write_array(home, f"{name}.offsets", narrowest(np.concatenate([[0], ends]))).dump()
    if not _counts_up(others):
        listed["values"] = write_array(home, f"{name}.values", narrowest(others)).dump()
    return listed


def _counts_up(values: Numbers) -> bool:
    return bool((values == np.arange(len(values))).all())


class Associations:
    """The records that each of ``count`` records is associated with. Questions take time by their answers, and by pages touched."""

    def __init__(self, listed: Mapping[str, Any], find: Callable[[str], Path]) -> None:
        """Raises ValueError for what does not fit together."""
        self.count, self.pairs = int(listed["count"]), int(listed["pairs"])
        self._offsets = None if listed["offsets"] is None else StoredArray(Listed.load(listed["offsets"]), find)
        self._values = None if listed["values"] is None else StoredArray(Listed.load(listed["values"]), find)
        if self.count < 0 or self.pairs < 0 or (self.pairs if self._offsets is None else len(self._offsets) - 1) != self.count:
            raise ValueError(f"associations of {self.count} records do not have {self.pairs} pairs")
        if self._values is not None and len(self._values) != self.pairs:
            raise ValueError(f"{len(self._values)} values are not of {self.pairs} pairs")

    def of(self, records: Numbers) -> Numbers:
        """What these records are associated with, record by record."""
        starts, stops = self._ends(records)
        if self._values is None:
            return spread(starts, stops - starts)
        return self._values.parts(starts, stops).astype(np.int64)

    def degrees(self, records: Numbers) -> Numbers:
        """With how many each of these records is associated."""
        starts, stops = self._ends(records)
        return stops - starts

    @property
    def bytes(self) -> int:
        """Bytes of its files."""
        return sum(array.listed.bytes for array in (self._offsets, self._values) if array is not None)

    def _ends(self, records: Numbers) -> tuple[Numbers, Numbers]:
        if self._offsets is None:
            return records, records + 1
        if len(records) == 1:  # both stand on one page, mostly
            first, last = self._offsets.part(int(records[0]), int(records[0]) + 2).astype(np.int64)
            return np.array([first]), np.array([last])
        return self._offsets.take(records).astype(np.int64), self._offsets.take(records + 1).astype(np.int64)
