"""Halving: which of many records a function crashes on, where it is given them together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

Crashing = Callable[[Sequence[int]], BaseException | None]
"""What a function raises on the records at some places, in their order; None if nothing."""


class Found(NamedTuple):
    """A record that a function crashed on: ``together`` with so many in a row of which it is the last, 1 if it does alone.

    0 says that the function does not crash on them all again.
    """

    place: int
    problem: BaseException
    together: int


def culprits(crash: Crashing, places: Sequence[int], problem: BaseException) -> Iterator[Found]:
    """The records at ``places`` that a function crashed on with ``problem``, and then those that it crashes on without these.

    A record is looked for alone, with the exception that all of them raise: on few records a function may raise another one.
    """
    left, raised = places, problem
    while left:
        alone = dict(_alone(crash, left, type(raised)))
        if not alone:
            first = _first(crash, left, type(raised))
            yield Found(first[-1], raised, _fewest(crash, first, type(raised)))
            return
        for place, own in alone.items():
            yield Found(place, own, 1)
        left = [place for place in left if place not in alone]
        others = crash(left) if left else None
        if others is None:
            return
        raised = others


def _alone(crash: Crashing, places: Sequence[int], kind: type[BaseException]) -> Iterator[tuple[int, BaseException]]:
    todo = [places]
    while todo:
        some = todo.pop()
        own = crash(some)
        if type(own) is not kind or own is None:
            continue
        if len(some) == 1:
            yield some[0], own
        else:
            middle = len(some) // 2
            todo += [some[middle:], some[:middle]]


def _first(crash: Crashing, places: Sequence[int], kind: type[BaseException]) -> Sequence[int]:
    """The fewest of the places, the first ones, that a function crashes on; all, if it does not again."""
    too_few, enough = 0, len(places)
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if type(crash(places[:middle])) is kind else (middle, enough)
    return places[:enough]


def _fewest(crash: Crashing, places: Sequence[int], kind: type[BaseException]) -> int:
    """How many of the places, the last ones, are the fewest that a function crashes on; 0 if it does not crash on all."""
    if type(crash(places)) is not kind:
        return 0
    too_few, enough = 1, len(places)
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if type(crash(places[-middle:])) is kind else (middle, enough)
    return enough
