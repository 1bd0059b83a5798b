"""Indexed associations: which records of the levels below made each record of a level, both ways, in arrays (Smoke 3.1).

Backward it is a rid index: the witnesses of a record stand together, in the order of the records. Forward is made when first
asked: the witnesses sorted by what they name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property, partial, reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bigdebug.trace.names import NOTHING, Codes, Names, codes_of, distinct, places


class Below:
    """What the witnesses name at one level below, in the order of the records above."""

    def __init__(self, names: Names) -> None:
        """``names`` by witness; NULL where none took part."""
        self._present = None if not names.null_count else ~names.is_null().to_numpy(zero_copy_only=False)
        if pa.types.is_struct(names.type):
            codes, _ = codes_of(names)
            _, first = np.unique(codes, return_index=True)
            self._known: Names | None = names.take(pa.array(first))
            self._values: Codes = codes
        else:
            self._known = None
            numbers = names.cast(pa.int64())  # a subquery, which is taken as a whole, is named true
            filled = numbers.fill_null(-1) if names.null_count else numbers
            self._values = filled.to_numpy(zero_copy_only=False).astype(np.int64)

    @cached_property
    def nbytes(self) -> int:
        return self._values.nbytes + (0 if self._known is None else self._known.nbytes)

    @cached_property
    def _unique(self) -> bool:
        """Whether no two witnesses name the same record: then none of an answer's need be looked for twice."""
        if self._present is not None or not len(self._values):
            return False
        low, high = int(self._values.min()), int(self._values.max())
        if high - low > 8 * len(self._values) + 1024:
            return len(np.unique(self._values)) == len(self._values)
        seen = np.zeros(high - low + 1, dtype=bool)
        seen[self._values - low] = True
        return int(seen.sum()) == len(self._values)

    def named(self, witnesses: npt.NDArray[np.int64] | slice) -> Names:
        """The records that some witnesses name, each once."""
        values = self._values[witnesses]
        if self._present is not None:
            values = values[self._present[witnesses]]
        if not self._unique:
            values = np.unique(values)
        found = pa.array(values)
        return found if self._known is None else self._known.take(found)

    def pairs(self, owners: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], Names]:
        """Those of some things, one for each witness, whose witness names a record; and its name."""
        here = slice(None) if self._present is None else np.flatnonzero(self._present)
        found = pa.array(self._values[here])
        return owners[here], found if self._known is None else self._known.take(found)

    def naming(self, names: Names) -> npt.NDArray[np.int64]:
        """The witnesses that name one of these records, or any if None."""
        if names is None:
            return np.arange(len(self._values)) if self._present is None else np.flatnonzero(self._present)
        wanted = places(self._known, names) if self._known is not None else names.to_numpy(zero_copy_only=False).astype(np.int64)
        order, values = self._sorted
        first, last = np.searchsorted(values, wanted, "left"), np.searchsorted(values, wanted, "right")
        found = order[_ranges(first, last)]
        return found if self._present is None else found[self._present[found]]

    def allowing(self, names: Names) -> npt.NDArray[np.int64]:
        """The witnesses that name one of these records, or none at all; ascending."""
        found = self.naming(names)
        return np.unique(found if self._present is None else np.concatenate([found, np.flatnonzero(~self._present)]))

    def has(self, names: Names) -> bool:
        """Whether some witness names each of these records."""
        if self._known is not None:
            return len(places(self._known, names)) == len(names)
        wanted = names.to_numpy(zero_copy_only=False).astype(np.int64)
        values = self._sorted[1]
        return bool(np.all(np.searchsorted(values, wanted, "right") > np.searchsorted(values, wanted, "left")))

    @cached_property
    def _sorted(self) -> tuple[npt.NDArray[np.int64], Codes]:
        order = np.argsort(self._values, kind="stable")
        return order, self._values[order]


