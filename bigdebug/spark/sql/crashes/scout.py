"""Scout: where several operators behind one another may throw, one pass finds the rows of what is below them on which any of them does.

Each of the operators is looked at on these few rows then, so that those of one stage do not take a pass each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Row

from bigdebug.spark.cancelled import is_cancelled
from bigdebug.spark.crashes import ended
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.crashes.passing import blameable
from bigdebug.spark.sql.crashes.sizes import Asked
from bigdebug.spark.sql.crashes.waves import MOST, Waves
from bigdebug.spark.sql.plans.expressions import Node
from bigdebug.spark.sql.plans.rewriting import with_inputs


class AloneError(Exception):
    """The operators are to be looked at each by itself."""


class Scout:
    """The rows of ``below`` on which some of ``nodes`` throw, the first of them over ``below``, each other one over the one before it.

    Over these rows alone, the nodes throw what they do over all, but for functions that do not crash each time: of these tells ``confirms``.
    """

    def __init__(self, waves: Waves, below: Node, nodes: Sequence[tuple[Node, Asked]]) -> None:
        self.catalyst = waves.catalyst
        self.complete = self.flooded = False
        """Whether all of the rows were found, and whether they are too many."""
        self._waves = waves
        self._below = below
        self._found_by = blameable(waves.catalyst, below, nodes)
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
            self.flooded = self._found.length() > MOST
            if self.flooded:
                raise AloneError
            yield self._over(plan, held)
        self.complete = True

    def _next(self) -> Any:
        try:
            return next(self._coming, None)
        except (PySparkException, Py4JError) as trouble:
            if is_cancelled(trouble) or ended(trouble):
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
