"""A subject: a wrong output that is looked at, with the candidates that it was made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from bigdebug.localize.oracle import Oracle

Ids = frozenset[int]
"""Candidates by their numbers among those of all outputs."""

FEW = 2
"""Sets that the program is sooner asked about than what each record adds is computed."""


@dataclass(frozen=True)
class Subject:
    """A wrong output: the numbers of its candidates, ascending, and what is asked about sets of them, which are named by their places in that; ``name`` is what it is, as text."""

    candidates: npt.NDArray[np.int64]
    oracle: Oracle
    name: str = ""

    def ids(self, places: Iterable[int]) -> Ids:
        return frozenset(self.candidates[list(places)].tolist())

    def places(self, ids: Ids) -> BitMap:
        """Where those of ``ids`` stand that are candidates of this output."""
        wanted = np.array(sorted(ids), dtype=np.int64)
        at = np.searchsorted(self.candidates, wanted)
        return BitMap([int(place) for place, each in zip(at, wanted) if place < len(self.candidates) and self.candidates[place] == each])

    def has(self, ids: Ids) -> bool:
        """Whether all of ``ids`` are candidates of this output."""
        return len(self.places(ids)) == len(ids)

    def repaired_by(self, repairs: Sequence[Ids]) -> list[bool]:
        """Whether the output is right without each of ``repairs``, and there as it was; one that has none of its candidates does nothing for it.

        Where tests are pushed down, few are asked of the program itself, and of many the first one that repairs.
        """
        every = BitMap(range(len(self.candidates)))
        places = [self.places(each) for each in repairs]
        if any(0 < len(each) < len(every) for each in places):  # what is right is to be there: a NULL is a value that is lost
            self.oracle.compare(self.oracle.answers([every])[0])
        sets = [every - each for each in places if each]
        few = self.oracle.pushed and len(sets) <= FEW
        said = self.oracle.anew(sets) if few else self.oracle.answers(sets)
        if self.oracle.pushed and not few and not all(answer.passes for answer in self.oracle.anew([each for each, answer in zip(sets, said) if answer.passes][:1])):
            self.oracle.distrust()
            said = self.oracle.answers(sets)
        answers = iter(said)
        return [next(answers).passes if each else False for each in places]

    def loses(self, repair: Ids) -> bool:
        """Whether the output is not there without a repair."""
        return self.oracle.answers([BitMap(range(len(self.candidates))) - self.places(repair)])[0].gone
