"""Associated: the lineage of a saved run in files that are mapped: records of its levels by number, and which were made of which, both ways.

A question touches the pages of its answer: of ten million associations, one record's take milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bigdebug.errors import CorruptBlockError, TooLargeError
from bigdebug.store.associations import Associations, write_associations
from bigdebug.trace.numbering import Numbering
from bigdebug.trace.pairs import MOST_PAIRS
from bigdebug.trace.places import Places
from bigdebug.trace.positions import Positions, distinct

_MEND = "Restore the directory, or save the session again."


class Pairs(NamedTuple):
    """Records of level ``made`` and of level ``of`` that they were made of, by number: beside each other, in any order. ``branch`` is that of the operator's inputs."""

    made: int
    of: int
    branch: int
    above: Positions
    below: Positions


@dataclass(frozen=True)
class _Way:
    """One level's associations with another, both ways."""

    made: int
    of: int
    branch: int
    back: Associations
    ahead: Associations


class Associated:
    """What ``write`` wrote. Levels are operators of the run's graph."""

    def __init__(self, levels: Mapping[int, Numbering], ways: Iterable[_Way]) -> None:
        """Raises ValueError where levels and ways do not fit together, LookupError for a way of no level."""
        self.levels = levels
        self._ways = {(way.made, way.of, way.branch): way for way in ways}
        for way in self._ways.values():
            if (way.back.count, way.ahead.count) != (levels[way.made].count, levels[way.of].count):
                raise ValueError(f"the associations of level {way.made} with {way.of} are of other records")

    @classmethod
    def load(cls, data: Mapping[str, Any], find: Callable[[str], Path]) -> Associated:
        """From what a catalog lists; ``find`` gives the path of a file. Raises ValueError, LookupError or TypeError for what is no list of ours."""
        return cls(
            {int(level): Numbering.load(listed, find) for level, listed in data["levels"].items()},
            [_Way(int(w["made"]), int(w["of"]), int(w["branch"]), Associations(w["back"], find), Associations(w["ahead"], find)) for w in data["ways"]],
        )

    def numbered(self, level: int, numbering: Numbering) -> Associated:
        """The same, where ``numbering`` says which records of a level the numbers are of. Raises CorruptBlockError where it has more of them, or fewer."""
        if (count := self.levels[level].count) != numbering.count:
            raise CorruptBlockError(f"What was saved of a run was altered: level {level} has {count:,} records, and {numbering.count:,} are numbered", remedy=_MEND)
        return Associated({**self.levels, level: numbering}, self._ways.values())

    @property
    def ways(self) -> list[tuple[int, int, int]]:
        """The level that was made, the one it was made of, and the branch, of each way."""
        return list(self._ways)

    def knows(self, made: int, of: int, branch: int) -> bool:
        return (made, of, branch) in self._ways

    @property
    def pairs(self) -> int:
        """How many associations there are."""
        return sum(way.back.pairs for way in self._ways.values())

    @property
    def bytes(self) -> int:
        """Bytes of their files, without the numbers of records."""
        return sum(way.back.bytes + way.ahead.bytes for way in self._ways.values())

    def back(self, made: int, of: int, branch: int, places: Places) -> dict[int, Positions]:
        """From records of one level to those of ``of`` that they were made of."""
        way = self._way(made, of, branch)
        return self._reached(of, way.back.of(self.levels[made].numbers(places)))

    def ahead(self, made: int, of: int, branch: int, places: Places) -> dict[int, Positions]:
        """From records of ``of`` to those of one level that were made of them."""
        way = self._way(made, of, branch)
        return self._reached(made, way.ahead.of(self.levels[of].numbers(self.levels[of].known(places))))

    def pairs_of(self, made: int, of: int, branch: int, numbers: Positions) -> tuple[Positions, Positions]:
        """Of records of one level by number: which of them, and the number of one that it was made of; a pair for each."""
        back = self._way(made, of, branch).back
        return np.repeat(numbers, back.degrees(numbers)), back.of(numbers)

    def _way(self, made: int, of: int, branch: int) -> _Way:
        way = self._ways.get((made, of, branch))
        if way is None:
            raise CorruptBlockError(f"What was saved of the lineage of a run was altered: it does not lead from level {made} to {of}", remedy=_MEND)
        return way

    def _reached(self, level: int, numbers: Positions) -> dict[int, Positions]:
        numbers = distinct(numbers)
        if len(numbers) and numbers[-1] >= self.levels[level].count:
            raise CorruptBlockError(f"What was saved of the lineage of a run was altered: level {level} has no record {numbers[-1]}", remedy=_MEND)
        return self.levels[level].places(numbers)


def write(home: Path, folder: str, levels: Mapping[int, Numbering], pairs: Iterable[Pairs]) -> dict[str, Any]:
    """Write the lineage of a run into a folder below ``home``; what a catalog lists of it. ``levels`` may become known while ``pairs`` are given.

    Takes two sorts of the pairs of two levels and some 40 bytes of memory for each, and 4 to 8 bytes on disk; less where records are made one of one.
    Raises TooLargeError for more than 2**28 between two levels.
    """
    listed: dict[str, Any] = {"levels": {}, "ways": []}
    for way in pairs:
        if len(way.above) > MOST_PAIRS:
            raise TooLargeError(f"Between operators {way.made} and {way.of} there are {len(way.above):,} associations", remedy="Save runs of fewer records.")
        name = f"{folder}/{way.made}-{way.of}-{way.branch}"
        above, below = levels[way.made].count, levels[way.of].count
        upper, lower = _sorted(way.above, way.below, below)
        back = write_associations(home, f"{name}.back", upper, lower, above)
        lower, upper = _sorted(lower, upper, above)
        ahead = write_associations(home, f"{name}.ahead", lower, upper, below)
        listed["ways"].append({"made": way.made, "of": way.of, "branch": way.branch, "back": back, "ahead": ahead})
    for level, numbering in levels.items():
        listed["levels"][str(level)] = numbering.dump(home, f"{folder}/{level}")
    return listed


def _sorted(first: Positions, second: Positions, size: int) -> tuple[Positions, Positions]:
    """The pairs in ascending order, each once; ``second`` are below ``size``."""
    both = distinct(first * max(size, 1) + second)
    return np.divmod(both, max(size, 1))
