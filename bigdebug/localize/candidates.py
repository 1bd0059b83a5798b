"""Candidates: the records that wrong outputs were made of, numbered, so that sets of them are bitmaps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from bigdebug.trace.places import Places, union
from bigdebug.trace.positions import Positions
from bigdebug.trace.trace import Standing

Numbers = npt.NDArray[np.int64]


def together(standings: Sequence[Standing]) -> Standing:
    """All records of several."""
    operators = {operator for standing in standings for operator in standing}
    return {operator: union(*(standing[operator] for standing in standings if operator in standing)) for operator in operators}


class Candidates:
    """Records at some operators, numbered from 0 in the order of operators, partitions and positions."""

    def __init__(self, standing: Standing) -> None:
        self._parts: list[tuple[int, int, Positions]] = [
            (operator, partition, places[partition])
            for operator, places in sorted(standing.items()) for partition in sorted(places) if len(places[partition])
        ]
        self._ends = np.cumsum([0, *(len(positions) for _, _, positions in self._parts)])

    def __len__(self) -> int:
        return int(self._ends[-1])

    def at(self, operator: int) -> Places:
        """The records at one operator."""
        return {partition: positions for known, partition, positions in self._parts if known == operator}

    def operator(self, number: int) -> int:
        """The operator at which a record stands."""
        return self._parts[int(np.searchsorted(self._ends, number, side="right")) - 1][0]

    def begins(self, operator: int) -> int:
        """The number of the first record at an operator, or of the next one that there is."""
        return int(next((end for (known, _, _), end in zip(self._parts, self._ends) if known >= operator), self._ends[-1]))

    def numbers(self, standing: Standing) -> Numbers:
        """The numbers of some of the records, ascending; what is no candidate has none."""
        found = [
            start + np.flatnonzero(np.isin(positions, standing[operator][partition], assume_unique=True))
            for (operator, partition, positions), start in zip(self._parts, self._ends)
            if operator in standing and partition in standing[operator]
        ]
        return np.concatenate(found).astype(np.int64) if found else np.empty(0, dtype=np.int64)

    def standing(self, numbers: Iterable[int]) -> dict[int, dict[int, Positions]]:
        """Where the records of some numbers stand."""
        wanted = np.unique(np.fromiter(numbers, dtype=np.int64))
        found: dict[int, dict[int, Positions]] = {}
        for (operator, partition, positions), start, end in zip(self._parts, self._ends, self._ends[1:]):
            here = wanted[np.searchsorted(wanted, start): np.searchsorted(wanted, end)] - start
            if len(here):
                found.setdefault(operator, {})[partition] = positions[here]
        return found

    def __repr__(self) -> str:
        return f"<{len(self):,} candidates at operators {sorted({operator for operator, _, _ in self._parts})}>"
