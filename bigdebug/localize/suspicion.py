"""Suspicion: the order in which candidates are suspected, by how far the output moves without each of them (leave-one-out influence)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from bigdebug.localize.oracle import Answer, Oracle

EACH = 2_000
"""Up to so many candidates, each is left out once. Of more, blocks are, and the blocks that matter are divided."""

BLOCKS = 64
"""Blocks that are left out at a time, and how many of them are divided in all."""

WOVEN = 20_000
"""Where tests are pushed down, blocks are woven into each other among so many candidates at most: of a million, a block in many pieces takes as long as the program."""

AT_ONCE = 256
"""Sets that are asked about together."""


@dataclass(frozen=True)
class Suspicion:
    """``order`` are the candidates, the most suspicious one first; ``scores``, by candidate, how far the output moves without it, 1 being the farthest.

    ``singles`` are those without any one of which it is right, in order, as far as they were met; all of them if ``each`` candidate was left out.
    ``vital`` are those without any one of which it is not there any more, as far as they were met. ``met`` are those that were left out one by one.
    """

    order: npt.NDArray[np.uint32]
    scores: npt.NDArray[np.float64]
    singles: tuple[int, ...] = ()
    each: bool = False
    vital: tuple[int, ...] = ()
    met: BitMap = field(default_factory=BitMap)


def unsuspected(size: int) -> Suspicion:
    """Candidates of which nothing is known."""
    return Suspicion(np.arange(size, dtype=np.uint32), np.zeros(size))


def suspicion(oracle: Oracle, size: int, each_of: int = EACH) -> Suspicion:
    """The order in which the candidates 0 to ``size`` - 1 of an output are suspected. Spent passes."""
    return Ranking(oracle, size, each_of).suspicion()


class Ranking:
    """Finds the order in which the candidates 0 to ``size`` - 1 of an output are suspected.

    Takes a test for each of up to ``each_of`` candidates; of n more, some BLOCKS * log(n / BLOCKS), and what stands in a block has the block's score. It takes no step whose tests
    nobody ``affords``: then what was not divided has its block's score. A candidate
    without which the output is right comes before all others, and first if it still holds a number: without one of the other side of a join, there is none any
    more. Where the output holds no number, nothing else is known. Equals keep their order. ``enough`` is the smallest block that was seen to repair the output.
    """

    def __init__(self, oracle: Oracle, size: int, each_of: int = EACH, affords: Callable[[Callable[[], int]], bool] = lambda tests: True) -> None:
        self._oracle, self._size, self._affords = oracle, size, affords
        self._each = size <= each_of and self._is_afforded(_divided(range(size), size))
        self.enough: BitMap | None = None

    def suspicion(self) -> Suspicion:
        """The order. Spent passes."""
        size = self._size
        moved, repairs, gone, met = np.zeros(size), np.zeros(size, dtype=bool), np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
        singles, vital, parts = list[int](), list[int](), self._parts()
        while parts and self._is_afforded(parts):
            far, right, no_more = self._moved(parts)
            for part, by, repaired, ends in zip(parts, far, right, no_more):
                here = slice(part.start, part.stop, part.step)
                moved[here], repairs[here], gone[here], met[here] = by / len(part), repaired, repaired and ends, len(part) == 1
            singles += [part.start for part, repaired in zip(parts, right) if repaired and len(part) == 1]
            vital += [part.start for part, ends in zip(parts, no_more) if ends and len(part) == 1]
            likely = sorted(range(len(parts)), key=lambda i: (not right[i], -far[i] / len(parts[i])))[: BLOCKS // 8]
            needed = [i for i, ends in enumerate(no_more) if ends and i not in likely][: BLOCKS // 8]
            todo = [parts[i] for i in sorted({*likely, *needed}) if len(parts[i]) > 1]
            parts = [smaller for part in todo for smaller in _divided(part, max(2, BLOCKS // len(todo)))]
        order = np.lexsort((-moved, gone, ~repairs)).astype(np.uint32)
        first = set(singles)
        return Suspicion(order, _scaled(moved), tuple(int(i) for i in order if int(i) in first), self._each, tuple(vital), BitMap(np.flatnonzero(met).astype(np.uint32)))

    def _is_afforded(self, parts: Sequence[range]) -> bool:
        """Whether the tests are that leave out each part; those that were made are no more to be paid."""
        every = BitMap(range(self._size))
        return self._affords(lambda: self._oracle.unasked([every - BitMap(each) for each in parts]))

    def _parts(self) -> list[range]:
        """What is left out first."""
        if self._each:
            return _divided(range(self._size), self._size)
        return _divided(range(self._size), BLOCKS) if self._oracle.pushed and self._size > WOVEN else _woven(self._size)

    def _moved(self, parts: Sequence[range]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """How far the output is without each part from where it is on all, whether it is right, and whether it is gone, or holds no number any more."""
        every, answers = BitMap(range(self._size)), list[Answer]()
        (whole,) = self._oracle.answers([every])
        for at in range(0, len(parts), AT_ONCE):
            here = list(map(BitMap, parts[at: at + AT_ONCE]))
            said = self._oracle.answers([every - each for each in here])
            self.enough = min([each for each, answer in zip(here, said) if answer.passes and len(each) < self._size] + ([] if self.enough is None else [self.enough]), key=len, default=None)
            answers += said
        by = np.abs(np.array([answer.value - whole.value if math.isfinite(answer.value) else math.nan for answer in answers], dtype=np.float64))
        repairs = np.array([answer.passes for answer in answers], dtype=bool)
        finite, gone = by[np.isfinite(by)], np.array([answer.gone for answer in answers], dtype=bool)
        # An output that is gone has moved as far as any if it is right so, and not at all if it is not.
        return np.where(np.isfinite(by), by, np.where(repairs, finite.max() if len(finite) else 1.0, 0.0)), repairs, gone


def _scaled(moved: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    most = moved.max() if len(moved) else 0.0
    return moved / most if most > 0 else moved


def _divided(part: range, parts: int) -> list[range]:
    ends = np.unique(np.linspace(0, len(part), min(parts, len(part)) + 1).astype(np.int64)).tolist()
    return [part[start:end] for start, end in pairwise(ends)]


def _woven(size: int) -> list[range]:
    """Blocks, two and two woven into each other: what one record adds, the next one may take back, as an order and its refund, and a block of both moves nothing."""
    return [block[side::2] for block in _divided(range(size), BLOCKS // 2) for side in (0, 1) if len(block) > side]
