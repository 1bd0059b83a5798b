"""Ties: what may be wrong in the place of a member of a repair, where that is only what it is joined with."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from bigdebug.localize.fewest import Fewest
from bigdebug.localize.oracle import Answer, Oracle
from bigdebug.localize.suspicion import Suspicion

LIKELY = 64
"""Of the most likely candidates, so many are tried with a member."""

MEMBERS = 16
"""Members of a repair that are looked at, the least likely ones: the others are what moves the output most."""

FEW = 8
"""What fails with a member only beside more others than these is no matter of what it is joined with."""


def tied(oracle: Oracle, suspicion: Suspicion, repair: BitMap, alone: BitMap | None, at_once: int) -> BitMap:
    """What fails with a member of a repair, and is nothing without it: two corrupt facts are gone with the one row that both are joined with.

    Each member is looked at where the others are left out: there it is a repair of one record, and what is joined with these is not there. What makes something of what is left
    without the repair, too, is not tied to it: it is there where the output is right. ``alone`` fails by itself. Spent passes.
    """
    order, found = suspicion.order, BitMap()
    members = order[np.isin(order, list(repair))][-MEMBERS:].tolist()
    for member, answer in zip(members, oracle.answers([BitMap([member]) for member in members])):
        if not answer.fails:  # else it is wrong by itself
            others = repair - BitMap([member])
            found |= _tied(oracle, BitMap(suspicion.order) - others, member, list(_failing(oracle, suspicion, member, others, alone, at_once)))
    return found


def _tied(oracle: Oracle, every: BitMap, member: int, failing: list[BitMap]) -> BitMap:
    """What of some sets that fail with the only member of a repair is nothing without it."""
    alone = [each - BitMap([member]) for each in failing]
    nothing, *without = oracle.strictly([BitMap(), *alone])
    found = BitMap().union(*(each for each, answer in zip(alone, without) if answer.gone or (math.isfinite(answer.value) and _is_same(answer, nothing))))
    if not found:
        return found
    rest = every - found - BitMap([member])
    left, *added = oracle.strictly([rest, *(rest | BitMap([each]) for each in found)])
    return BitMap([each for each, answer in zip(found, added) if _is_same(answer, left)])


def _failing(oracle: Oracle, suspicion: Suspicion, member: int, others: BitMap, alone: BitMap | None, at_once: int) -> Iterator[BitMap]:
    """Sets that fail with a member and without the others, and nothing less of which does with it."""
    least = alone if alone is not None and member in alone and not alone & others else _least(oracle, suspicion, member, others, at_once)
    if least is None:
        return
    yield least
    if len(least) == 2:
        sets = [BitMap([member, each]) for each in _without(suspicion, member, others)[:LIKELY].tolist() if each not in least]
        yield from (each for each, answer in zip(sets, oracle.answers(sets)) if answer.fails)


def _least(oracle: Oracle, suspicion: Suspicion, member: int, others: BitMap, at_once: int) -> BitMap | None:
    """The fewest that fail with a member."""
    order = _without(suspicion, member, others)

    def fail(sets: Sequence[BitMap]) -> list[bool]:
        return [answer.fails for answer in oracle.answers([each | BitMap([member]) for each in sets])]

    if not fail([BitMap(order)])[0]:
        return None  # it is needed only because of the others
    found = Fewest(fail, order, at_once).search(FEW)
    return None if found is None else found | BitMap([member])


def _without(suspicion: Suspicion, member: int, others: BitMap) -> npt.NDArray[np.uint32]:
    """The candidates but for all members of a repair, in order."""
    return suspicion.order[~np.isin(suspicion.order, [member, *others])]


def _is_same(answer: Answer, other: Answer) -> bool:
    same = answer.value == other.value or (math.isnan(answer.value) and math.isnan(other.value)) or (answer.gone and other.gone)
    return same and (answer.outcome, answer.gone) == (other.outcome, other.gone)
