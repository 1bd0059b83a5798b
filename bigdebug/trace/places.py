"""Places: a set of records at one operator, as sorted positions by partition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from bigdebug.model import NO_RIDS, POSITION_BITS, POSITION_MASK, Rids, pack
from bigdebug.trace.positions import Positions, distinct

Places = Mapping[int, Positions]


def rids_of(places: Places) -> Rids:
    """All rids, ascending."""
    parts = [pack(partition, places[partition]) for partition in sorted(places) if len(places[partition])]
    return np.concatenate(parts) if parts else NO_RIDS


def places_of(rids: Iterable[int] | Rids) -> dict[int, Positions]:
    """The inverse of ``rids_of``; takes rids in any order."""
    packed = distinct(np.asarray(list(rids) if not isinstance(rids, np.ndarray) else rids, dtype=np.int64))
    partitions, positions = packed >> POSITION_BITS, packed & POSITION_MASK
    starts = np.flatnonzero(partitions[1:] != partitions[:-1]) + 1
    return dict(zip(partitions[np.append(0, starts)].tolist(), np.split(positions, starts))) if len(packed) else {}


def union(*sets: Places) -> dict[int, Positions]:
    """Records in any of the sets."""
    merged: dict[int, list[Positions]] = {}
    for places in sets:
        for partition, positions in places.items():
            if len(positions):
                merged.setdefault(partition, []).append(positions)
    return {p: distinct(np.concatenate(found)) if len(found) > 1 else found[0] for p, found in merged.items()}


def count(places: Places) -> int:
    return sum(len(positions) for positions in places.values())
