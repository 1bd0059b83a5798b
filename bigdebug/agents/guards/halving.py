"""Halving: which of many records in a row a function crashes on, where it is given them together."""

from __future__ import annotations

from collections.abc import Callable, Iterator

Crashing = Callable[[int, int], BaseException | None]
"""What a function raises on the records from one place to before another, if that is what it raised on all of them."""


def alone(crash: Crashing, count: int) -> Iterator[tuple[int, BaseException]]:
    """The places of the records that a function crashes on by themselves, of the first ``count``."""
    todo = [(0, count)] if count else []
    while todo:
        start, stop = todo.pop()
        own = crash(start, stop)
        if own is not None and stop - start == 1:
            yield start, own
        elif own is not None:
            middle = (start + stop) // 2
            todo += [(middle, stop), (start, middle)]


def fewest(crash: Crashing, count: int) -> int | None:
    """How many of the first ``count`` records, the last ones, are the fewest that a function crashes on; None if it does not crash on all."""
    if crash(0, count) is None:
        return None
    too_few, enough = 1, count
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if crash(count - middle, count) is not None else (middle, enough)
    return enough
