"""The values that people and scripts hold: record ids, source records, statistics, runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from bigdebug.shown import plain, shown

Rids = npt.NDArray[np.int64]

POSITION_BITS = 40
POSITION_MASK = (1 << POSITION_BITS) - 1
NO_RIDS: Rids = np.empty(0, dtype=np.int64)


def pack(partition: int, positions: npt.NDArray[Any]) -> Rids:
    """The rids of ``positions`` in ``partition``: partition in the high 23 bits, position in the low 40."""
    return (np.int64(partition) << POSITION_BITS) | positions.astype(np.int64)


@dataclass(frozen=True)
class Origin:
    """Where a source record came from; at most one of ``line``, ``row`` and ``index`` is set.

    ``line`` counts from 1 in a text file, ``row`` from 0 in another file, ``index`` from 0 in a collection
    or in an RDD that was made outside of bigdebug. A record that is a whole file has its ``path`` alone.
    """

    dataset: str
    path: str | None = None
    line: int | None = None
    row: int | None = None
    index: int | None = None

    def __str__(self) -> str:
        if self.line is not None:
            return f"{self.path or self.dataset}:{self.line}"
        if self.row is not None:
            return f"{self.path or self.dataset}[{self.row}]"
        if self.index is None:
            return self.path or self.dataset
        return f"{self.dataset}[{self.index}]"


@dataclass(frozen=True, repr=False)
class SourceRecord:
    """A record of a job's input as the program saw it, with its rid and its origin.

    ``source`` is the operator of the run that read it: two collections are called alike, and have records at the same places. None if it is not known.
    """

    record: Any
    rid: int
    origin: Origin
    source: int | None = None

    def __repr__(self) -> str:
        return plain(f"SourceRecord(record={shown(self.record)}, rid={self.rid}, origin={self.origin!r})")


class Outcome(Enum):
    """What a test says of the program's output on a set of records (Zeller). UNRESOLVED: it said nothing, for something raised."""

    PASS = "pass"
    FAIL = "fail"
    UNRESOLVED = "unresolved"


@dataclass(frozen=True)
class StageStatistics:
    """What one stage of a run took: bytes of lineage, seconds in its tasks."""

    stage: str
    operators: tuple[int, ...]
    bytes: int
    seconds: float


@dataclass(frozen=True)
class Statistics:
    """Totals of a run: records of its sources and of what the action was called on, bytes of lineage on disk, seconds.

    ``records`` counts by operator, where a table ends at it; operators fused with the next are not counted. ``stages``
    has bytes and seconds: a stage is the smallest thing that is timed. What nobody counted is -1.
    """

    records_in: int = 0
    records_out: int = 0
    bytes: int = 0
    seconds: float = 0.0
    records: Mapping[int, int] = field(default_factory=dict)
    stages: tuple[StageStatistics, ...] = ()
