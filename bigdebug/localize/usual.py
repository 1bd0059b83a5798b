"""What is usual: what outputs hold that are right, by which it is known whether one that is not wrong on fewer records has lost a value there."""

from __future__ import annotations

from collections.abc import Sequence

from bigdebug.agents.outlines import Outline, Right, loses

MOST = 64
"""Outlines of outputs that were found right by a search, which are kept."""


class Unusual(Exception):  # it passes through a search, which goes on when that is known
    """It has to be known what right outputs of the run hold, and nobody has looked at any."""


class Overruled(Exception):  # the same
    """A value was taken for one that right outputs need not hold, and now one was seen that holds it."""


class Usual:
    """What is known of right outputs, for one that is wrong: outlines of some of the run (``right``; None if nobody has looked at them), and of itself where a search found it right.

    Where the others hold null there is nothing to lose, but itself may be the only one that was ever joined with something.
    """

    def __init__(self, right: Sequence[Outline] | None = ()) -> None:
        self.right = right
        self._held: set[Outline] = set()
        self._excused: set[Outline] = set()

    def loses(self, whole: Outline, now: Outline) -> bool:
        """Whether an output that is not wrong has lost a value of the ``whole``. Raises Unusual and Overruled."""
        if loses(whole, now, Right(None)):
            if self.right is None:
                raise Unusual
            if loses(whole, now, self._known):
                return True
            self._excused.add(now)
        if now not in self._held and len(self._held) < MOST:
            self._held.add(now)
            overruled = {each for each in self._excused if loses(whole, each, self._known)}
            if overruled:
                self._excused -= overruled
                raise Overruled
        return False

    @property
    def _known(self) -> Right:
        return Right(tuple(self.right or ()), tuple(self._held))
