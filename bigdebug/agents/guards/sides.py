"""Sides: which rows of two groups of one key are the cause, where a function is given both and crashes.

Where it is given pairs (a merge, say), one bad row on a side makes it crash with each row of the other side alone. So it is not enough that it crashes on a
row with all of the other side: of the ways to leave rows out so that it does not crash, that one is taken which leaves out the fewest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bigdebug.agents.guards.code import Told
from bigdebug.agents.guards.searching import found

Known = dict[int, bytes]
"""What is told of rows of a side, by their places there."""

_TRIED = 4
"""Rows of a side that are given alone, for others of that side may be bad, too."""


class _Way(NamedTuple):
    """Rows of both sides without which the function does not crash."""

    left: Known
    right: Known

    @property
    def known(self) -> tuple[Known, Known]:
        return self.left, self.right

    @property
    def total(self) -> int:
        return len(self.left) + len(self.right)


class _More(Exception):
    """There are more such rows than are wanted."""


@dataclass(frozen=True)
class Sides:
    """Two groups of so many rows, on which ``crash`` raises ``problem``. It is given places of rows on both sides."""

    crash: Callable[[Sequence[int], Sequence[int]], BaseException | None]
    sizes: tuple[int, int]
    problem: BaseException

    def causes(self) -> tuple[Known, Known]:
        """What is told of the rows on each side; nothing, if none was found to crash by itself."""
        left, right = map(range, self.sizes)
        needed = [not self._alike(self.crash((), right)), not self._alike(self.crash(left, ()))]
        if all(needed):
            return self._fewest()
        if any(needed):
            side = needed.index(True)
            return self._way(side, self._of(side, self._rows(side), self._rows(1 - side), self.problem) or {}, {}).known
        return self._by_themselves()

    def _fewest(self) -> tuple[Known, Known]:
        """Where it takes rows of both sides. Two ways that are as good, a row of the one side or of the other, are both told."""
        left, right = (self._rows(side) for side in (0, 1))
        one = _Way(self._of(0, left, right, self.problem) or {}, {})
        of_right = self._of(1, right, left, self.problem, self._most(one))
        ways = [one] if of_right is None else [one, _Way({}, of_right)]
        best = min(ways, key=self._rank)
        if self._rank(best) > (0, 0, 1):
            best = min([best, *self._of_few(self._most(best))], key=self._rank)
        alike = [way for way in ways if self._rank(way) == self._rank(best)]
        return (alike[0].left, alike[1].right) if len(alike) > 1 and best in alike else best.known

    def _of_few(self, most: int | None) -> Iterator[_Way]:
        """Ways to leave out some rows of both sides, for there may be bad ones on both: the rows that crash with one of the other side, and not with all rows, and then those of that side that crash without them."""
        for side in (0, 1):
            mine, others = self._rows(side), self._rows(1 - side)
            for other in sorted({others[len(others) * part // _TRIED] for part in range(_TRIED)}):
                own = self._crash(side, mine, [other])
                bad = self._of(side, mine, [other], own, most) if own is not None and self._alike(own) else None
                if not bad or len(bad) == len(mine):
                    continue
                fine = [row for row in mine if row not in bad]
                left = self._crash(side, fine, others)
                rest = {} if left is None else self._of(1 - side, others, fine, left, None if most is None else most - len(bad))
                if rest is not None and self._crash(side, fine, [row for row in others if row not in rest]) is None:
                    yield self._way(side, bad, rest)

    def _by_themselves(self) -> tuple[Known, Known]:
        """Where without all rows of one side the function crashes on those of the other: rows of both, if each crashes by itself."""
        middle, end = self.sizes[0], sum(self.sizes)

        def crash(places: Sequence[int]) -> BaseException | None:
            return self.crash([place for place in places if place < middle], [place - middle for place in places if place >= middle])

        known = dict(found(crash, end, self.problem))
        if any(Told.unpacked(packed).together > 1 for packed in known.values()):
            return {}, {}
        return {place: packed for place, packed in known.items() if place < middle}, {place - middle: packed for place, packed in known.items() if place >= middle}

    def _of(self, side: int, mine: Sequence[int], others: Sequence[int], problem: BaseException, most: int | None = None) -> Known | None:
        """What is told of the rows of a side that the function crashes on with these of the other; None, if there are more than ``most``."""
        alone: set[int] = set()

        def crash(places: Sequence[int]) -> BaseException | None:
            rows = places if isinstance(mine, range) else [mine[place] for place in places]
            own = self._crash(side, rows, others)
            if most is not None and len(rows) == 1 and type(own) is type(problem):
                alone.add(int(rows[0]))
                if len(alone) > most:
                    raise _More
            return own

        try:
            return {int(mine[place]): packed for place, packed in found(crash, len(mine), problem)}
        except _More:
            return None

    def _crash(self, side: int, mine: Sequence[int], others: Sequence[int]) -> BaseException | None:
        return self.crash(others, mine) if side else self.crash(mine, others)

    def _rank(self, way: _Way) -> tuple[int, int, int]:
        """Less is better: rows that crash alone, a side of which some are left, few rows."""
        together = any(Told.unpacked(packed).together != 1 for known in way.known for packed in known.values())
        return (int(together or not way.total), sum(len(known) == size for known, size in zip(way.known, self.sizes)), way.total)

    def _most(self, way: _Way) -> int | None:
        """With how many rows another way may be as good."""
        uncertain, emptied, total = self._rank(way)
        return None if uncertain or emptied else total

    def _rows(self, side: int) -> range:
        return range(self.sizes[side])

    def _alike(self, problem: BaseException | None) -> bool:
        return type(problem) is type(self.problem)

    @staticmethod
    def _way(side: int, known: Known, others: Known) -> _Way:
        return _Way(others, known) if side else _Way(known, others)
