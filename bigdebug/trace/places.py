"""Places: a set of records at one operator, as sorted positions by partition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from bigdebug.model import NO_RIDS, POSITION_BITS, POSITION_MASK, Rids, pack
from bigdebug.trace.held import Held, held
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


def union(*sets: Places) -> Places:
    """Records in any of the sets."""
    merged: dict[int, list[Places]] = {}
    for places in sets:
        for partition in occupied(places):
            merged.setdefault(partition, []).append(places)
    some = [places for places in sets if len(places)]
    if len(some) == 1 and isinstance(some[0], Held) and len(merged) == len(some[0]):
        return some[0]
    return held((p, distinct(np.concatenate([each[p] for each in found])) if len(found) > 1 else found[0][p]) for p, found in merged.items())


def occupied(places: Places) -> list[int]:
    """The partitions that have any of the records."""
    return [partition for partition in places if _size(places, partition)]


def evenly(many: int, most: int) -> Positions:
    """Up to ``most`` of so ``many`` positions, from the first to the last."""
    return np.unique(np.linspace(0, many - 1, most).astype(np.int64)) if many else np.zeros(0, np.int64)


def count(places: Places) -> int:
    return sum(_size(places, partition) for partition in places)


def _size(places: Places, partition: int) -> int:
    return places.size(partition) if isinstance(places, Held) else len(places[partition])
