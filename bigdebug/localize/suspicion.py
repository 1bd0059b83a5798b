"""Suspicion: the order in which candidates are suspected, by how far the output moves without each of them (leave-one-out influence)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from bigdebug.localize.oracle import Answer, Oracle

EACH = 2_000
"""Up to so many candidates, each is left out once. Of more, blocks are, and the blocks that matter are divided."""

BLOCKS = 64
"""Blocks that are left out at a time, and how many of them are divided in all."""

AT_ONCE = 256
"""Sets that are asked about together."""


@dataclass(frozen=True)
class Suspicion:
    """``order`` are the candidates, the most suspicious one first; ``scores``, by candidate, how far the output moves without it, 1 being the farthest.

    ``singles`` are those without any one of which it is right, in order, as far as they were met; all of them if ``each`` candidate was left out.
    ``vital`` are those without any one of which it is not there any more, as far as they were met.
    """

    order: npt.NDArray[np.uint32]
    scores: npt.NDArray[np.float64]
    singles: tuple[int, ...] = ()
    each: bool = False
    vital: tuple[int, ...] = ()


def unsuspected(size: int) -> Suspicion:
    """Candidates of which nothing is known."""
    return Suspicion(np.arange(size, dtype=np.uint32), np.zeros(size))


def suspicion(oracle: Oracle, size: int, each_of: int = EACH) -> Suspicion:
    """The order in which the candidates 0 to ``size`` - 1 of an output are suspected. Spent passes.

    Takes a test for each of up to ``each_of`` candidates; of n more, some BLOCKS * log(n / BLOCKS), and what stands in a block has the block's score. A candidate
    without which the output is right comes before all others, and first if it still holds a number: without one of the other side of a join, there is none any
    more. Where the output holds no number, nothing else is known. Equals keep their order.
    """
    every = BitMap(range(size))
    (whole,) = oracle.answers([every])
    moved, repairs, gone = np.zeros(size), np.zeros(size, dtype=bool), np.zeros(size, dtype=bool)
    todo, each, singles, vital = [(0, size)], size <= each_of, list[int](), list[int]()
    while todo:
        parts = [part for start, end in todo for part in _divided(start, end, size if each else max(2, BLOCKS // len(todo)))]
        far, right, no_more = _moved(oracle, [every - BitMap(range(*part)) for part in parts], whole)
        for (start, end), by, repaired, ends in zip(parts, far, right, no_more):
            moved[start:end], repairs[start:end], gone[start:end] = by / (end - start), repaired, repaired and ends
        singles += [start for (start, end), repaired in zip(parts, right) if repaired and end - start == 1]
        vital += [start for (start, end), ends in zip(parts, no_more) if ends and end - start == 1]
        likely = sorted(range(len(parts)), key=lambda i: (not right[i], -far[i] / (parts[i][1] - parts[i][0])))[: BLOCKS // 8]
        needed = [i for i, ends in enumerate(no_more) if ends and i not in likely][: BLOCKS // 8]
        todo = [parts[i] for i in sorted({*likely, *needed}) if parts[i][1] - parts[i][0] > 1]
    order = np.lexsort((-moved, gone, ~repairs)).astype(np.uint32)
    met = set(singles)
    return Suspicion(order, _scaled(moved), tuple(int(i) for i in order if int(i) in met), each, tuple(vital))


def _moved(oracle: Oracle, sets: Sequence[BitMap], whole: Answer) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """How far the output is on each set from where it is on all, whether it is right, and whether it is gone, or holds no number any more."""
    answers = [answer for at in range(0, len(sets), AT_ONCE) for answer in oracle.answers(sets[at: at + AT_ONCE])]
    by = np.abs(np.array([answer.value - whole.value if math.isfinite(answer.value) else math.nan for answer in answers], dtype=np.float64))
    repairs = np.array([answer.passes for answer in answers], dtype=bool)
    finite, gone = by[np.isfinite(by)], np.array([answer.gone for answer in answers], dtype=bool)
    # An output that is gone has moved as far as any if it is right so, and not at all if it is not.
    return np.where(np.isfinite(by), by, np.where(repairs, finite.max() if len(finite) else 1.0, 0.0)), repairs, gone


def _scaled(moved: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    most = moved.max() if len(moved) else 0.0
    return moved / most if most > 0 else moved


def _divided(start: int, end: int, parts: int) -> list[tuple[int, int]]:
    ends = np.unique(np.linspace(start, end, min(parts, end - start) + 1).astype(np.int64)).tolist()
    return list(pairwise(ends))
