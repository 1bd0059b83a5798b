"""Rivals: what might as well be the cause of a wrong output as a repair that was found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from bigdebug.localize.fewest import Fewest, Wanted
from bigdebug.localize.oracle import Oracle
from bigdebug.localize.suspicion import AT_ONCE, Suspicion

LIKELY = 64
"""Of the most likely candidates, so many are tried in the place of members of a repair."""

MEMBERS = 4
"""Of a repair, so many members are replaced, the least likely ones: it is these that might be others."""

RIVALS = 2_016
"""Where so many sets at most are no larger than a repair of several members, all are tried in its place: all pairs of 64 candidates."""

SPARED = 32
"""Of a repair, so many members at most are spared in turn, those that are not wrong alone: a search for each."""

DOZENS = 24
"""Where so many others would do as well, as of a count of equal records, nobody can be named, and what is wrong alone is as good as all: it is not looked for."""


def instead(oracle: Oracle, suspicion: Suspicion, every: BitMap, repair: BitMap) -> list[BitMap]:
    """Repairs as small as one, or smaller, that are no part of it: single candidates, or likely ones in the place of one of its members. Spent passes."""
    singles = [BitMap([other]) for other in suspicion.singles if other not in repair]
    if len(repair) == 1 and (suspicion.each or len(singles) >= DOZENS):
        return singles
    likely = [other for other in _likely(suspicion, repair) if other not in suspicion.singles]
    return singles + swapped(oracle, every, suspicion, repair, likely)


def swapped(oracle: Oracle, every: BitMap, suspicion: Suspicion, repair: BitMap, others: Iterable[int]) -> list[BitMap]:
    """Repairs with one of the others in the place of a member that is needed."""
    members = [int(each) for each in suspicion.order if each in repair][-MEMBERS:]
    if len(repair) > 1:
        less = oracle.answers([every - (repair - BitMap([member])) for member in members])
        members = [member for member, answer in zip(members, less) if not answer.passes]
    sets = [(repair - BitMap([member])) | BitMap([other]) for other in others for member in reversed(members)]
    return [each for each, answer in zip(sets, oracle.answers([every - each for each in sets])) if answer.passes]


def rivals(oracle: Oracle, suspicion: Suspicion, every: BitMap, repair: BitMap) -> list[BitMap]:
    """Repairs of several members, no larger than one, where there are so few such sets that all can be tried; none that has another one in it.

    Two corrupt records and two innocent ones may be the farthest apart of their group: one of these in the place of one of those repairs nothing.
    """
    found = list[BitMap]()
    for sets in _small(suspicion, every, len(repair)):
        others = [each for each in sets if each != repair and not any(less <= each for less in found)]
        for repairs in having(_repairing(oracle, every), others):
            found += repairs
            if len(found) >= DOZENS:
                return found
    return found


def fewer(oracle: Oracle, suspicion: Suspicion, every: BitMap, repair: BitMap) -> BitMap | None:
    """A repair of fewer members than one of three or more, where there are so few such sets that all can be tried: prefixes meet no pair that stands far apart."""
    every_size = (repairs for sets in _small(suspicion, every, len(repair) - 1) for repairs in having(_repairing(oracle, every), sets))
    return next((repairs[0] for repairs in every_size if repairs), None)


def sparing(oracle: Oracle, suspicion: Suspicion, repair: BitMap, at_once: int) -> tuple[list[BitMap], int]:
    """Repairs no larger than one of several members that spare one of these, whatever else they are made of; and for how many members none was looked for. Spent passes.

    What is farthest apart may be two high ones or two low ones, however many stand between, and none of these in the place of one of those repairs anything.
    """
    order, wanted = suspicion.order, _repairing(oracle, BitMap(suspicion.order))
    members = order[np.isin(order, list(repair))].tolist()
    begun = [others for member in members if len(others := _enough_without(oracle, wanted, order, member))]
    found = [Fewest(wanted, others, at_once).search(len(repair)) for others in begun[:SPARED]]
    return list({frozenset(each): each for each in found if each is not None}.values()), max(0, len(begun) - SPARED)


def _enough_without(oracle: Oracle, wanted: Wanted, order: npt.NDArray[np.uint32], member: int) -> npt.NDArray[np.uint32]:
    """Candidates without which the output is right, but for a member; none if none were met."""
    others: npt.NDArray[np.uint32] = order[order != member]
    alone, other = oracle.answers([BitMap([member]), BitMap(order[-1:])])
    if alone.passes:
        return others
    if alone.fails and not other.fails:  # it is wrong by itself, so it is in all repairs
        return order[:0]
    # Few records are wrong, whichever they are, as where an output is to be just so large: then what is suspected least may be what another repair is made of.
    sizes = (1 << power for power in range(len(others).bit_length()))
    return next((others[-size:] for size in sizes if wanted([BitMap(others[-size:])])[0]), order[:0])


def _small(suspicion: Suspicion, every: BitMap, most: int) -> Iterator[list[BitMap]]:
    """The sets of two candidates, of three, of no more than ``most``, as long as there are so few of these and of all before that all can be tried."""
    tried = 0
    for size in range(2, most + 1):
        tried += comb(len(every), size)
        if tried > RIVALS:
            return
        yield list(map(BitMap, combinations(suspicion.order.tolist(), size)))


def _repairing(oracle: Oracle, every: BitMap) -> Wanted:
    """Asks without which of some sets the output is right."""
    return lambda sets: [answer.passes for answer in oracle.answers([every - each for each in sets])]


def having(wanted: Wanted, sets: Sequence[BitMap]) -> Iterator[list[BitMap]]:
    """Those of the sets that have a property, of as many at a time as are worth asking about together."""
    for at in range(0, len(sets), AT_ONCE):
        here = sets[at: at + AT_ONCE]
        yield [each for each, has in zip(here, wanted(here)) if has]


def alike(oracle: Oracle, suspicion: Suspicion, repair: BitMap, alone: BitMap) -> list[BitMap]:
    """Sets that fail alone as the one that was found does, with another candidate in the place of its only member that is innocent."""
    innocent = alone - repair
    if len(innocent) != 1 or not alone & repair:
        return []
    sets = [(alone & repair) | BitMap([other]) for other in _likely(suspicion, alone | repair)]
    return [each for each, answer in zip(sets, oracle.answers(sets)) if answer.fails]


def left_out(suspicion: Suspicion, repair: BitMap, alone: BitMap | None) -> int:
    """How many others than a repair of one were left out one by one."""
    return len((suspicion.met | BitMap(_likely(suspicion, repair)) | (alone or BitMap())) - repair)


def _likely(suspicion: Suspicion, but: BitMap) -> list[int]:
    """The most likely candidates, but for some."""
    return [int(each) for each in suspicion.order[: LIKELY + len(but)] if each not in but][:LIKELY]
