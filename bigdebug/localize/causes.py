"""The cause of one wrong output: the fewest candidates whose removal repairs it, the fewest that are wrong alone, and what might as well be the cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import combinations
from math import comb

import numpy as np
from pyroaring import BitMap

from bigdebug.localize.fewest import Fewest, Wanted
from bigdebug.localize.oracle import ENDS, Oracle, why
from bigdebug.localize.progress import Step
from bigdebug.localize.rivals import DOZENS, RIVALS, alike, fewer, having, instead, left_out, rivals, sparing, swapped
from bigdebug.localize.suspicion import Suspicion
from bigdebug.localize.ties import tied

CONFIRMED = 200_000
"""Where tests are pushed down, others that might be the cause are tried by the program itself as well, with so many candidates in all at most."""

NEEDED = 4_000_000
"""And that each member of a repair is needed, with so many: else nobody is named for certain."""

EVERY_SIZE = 64
"""Of up to so many candidates, the likeliest are left out in every number."""

AGAIN = 6
"""So often the least that is wrong alone is tried once more: of tests that toss a coin, one in some hundreds is taken for one that repeats itself."""

RIGHT = 3
"""So often it is tried once more that the output is right without the repair, for a coin rarely shows its other side again; and that it is wrong with all, where nothing is known that is wrong alone."""

ALONE = 64
"""Members of what is wrong alone, at most: to look for more takes a test or two for each, and tells nobody anything."""

TOGETHER = 1_000
"""Members of a repair, at most."""

PARTS = 6
"""Of a repair of so many members, each part is left out, to see whether the output goes with it."""


class State(Enum):
    """How a search ended: with a cause; or it is not wrong; or on nothing at all, too; or whatever is left out; or unless too many are; or it does not repeat itself;
    or it was ended before.
    """

    FOUND = "found"
    NOT_WRONG = "not wrong"
    ALWAYS_WRONG = "always wrong"
    UNREPAIRED = "unrepaired"
    TOO_MANY = "too many"
    NOT_REPRODUCIBLE = "not reproducible"
    ENDED = "ended"


@dataclass
class Cause:
    """What is known of the cause of one output.

    Without ``repair`` the output is right, and without any fewer of it it is wrong. ``alone`` fails by itself, and nothing less of it does.
    ``instead`` are sets no larger that repair it as well, the likeliest first, some of them if ``more`` were not tried, as where only ``left_out`` others were left out one by one; ``alike`` others that fail alone, with another one
    beside what is of the repair.
    ``why`` says why a search ended. ``gone`` says that the output is not there without the repair; without any one of ``vital`` alone it is not
    there either, so it may be their values that are wrong; ``tied`` fail with a member of the repair, and give no output without it: it may be these that are wrong, and that one what they
    are joined with. ``sure`` says that each of its members was seen to be needed
    by the program itself, and that the output is there without any part of it; for ``untried`` of them, others in their place were not looked for. There are ``size`` candidates.
    A repair is a cause, and a set that fails alone is evidence: of an average, innocent records fail alone (the drift of what is averaged).
    """

    state: State = State.ENDED
    repair: BitMap | None = None
    alone: BitMap | None = None
    instead: list[BitMap] = field(default_factory=list)
    more: bool = False
    alike: list[BitMap] = field(default_factory=list)
    why: str = ""
    gone: bool = False
    vital: BitMap = field(default_factory=BitMap)
    tied: BitMap = field(default_factory=BitMap)
    sure: bool = True
    untried: int = 0
    left_out: int = 0
    size: int = 0


def cause(oracle: Oracle, suspicion: Suspicion, at_once: int = 1) -> Cause:
    """The cause of an output, whose candidates are suspected as ``suspicion`` says.

    Raises nothing where a search is ended: what was known by then is given. What is named was seen to repair, or to fail; nothing is taken for granted of the test. That of tests
    that are pushed down is said to be not reproducible if the program itself does not confirm it.
    """
    searching = _Searching(oracle, suspicion, at_once)
    found = searching.found
    try:
        found.state = searching.state()
    except ENDS as end:
        found.why = why(end)
        found.repair = found.repair or searching.best
    return found


class _Searching:
    """The search for the cause of one output, in ``found`` as far as it is known."""

    def __init__(self, oracle: Oracle, suspicion: Suspicion, at_once: int) -> None:
        self._oracle, self._suspicion, self._at_once = oracle, suspicion, at_once
        self._every = BitMap(suspicion.order)
        self.found = Cause(size=len(self._every))
        self._repairing = Fewest(self._repair, suspicion.order, at_once)

    @property
    def best(self) -> BitMap | None:
        """The smallest set that is known to repair the output, if it leaves anything of it."""
        return self._repairing.best if len(self._repairing.best) < len(self._every) else None

    def state(self) -> State:
        """Search to the end, and say how that ended. Spent passes."""
        self._oracle.course.step = Step.REPAIRING
        whole, nothing = self._oracle.answers([self._every, BitMap()])
        if not whole.fails or nothing.fails:
            return State.ALWAYS_WRONG if whole.fails else State.NOT_WRONG
        if not nothing.passes and not self._suspicion.singles:
            enough = self._suspicion.order[: _enough(self._repair, self._suspicion)].tolist() or _pair(self._repair, self._suspicion)
            if not enough:
                return State.UNREPAIRED
            self._repairing = Fewest(self._repair, np.array(enough, dtype=np.uint32), self._at_once)
        repair = self.found.repair = BitMap(self._suspicion.singles[:1]) if self._suspicion.singles else self._repairing.search(TOGETHER)
        if repair is None:
            return State.TOO_MANY
        repair = self.found.repair = fewer(self._oracle, self._suspicion, self._every, repair) or repair
        self._oracle.narrow(len(repair))
        self._oracle.course.step = Step.COMPARING
        self._compare(repair)
        self._oracle.course.step = Step.CONFIRMING
        return State.FOUND if self._stands(repair) else State.NOT_REPRODUCIBLE

    def _repair(self, sets: Sequence[BitMap]) -> list[bool]:
        self._oracle.narrow(len(self._repairing.best))
        return [answer.passes for answer in self._oracle.answers([self._every - each for each in sets])]

    def _compare(self, repair: BitMap) -> None:
        """Find what else would do, and what fails alone."""
        oracle, suspicion, found = self._oracle, self._suspicion, self.found
        found.instead = instead(oracle, suspicion, self._every, repair)
        found.more = not (suspicion.each and len(repair) == 1)
        if not found.instead:
            found.instead = rivals(oracle, suspicion, self._every, repair)
        if not found.instead and len(repair) > 1:
            found.instead, found.untried = sparing(oracle, suspicion, repair, self._at_once)
        if len(found.instead) < DOZENS:
            found.alone = Fewest(lambda sets: [answer.fails for answer in oracle.answers(sets)], suspicion.order, self._at_once).search(ALONE)
        if found.alone is not None and found.more:
            found.instead += [each for each in swapped(oracle, self._every, suspicion, repair, found.alone - repair) if each not in found.instead]
        found.left_out = left_out(suspicion, repair, found.alone)
        found.alike = [] if found.alone is None else alike(oracle, suspicion, repair, found.alone)
        found.gone = oracle.answers([self._every - repair])[0].gone
        found.vital = BitMap(suspicion.vital) - BitMap(suspicion.singles) - (repair if len(repair) == 1 else BitMap())  # of several, all but the corrupt one may only let it be there
        if len(found.instead) < DOZENS:
            found.tied = tied(oracle, suspicion, repair, found.alone, self._at_once) - found.vital

    def _stands(self, repair: BitMap) -> bool:
        """Whether the test repeats itself, and, where tests are pushed down, the program itself says so of all that is named."""
        oracle, found, every = self._oracle, self.found, self._every
        seen = oracle.pushed and len(every) > CONFIRMED  # the program's own run has shown that it is wrong, and what each adds the same: one more on so many takes as long
        known = [every - repair] if seen else [every, *RIGHT * [every - repair]]
        if not _repeats(oracle, [*known, *(RIGHT * [every] if found.alone is None else AGAIN * [found.alone])]):
            return False
        fewer = [every - (repair - BitMap([member])) for member in repair] if len(repair) > 1 else []
        needed = all(answer.fails for answer in oracle.answers(fewer))  # without all but one it may be gone, and not wrong: that one only lets it be there
        fewer = fewer if oracle.pushed else []
        parts = [every - BitMap(part) for size in range(1, len(repair)) for part in combinations(repair, size)] if len(repair) <= PARTS else []
        found.sure = needed and not any(answer.gone for answer in oracle.answers(parts)) and len(fewer) * len(every) <= NEEDED
        others = [*(every - each for each in found.instead), *found.alike][: CONFIRMED // len(every)] if oracle.pushed else []
        return _repeats(oracle, [*(fewer if found.sure else []), *others])


def _enough(repair: Wanted, suspicion: Suspicion) -> int:
    """Without how many of the likeliest candidates it is right, where without all of them there is nothing to be right; 0 if no such number was met."""
    size = len(suspicion.order)
    powers = [1 << power for power in range((size - 1).bit_length())]
    sizes = list(range(1, size)) if size <= EVERY_SIZE else sorted({*powers, *(size - power for power in powers)})
    return next((size for size in sizes if repair([BitMap(suspicion.order[:size])])[0]), 0)


def _pair(repair: Wanted, suspicion: Suspicion) -> list[int]:
    """Two candidates without which it is right, wherever they stand, where there are so few that all pairs can be tried: neither may do anything alone."""
    pairs = list(map(BitMap, combinations(suspicion.order.tolist(), 2))) if comb(len(suspicion.order), 2) <= RIVALS else []
    return next((list(found[0]) for found in having(repair, pairs) if found), [])


def _repeats(oracle: Oracle, sets: Sequence[BitMap]) -> bool:
    before = [answer.outcome for answer in oracle.answers(sets)]
    return not sets or [answer.outcome for answer in oracle.anew(sets)] == before
