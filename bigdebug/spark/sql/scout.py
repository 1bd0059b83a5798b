"""Scout: where several operators behind one another may throw, one pass finds the rows of what is below them on which any of them does.

Each of the operators is looked at on these few rows then, so that those of one stage do not take a pass each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Row

from bigdebug.spark.crashes import ended
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.catalyst import Catalyst
from bigdebug.spark.sql.chains import blameable, chain
from bigdebug.spark.sql.expressions import Node
from bigdebug.spark.sql.failures import is_cancelled
from bigdebug.spark.sql.finished import Finished
from bigdebug.spark.sql.rewriting import with_inputs
from bigdebug.spark.sql.sizes import Sizes
from bigdebug.spark.sql.walk import Step
from bigdebug.spark.sql.waves import MOST, Waves


class AloneError(Exception):
    """The operators are to be looked at each by itself."""


class Scout:
    """The rows of ``below`` on which some of ``nodes`` throw, the first of them over ``below``, each other one over the one before it.

    Over these rows alone, the nodes throw what they do over all, but for functions that do not crash each time: of these tells ``confirms``.
    """

    def __init__(self, waves: Waves, below: Node, nodes: Sequence[Node], sizes: Sizes) -> None:
        self.catalyst = waves.catalyst
        self.left = len(nodes)
        """How many of the nodes are still to be looked at."""
        self.complete = False
        """Whether all of the rows were found."""
        self._waves = waves
        self._below = below
        self._found_by = blameable(waves.catalyst, below, nodes, sizes)
        self._coming = waves.held(self._found_by)
        self._found: Any = None

    @property
    def whole(self) -> bool:
        """Whether all partitions were asked for so far."""
        return self._waves.whole

    def over(self, plan: Node) -> Iterator[Node | None]:
        """A plan over what is found of the rows, in the place of all, and then over others as they are found; None where there are none.

        Whoever has enough of one plan may go on with another.
        """
        if self._found is not None:
            yield self._over(plan, self._found)
        while (held := self._next()) is not None:
            self._found = held if self._found is None else self._found.concat(held)
            if self._found.length() > MOST:
                raise AloneError
            yield self._over(plan, held)
        self.complete = True

    def _next(self) -> Any:
        try:
            return next(self._coming, None)
        except (PySparkException, Py4JError) as trouble:
            if is_cancelled(self.catalyst, trouble) or ended(trouble):
                raise
            raise AloneError from trouble

    def _over(self, plan: Node, held: Any) -> Node | None:
        c, places = self.catalyst, 0
        if not held.length():
            return None
        few = c.project(c.items(self._below.output()), c.local(self._found_by, held))

        def changed(node: Node) -> Node:
            nonlocal places
            if node.fastEquals(self._below):
                places += 1
                return few
            return with_inputs(c, node, changed)

        plan = changed(plan)
        if places != 1:  # Spark wrote what is below in another way
            raise AloneError
        return plan

    def confirms(self, crashes: int) -> bool:
        """Whether functions crashed on so many rows when these were found, of those on which nothing else throws."""
        c = self.catalyst
        if self._found is None:
            return not crashes
        local = c.local(self._found_by, self._found)
        return int(unheard(c.frame(c.filter(c.items(local.output())[-1], local)), "count")) == crashes


class ScoutedWaves:
    """Waves of what plans of one node give of the rows that a scout finds; ``everywhere`` asks for what they give of all."""

    def __init__(self, scout: Scout, everywhere: Waves) -> None:
        self.catalyst = scout.catalyst
        self.everywhere = everywhere
        self._scout = scout

    @property
    def whole(self) -> bool:
        """Whether all partitions were asked for so far."""
        return self._scout.whole and self.everywhere.whole

    def confirms(self, crashes: int) -> bool:
        """Whether as many rows crash now as when they were found."""
        return self._scout.confirms(crashes)

    def rows(self, plan: Node, different: bool = False) -> Iterator[list[Row]]:
        """The rows of a plan."""
        return ([] if some is None else unheard(self._frame(some, different), "collect") for some in self._scout.over(plan))

    def held(self, plan: Node) -> Iterator[Any]:
        """The same as the JVM has them."""
        return (self.catalyst.seq([]) if some is None else self.catalyst.held(self._frame(some)) for some in self._scout.over(plan))

    def _frame(self, plan: Node, different: bool = False) -> Any:
        frame = self.catalyst.frame(plan)
        return frame.distinct() if different else frame


class Scouting:
    """Which nodes of a plan are looked at on what a scout finds: those of chains, but for what had finished."""

    def __init__(self, catalyst: Catalyst, steps: Sequence[Step], finished: Finished, sizes: Sizes) -> None:
        self._catalyst = catalyst
        self._steps = steps
        self._finished = finished
        self._sizes = sizes
        self._scout: Scout | None = None
        self._alone = 0
        """The number of the first node that is not to be looked at by itself."""

    def waves(self, number: int, below: Node, asking: Callable[[Sequence[Node]], Waves]) -> Waves:
        """What asks for the rows of plans of a node over ``below``; ``asking`` gives what asks for all rows of plans of some nodes."""
        if self._scout is None and number >= self._alone:
            self._scout = self._sent(number, below, asking)
        everywhere = asking([self._steps[number].node])
        return everywhere if self._scout is None else ScoutedWaves(self._scout, everywhere)

    def _sent(self, number: int, below: Node, asking: Callable[[Sequence[Node]], Waves]) -> Scout | None:
        left = takewhile(lambda each: each not in self._finished, range(number, len(self._steps)))
        nodes = chain(self._catalyst, (self._steps[each] for each in left))
        try:
            return Scout(asking(nodes), below, nodes, self._sizes) if nodes else None
        except (PySparkException, Py4JError) as trouble:
            if is_cancelled(self._catalyst, trouble):
                raise
            self._alone = number + len(nodes)
            return None

    def passed(self) -> None:
        """A node was looked at."""
        if self._scout is not None:
            self._scout.left -= 1
            self._scout = self._scout if self._scout.left else None

    def interrupted(self) -> None:
        """The looking at a node was: that begins anew, and so does a scout that had not found all."""
        if self._scout is not None and not self._scout.complete:
            self._scout = None

    def leave(self, number: int) -> None:
        """Of a scout's nodes, this one and those behind it are to be looked at by themselves."""
        if self._scout is not None:
            self._alone, self._scout = number + self._scout.left, None
