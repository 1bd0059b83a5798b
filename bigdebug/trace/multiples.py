"""Multiples: equal records that were made of the same share a name. Each has a number of its own, and what is known of the name holds for all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bigdebug.errors import TooLargeError
from bigdebug.trace.pairs import MOST_PAIRS
from bigdebug.trace.positions import Positions


@dataclass(frozen=True)
class Multiples:
    """By name, the ``first`` number of its records, and how many ``times`` there is one; None where each name has one record."""

    first: Positions
    times: Positions | None = None

    @classmethod
    def of(cls, times: Positions) -> Multiples:
        """Numbers in the order of the names, those of one name behind one another."""
        return cls(np.cumsum(times) - times, times)

    @property
    def count(self) -> int:
        """How many records there are."""
        return len(self.first) if self.times is None else int(self.times.sum())

    def each(self, at: Positions) -> Positions:
        """How many records each of some names has."""
        return np.ones(len(at), np.int64) if self.times is None else self.times[at]


def paired(above: Multiples, made: Positions, below: Multiples, of: Positions) -> tuple[Positions, Positions]:
    """Pairs of names as pairs of numbers: of each record of the one with each record of the other. Raises TooLargeError for more than 2**28."""
    if above.times is None and below.times is None:
        return above.first[made], below.first[of]
    widths = below.each(of)
    sizes = above.each(made) * widths
    if (total := int(sizes.sum())) > MOST_PAIRS:
        raise TooLargeError(f"Equal rows that were made of the same are so many that there are {total:,} associations", remedy="Save runs of fewer records.")
    pair = np.repeat(np.arange(len(sizes)), sizes)
    within = np.arange(total) - (np.cumsum(sizes) - sizes)[pair]
    return above.first[made[pair]] + within // widths[pair], below.first[of[pair]] + within % widths[pair]