class Indexed:
    """The association of one level with those right below it.

    ``keys`` are the names of its records by witness, ``below`` what the witnesses name, by level. Building takes a sort of
    the witnesses; a question takes time in proportion to its answer. ``direction`` is the one that will be asked, "backward"
    or "forward", or "both" (Smoke 4.1); ``complete`` says that ``below`` are all levels there are, ``whole`` that all records of
    the level are there, and not only those that something above was made of.
    """

    def __init__(self, keys: Names, below: Mapping[int, Names], direction: str = "both", complete: bool = True, whole: bool = True) -> None:
        codes, count = codes_of(keys)
        order = np.argsort(codes, kind="stable")
        self._offsets = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=count))])
        self.records: Names = keys.take(pa.array(order[self._offsets[:-1]]))
        self._owners = None if direction == "backward" else codes[order]
        self._below = {level: Below(names.take(pa.array(order))) for level, names in below.items()}
        self._complete = complete
        self.whole = whole
        self.closed = whole
        """Whether all records are here that can be made of nothing but what the indexes of the query hold."""

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, without what forward questions add."""
        owners = 0 if self._owners is None else self._owners.nbytes
        return int(self._offsets.nbytes + owners + self.records.nbytes + sum(b.nbytes for b in self._below.values()))

    def __len__(self) -> int:
        """How many witnesses."""
        return int(self._offsets[-1])

    def witnesses(self) -> Iterator[tuple[int, npt.NDArray[np.int64], Names]]:
        """By level below, the pairs of a record, by its place in ``records``, and the name of one there that it was made of; a pair for each witness."""
        owners = np.repeat(np.arange(len(self.records)), np.diff(self._offsets))
        for level, below in self._below.items():
            yield (level, *below.pairs(owners))

    def answers(self, below: Collection[int] | None, ahead: bool) -> bool:
        """Whether it knows these levels below, all if None, in a direction."""
        return (self._complete or (below is not None and self._below.keys() >= set(below))) and not (ahead and self._owners is None)

    def back(self, names: Names, wanted: Collection[int] | None = None) -> dict[int, Names] | None:
        """The records below, at the levels ``wanted``, that those of these names were made of; of all, if None.

        None if some of them are not here.
        """
        if names is None:
            return self.everything(wanted) if self.whole else None
        at = places(self.records, names)
        if len(at) < len(names) and not self.whole:
            return None
        first, last = self._offsets[at], self._offsets[at + 1]
        return self._named(slice(int(first[0]), int(last[0])) if len(at) == 1 else _ranges(first, last), wanted)

    def everything(self, wanted: Collection[int] | None) -> dict[int, Names]:
        """The records below that any that is here was made of."""
        return self._named(slice(None), wanted)

    def _named(self, witnesses: Any, wanted: Collection[int] | None) -> dict[int, Names]:
        return {level: below.named(witnesses) for level, below in self._below.items() if wanted is None or level in wanted}

    def takes(self, level: int, names: Names) -> bool:
        """Whether each of these records of a level below has a part in some that is here."""
        return names is not None and level in self._below and self._below[level].has(names)

    def ahead(self, level: int, names: Names) -> Names:
        """The records that those of a level below had a part in; of all that it has, if None."""
        if level not in self._below or (names is not None and not len(names)):  # no row is made of an anti join's right side
            return NOTHING
        assert self._owners is not None
        witnesses = self._below[level].naming(names)
        return distinct(self.records.take(pa.array(np.unique(self._owners[witnesses]))))

    def made_of(self, held: Mapping[int, Names]) -> Names:
        """The records with a witness that names, at each level of ``held``, one of these records below or none."""
        assert self._owners is not None
        allowed = [self._below[level].allowing(names) for level, names in held.items()]
        witnesses = reduce(partial(np.intersect1d, assume_unique=True), allowed)
        return self.records.take(pa.array(np.unique(self._owners[witnesses])))


def _ranges(first: npt.NDArray[np.int64], last: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """All numbers from each ``first`` to before its ``last``, one range after the other."""
    sizes = last - first
    total = int(sizes.sum())
    if not total:
        return np.empty(0, dtype=np.int64)
    starts = np.repeat(first - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
    numbers: npt.NDArray[np.int64] = np.arange(total) + starts
    return numbers
