"""Halving: which of many records a function crashes on, where it is given them together."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple, Protocol

import numpy as np

from bigdebug.agents.guards.cell import as_elsewhere
from bigdebug.agents.guards.fewness import Crashing, Fewness, Same

_FEW = 16
"""Rows that a function may need before it does what it crashes in."""

_STARTS = 16
"""Where rows on which it does not crash are looked for."""


class Found(NamedTuple):
    """A record that a function crashed on: ``together`` with so many in a row of which it is the last, 1 if it does alone.

    0 says that the function does not crash on them all again.
    """

    place: int
    problem: BaseException
    together: int


class Alike(Protocol):
    """What is known of records without calling the function."""

    def __call__(self, alone: Mapping[int, BaseException]) -> Mapping[int, BaseException]:
        """Where else it raises the same on a record alone, for it is the same record as one of these, or as one before; each place once, and not all of them where a look takes more than it is likely to save."""

    def named(self, problem: BaseException, behind: int) -> Sequence[int]:
        """The first places from ``behind`` on of records that an exception seems to speak of."""

    def told(self, problem: BaseException) -> bytes:
        """What is told of an exception on a record alone."""


def culprits(crash: Crashing, places: Sequence[int], problem: BaseException, alike: Alike | None = None) -> Iterator[Found]:
    """The records at ``places``, in ascending order, that a function crashed on with ``problem``, and then those that it crashes on without these.

    A record is looked for alone, with the exception that all of them raise: on few records a function may raise another one. That takes as
    many calls as their number has digits in base 2, so the first is looked for by itself, where others may be ``alike``. Where the exception
    names it, one call shows that, and the next one goes on behind it. Where none is alone, for the function needs several, it is looked for in
    a company that is fine. The last call is on all that are fine.
    """
    left, within, raised, behind = places, places, problem, -1
    most, few = None if alike is None else 1, Fewness()
    alone: Mapping[int, BaseException] = {} if alike is None else alike({})
    while len(left):
        unknown, same = not alone, few.same(raised)
        if not alone and alike is not None:
            alone = _named(crash, alike.named(raised, within[0]), within, same)
            behind = max(alone, default=behind)
        if not alone:
            alone = dict(islice(_alone(crash, within, same), most))
            most = None
        if unknown and few.shows(crash, alone, within, raised):
            alone, behind = dict(_alone(crash, within, same)), -1
        if not alone and len(within) < len(left):
            # Only those behind one that was named crash together; what the others do that one had hidden.
            own = crash(left)
            within, behind, raised = left, -1, raised if own is None else own
            same = few.same(raised)
            alone = dict(_alone(crash, within, same))
        if not alone:
            first = _first(crash, within, same)
            together = _fewest(crash, first, same)
            alone = _in_company(crash, left, together, same) if 1 < together <= _FEW else {}
            behind = -1
            if not alone:
                yield Found(int(first[-1]), raised, together)
                return
        if unknown and alike is not None:
            alone = {**alone, **alike(alone)}
        for place, own in alone.items():
            yield Found(int(place), own if own is not raised else _told_now(crash, place, own), 1)
        left = _without(left, sorted(alone))
        within = left[int(np.searchsorted(left, behind, side="right")):]
        others = crash(within) if len(within) else None
        if others is None and len(within) < len(left):
            within, behind = left, -1
            others = crash(left)
        if others is None:
            return
        raised, alone = others, {}


def _told_now(crash: Crashing, place: int, problem: BaseException) -> BaseException:
    """What stands for a crash of a function that raises one and the same object: what that tells of one record is gone with the next one."""
    return as_elsewhere(crash([place]) or problem)


def _company(crash: Crashing, places: Sequence[int], most: int, same: Same) -> list[int]:
    """The fewest rows in a row on which a function does not raise, where it raises something else on one alone; none if it needs no others, or more than ``most``."""
    for start in sorted({len(places) * part // _STARTS for part in range(_STARTS)}):
        for size in range(1, min(most, len(places) - start) + 1):
            some = [int(place) for place in places[start:start + size]]
            own = crash(some)
            if own is None:
                return some if size > 1 else []
            if same(own):
                break
    return []


def _in_company(crash: Crashing, places: Sequence[int], most: int, same: Same) -> dict[int, BaseException]:
    """The records that a function crashes on where it is given some besides, on which it does not, and needs them.

    Among those around it that are fine, too, and not if they are fine with each other: a function that compares rows also crashes on a good one, in a
    company that it does not fit into. Then nobody is told.
    """
    company = _company(crash, places, most, same)
    others = [int(place) for place in places if place not in {*company}]
    if not company or not others:
        return {}

    def along(company: Sequence[int], some: Sequence[int]) -> BaseException | None:
        return crash(sorted({*map(int, some), *company}))

    together, size = partial(along, company), len(company)
    found = dict(_alone(together, others, same)) if same(together(others)) else {}
    bad, fine = sorted(found), [int(place) for place in places if place not in found]
    if any(not same(crash(bad[start:start + size])) for start in range(0, len(bad) - size + 1, size)):
        return {}
    for place in bad:
        at = bisect(fine, place)
        if not same(along(fine[max(0, at - size):max(size, at)], [place])):
            return {}
    return found


def _without(places: Sequence[int], gone: Iterable[int]) -> Sequence[int]:
    """An array: pandas makes one of a list in more time than it takes to leave something out of ten thousand."""
    known = np.arange(places.start, places.stop) if isinstance(places, range) else np.asarray(places)
    left: Sequence[int] = np.delete(known, np.searchsorted(known, list(gone)))  # type: ignore[assignment]
    return left


def _named(crash: Crashing, guesses: Sequence[int], places: Sequence[int], same: Same) -> dict[int, BaseException]:
    """The first of those guesses that are among the places and that a function crashes on alone, with what that raises."""
    for guess in guesses:
        at = bisect(places, guess) - 1
        own = crash([guess]) if at >= 0 and places[at] == guess else None
        if own is not None and same(own):
            return {guess: own}
    return {}


def _alone(crash: Crashing, places: Sequence[int], same: Same) -> Iterator[tuple[int, BaseException]]:
    """Those that the function crashes on alone, of places on all of which it does."""
    todo: list[tuple[Sequence[int], BaseException | None]] = [(places, None)]
    while todo:
        some, raised = todo.pop()
        if len(some) == 1:
            own = crash(some) if raised is None else raised
            if own is not None and same(own):
                yield some[0], own
            continue
        middle = len(some) // 2
        first, second = some[:middle], some[middle:]
        of_first = crash(first)
        of_second = None if of_first is None else crash(second)
        if of_first is None or same(of_second):  # where the first half is fine, it is the second
            todo.append((second, of_second))
        if same(of_first):
            todo.append((first, of_first))


def _first(crash: Crashing, places: Sequence[int], same: Same) -> Sequence[int]:
    """The fewest of the places, the first ones, that a function crashes on; all, if it does not again."""
    too_few, enough = 0, len(places)
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if same(crash(places[:middle])) else (middle, enough)
    return places[:enough]


def _fewest(crash: Crashing, places: Sequence[int], same: Same) -> int:
    """How many of the places, the last ones, are the fewest that a function crashes on; 0 if it does not crash on all."""
    if not same(crash(places)):
        return 0
    too_few, enough = 1, len(places)
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if same(crash(places[-middle:])) else (middle, enough)
    return enough
