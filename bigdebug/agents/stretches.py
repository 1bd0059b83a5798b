"""Stretches: values of which each stretch is combined once, and pairs of stretches once more, so that any run of them is a few combiners."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

Stretch = tuple[int, int]
"""Numbers of values, from the first on to the one before the second."""

WIDTH = 256
"""Values that are combined once and for all."""

_GROWS, _WEIGHTY = 1.5, 1_024
"""A pair that has so many bytes, and so many times those of its first half, holds what it was made of: larger ones would hold all of it again and again."""


class Stretches:
    """Combiners of ``size`` values: of each WIDTH of them, of two such, of four ... as long as that condenses them.

    Takes size calls of ``combined``'s functions and size / WIDTH merges to make; ``pieces`` of a run 2 log(size / WIDTH) of them. What is ``held`` is
    ``given`` anew each time, for merging may change it.
    """

    def __init__(
        self, size: int, combined: Callable[[Stretch], Any], merge: Callable[[Any, Any], Any],
        held: Callable[[Any], Any], given: Callable[[Any], Any],
    ) -> None:
        self._given = given
        self._levels = [[held(combined((at, at + WIDTH))) for at in range(0, size - WIDTH + 1, WIDTH)]]
        while len(self._levels[-1]) > 1:
            below = self._levels[-1]
            pairs = [held(merge(given(first), given(second))) for first, second in zip(below[::2], below[1::2])]
            if _accumulates(below[0], pairs[0]):
                break
            self._levels.append(pairs)

    def pieces(self, chosen: Iterable[Stretch], combined: Callable[[Sequence[Stretch]], Any]) -> Iterator[Any]:
        """The combiners of some runs of values, in their order; what lies between stretches that are known is ``combined``."""
        rest: list[Stretch] = []
        for start, end in chosen:
            first, last = -(-start // WIDTH), end // WIDTH
            if first >= last:
                rest.append((start, end))
                continue
            if start < first * WIDTH:
                rest.append((start, first * WIDTH))
            if rest:
                yield combined(rest)
            yield from map(self._given, self._known(first, last))
            rest = [(last * WIDTH, end)] if last * WIDTH < end else []
        if rest:
            yield combined(rest)

    def _known(self, first: int, last: int) -> Iterator[Any]:
        """The fewest that are known of the stretches from ``first`` to the one before ``last``."""
        while first < last:
            level = min((last - first).bit_length() - 1, len(self._levels) - 1)
            if first:
                level = min(level, (first & -first).bit_length() - 1)
            yield self._levels[level][first >> level]
            first += 1 << level


def _accumulates(half: Any, pair: Any) -> bool:
    size = len(pickle.dumps(pair))
    return size > _WEIGHTY and size > _GROWS * len(pickle.dumps(half))
