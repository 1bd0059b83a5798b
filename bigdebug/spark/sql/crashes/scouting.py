"""Scouting: which nodes of a plan are looked at over what a scout finds: those of chains, but for what had finished."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from bigdebug.spark.cancelled import is_cancelled
from bigdebug.spark.sql.crashes.chains import chain
from bigdebug.spark.sql.crashes.finished import Finished
from bigdebug.spark.sql.crashes.scout import Scout, ScoutedWaves
from bigdebug.spark.sql.crashes.sizes import Sizes
from bigdebug.spark.sql.crashes.walk import Step
from bigdebug.spark.sql.crashes.waves import Waves
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Node


class Scouting:
    """Sends scouts ahead of the looking at the steps of a plan, which goes from the first step to the last."""

    def __init__(self, catalyst: Catalyst, steps: Sequence[Step], finished: Finished, sizes: Sizes) -> None:
        self._catalyst = catalyst
        self._steps = steps
        self._finished = finished
        self._sizes = sizes
        self._scout: Scout | None = None
        self._end = 0
        """The first step that is not, or is not to be, scouted."""

    @property
    def end(self) -> int:
        """The first step that is not looked at together with those before it."""
        return self._end

    def waves(self, number: int, below: Node, asking: Callable[[Sequence[Node]], Waves]) -> Waves:
        """What asks for the rows of plans of a step over ``below``; ``asking`` gives what asks for all rows of plans of some nodes."""
        if number >= self._end:
            self._scout = self._sent(number, below, asking)
        everywhere = asking([self._steps[number].node])
        return everywhere if self._scout is None else ScoutedWaves(self._scout, everywhere)

    def _sent(self, number: int, below: Node, asking: Callable[[Sequence[Node]], Waves]) -> Scout | None:
        left = takewhile(lambda each: each not in self._finished and self._follows(each, number), range(number, len(self._steps)))
        nodes = chain(self._catalyst, (self._steps[each] for each in left))
        if not nodes:
            return None
        self._end = number + len(nodes)
        try:
            return Scout(asking(nodes), below, [(node, self._sizes.asked(number + place)) for place, node in enumerate(nodes)])
        except (PySparkException, Py4JError) as trouble:
            if is_cancelled(trouble):
                raise
            return None

    def _follows(self, step: int, first: int) -> bool:
        """Whether a step is the first one, or goes on with the one before it: what several read is followed by steps that read it, and not one another."""
        return step == first or self._steps[step].inputs == (step - 1,)

    def again(self) -> None:
        """All steps are looked at once more."""
        self._scout, self._end = None, 0

    def interrupted(self, number: int) -> None:
        """The looking at a step was: that begins anew, and so does a scout that had not found all."""
        if self._scout is not None and not self._scout.complete:
            self._scout, self._end = None, number

    def leave(self, number: int) -> None:
        """What is scouted, this step and those behind it, is to be looked at by itself; or scouted anew, and not asked for numbers of which too many are large."""
        if self._scout is not None and self._scout.flooded and self._sizes.asks:
            self._sizes.give_up()
            self._end = number
        self._scout = None
