"""Fewness: what a function raises because it is given few records, which is no crash of theirs though it may be of the same class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bigdebug.agents.guards.crash import same_class, trail_of

Crashing = Callable[[Sequence[int]], BaseException | None]
"""What a function raises on the records at some places, in their order; None if nothing."""

Same = Callable[[BaseException | None], bool]
"""Whether what a function raises on some records is the crash that is looked for."""


class Fewness:
    """What is known of that, of a function that crashed on many records.

    By the name of its class a crash is known again (a call may make the class anew), as long as nobody knows better: one line may raise on this record, and another on that. A function that also raises such
    an exception because it is given few (``raise ValueError("a group needs three rows")`` beside ``float("x")``) does so elsewhere; from then on, a crash is known by where it was raised.
    """

    def __init__(self) -> None:
        self._minds: bool | None = None
        """Whether the function does; None if that is not known."""

    def same(self, problem: BaseException) -> Same:
        """What knows a crash again."""
        trail = trail_of(problem)
        return lambda own: own is not None and same_class(own, problem) and (not self._minds or trail_of(own) == trail)

    def shows(self, crash: Crashing, alone: Mapping[int, BaseException], places: Sequence[int], problem: BaseException) -> bool:
        """Whether what the function raises on some of the records, on each alone, shows that it minds how few they are, which was not known before.

        That is asked where one of them raises elsewhere than all did: then others are called alone, on which it did not crash. One that is fine alone settles it.
        """
        trail, trails = trail_of(problem), {trail_of(own) for own in alone.values()}
        if self._minds is not None or trails <= {trail}:
            return False
        others = [int(place) for place in places if place not in alone]
        for place in {others[0], others[len(others) // 2], others[-1]} if others else ():
            own = crash([place])
            if own is None:
                self._minds = False
                return False
            self._minds = self._minds or (same_class(own, problem) and trail_of(own) in trails - {trail})
        self._minds = bool(self._minds) or not (others or trail in trails)
        return self._minds
