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
from bigdebug.spark.sql.chains import chain, throwing
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

    Computed on these rows alone, the nodes throw what they do on all: of what hangs on other rows, too, ``has_called`` tells.
    """

    def __init__(self, waves: Waves, below: Node, nodes: Sequence[Node], sizes: Sizes) -> None:
        self.catalyst = waves.catalyst
        self.left = len(nodes)
        """How many of the nodes are still to be looked at."""
        self.complete = False
        """Whether all of the rows were found."""
        self._waves = waves
        self._below = below
        self._thrown = throwing(waves.catalyst, below, nodes, sizes)
        self._coming = waves.held(self._thrown)
        self._found: Any = None

    @property
    def whole(self) -> bool:
        """Whether all partitions were asked for so far."""
        return self._waves.whole

    def over(self, plan: Node) -> Iterator[Node | None]:
        """A plan over what is found of the rows, in the place of all, and then over others as they are found; None where there are none."""
        if self._found is not None:
            yield self._over(plan, self._found)
        for held in self._next():
            self._found = held if self._found is None else self._found.concat(held)
            if self._found.length() > MOST:
                raise AloneError
            yield self._over(plan, held)
        self.complete = True

    def _next(self) -> Iterator[Any]:
        try:
            yield from self._coming
        except (PySparkException, Py4JError) as trouble:
            if is_cancelled(self.catalyst, trouble) or ended(trouble):
                raise
            raise AloneError from trouble

    def _over(self, plan: Node, held: Any) -> Node | None:
        c = self.catalyst
        if not held.length():
            return None
        few = c.project(c.items(self._below.output()), c.local(self._thrown, held))

        def changed(node: Node) -> Node:
            return few if node.fastEquals(self._below) else with_inputs(c, node, changed)

        return changed(plan)

    def has_called(self, crashes: int) -> bool:
        """Whether functions crashed on so many of the rows, of those on which nothing had thrown before."""
        c = self.catalyst
        if self._found is None:
            return not crashes
        local = c.local(self._thrown, self._found)
        return int(unheard(c.frame(c.filter(c.items(local.output())[-1], local)), "count")) == crashes


class Scouted(Waves):
    """Asks for what plans of one node give of the rows that a scout finds; ``everywhere`` asks for what they give of all."""

    def __init__(self, scout: Scout, everywhere: Waves) -> None:
        self.catalyst = scout.catalyst
        self._scout = scout
        self._everywhere = everywhere

    @property
    def whole(self) -> bool:  # type: ignore[override]
        return self._scout.whole and self._everywhere.whole

    @property
    def everywhere(self) -> Waves:
        return self._everywhere

    def has_called(self, crashes: int) -> bool:
        return self._scout.has_called(crashes)

    def rows(self, plan: Node, different: bool = False) -> Iterator[list[Row]]:
        return ([] if some is None else unheard(self.catalyst.frame(some), "collect") for some in self._scout.over(plan))

    def held(self, plan: Node) -> Iterator[Any]:
        return (self.catalyst.seq([]) if some is None else self.catalyst.held(self.catalyst.frame(some)) for some in self._scout.over(plan))


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
        return everywhere if self._scout is None else Scouted(self._scout, everywhere)

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

    def broke_off(self) -> None:
        """The looking was, and the node will be looked at anew."""
        if self._scout is not None and not self._scout.complete:
            self._scout = None

    def leave(self, number: int) -> None:
        """Of a scout's nodes, this one and those behind it are to be looked at by themselves."""
        if self._scout is not None:
            self._alone, self._scout = number + self._scout.left, None
