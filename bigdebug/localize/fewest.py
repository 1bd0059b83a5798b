"""The fewest members with a property, found by prefixes: no property is taken for granted, and what is found is minimal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

FIRST = 256
"""Of the most likely members, so many are tried first: an order that is any good has them all there."""

CLOSE = 8
"""Members that are no farther apart than this are taken for many, and the next one is looked for from behind."""

Wanted = Callable[[Sequence[BitMap]], Sequence[bool]]
"""Says of several sets at once whether each has the property."""


class Fewest:
    """A search for few candidates that have a property together. ``order`` names them all, as uint32, the most likely one first.

    The shortest prefix of the order with the property ends in a member: it is kept, and the next one is looked for before it, until what is kept has the
    property by itself. Each set on the way was seen to have it or not, so nothing hangs on the property being monotone; for one that is, k members among n
    take about k * log2(n) tests. What is found is minimal in any case: without any one of it, the property is gone (law 7; Zeller's 1-minimality).
    ``best`` has the property at any time, so that a search that is spent has an answer. ``at_once`` is how many sets are worth asking about together.
    """

    def __init__(self, wanted: Wanted, order: npt.NDArray[np.uint32], at_once: int = 1) -> None:
        self._wanted, self._order, self._at_once = wanted, order, at_once
        self.best = BitMap(order)
        self._prefixes = {0: BitMap()}

    def search(self, most: int | None = None) -> BitMap | None:
        """The members, None if more than ``most`` are needed. That all candidates together have the property is for the caller to know; Spent passes."""
        found: list[int] = []
        high, near = len(self._order), False
        while True:
            low, high = self._from_behind(found, high) if near else self._from_before(found, high)
            if low == high == 0:
                return self._reduced(found)
            while high - low > 1:
                low, high = self._narrowed(found, low, high)
            high -= 1
            near = bool(found) and found[-1] - high <= CLOSE
            found.append(high)
            if most is not None and len(found) > most:
                return None

    def _from_before(self, found: list[int], high: int) -> tuple[int, int]:
        """How long a prefix is not enough beside what was found, and how long a one is; (0, 0) if none is needed."""
        likely = not found and high > FIRST
        alone, *few = self._enough(found, [0, FIRST] if likely else [0])
        if alone:
            return 0, 0
        if likely:
            return (0, FIRST) if few[0] else (FIRST, high)
        return 0, high

    def _from_behind(self, found: list[int], high: int) -> tuple[int, int]:
        """The same, from the longest prefix on, in steps that double."""
        step = 1
        while high > 0:
            low = max(high - step, 0)
            if not self._enough(found, [low])[0]:
                return low, high
            high, step = low, step * 2
        return 0, 0

    def _narrowed(self, found: list[int], low: int, high: int) -> tuple[int, int]:
        parts = min(self._at_once + 1, high - low)
        ends = [low + (high - low) * part // parts for part in range(1, parts)]
        for end, enough in zip(ends, self._enough(found, ends)):
            if enough:
                return low, end
            low = end
        return low, high

    def _enough(self, found: list[int], ends: Sequence[int]) -> list[bool]:
        """Whether prefixes have the property, with what was found."""
        kept = self._members(found)
        sets = [kept | self._prefix(end) for end in ends]
        answers = list(self._wanted(sets))
        for each, enough in zip(sets, answers):
            if enough and len(each) < len(self.best):
                self.best = each
        return answers

    def _reduced(self, found: list[int]) -> BitMap:
        """What was found, less what it has the property without."""
        members, needed = self._members(found), set[int]()
        while doubtful := [member for member in members if member not in needed]:
            for member in doubtful:
                fewer = members - BitMap([member])
                if self._wanted([fewer])[0]:
                    members = fewer
                    needed.clear()  # of fewer members, others may be needed no more
                else:
                    needed.add(member)
        self.best = members
        return members

    def _prefix(self, end: int) -> BitMap:
        """Made of the longest shorter one that is known: those of a search among n take n steps in all, and not n for each."""
        if end not in self._prefixes:
            known = max(each for each in self._prefixes if each <= end)
            self._prefixes[end] = self._prefixes[known] | BitMap(self._order[known:end])
        return self._prefixes[end]

    def _members(self, ranks: list[int]) -> BitMap:
        return BitMap(self._order[ranks])
