"""Glance: a single row of the partition that failed first comes before all others, so that a first culprit is known soon."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Row

from bigdebug.spark.jobs import at_most
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.crashes.waves import Asking, Wanted
from bigdebug.spark.sql.plans.expressions import Node
from bigdebug.trace.culprit import CrashCulprit


class Glance:
    """Waves of one row, or none, of the first plan whose rows are asked for. What is found of the steps from ``begin`` on is found of that row alone.

    It costs a job that stops at the row, which for Python functions is that of a worker's start, and is given up after some seconds.
    """

    whole = False

    def __init__(self, asking: Asking, wanted: Wanted, begin: int, said: int) -> None:
        self.catalyst = asking.catalyst
        self._asking = asking
        self._wanted = wanted
        self.begin = self.end = begin
        """The steps that are looked at: this one, and those behind it up to ``end``."""
        self.said = said
        """How much was not known before."""
        self.asked = False
        """Whether rows were asked for."""
        self.told: list[CrashCulprit] = []

    @property
    def everywhere(self) -> Glance:
        """Itself, which has no more rows."""
        return self

    def confirms(self, crashes: int) -> bool:
        """True: who looks at all rows will know."""
        return True

    def rows(self, plan: Node, different: bool = False) -> Iterator[list[Row]]:
        """The row of a plan."""
        return self._found(plan, lambda row: unheard(row, "collect"))

    def held(self, plan: Node) -> Iterator[Any]:
        """The same as the JVM has it."""
        return self._found(plan, self.catalyst.held)

    def _found(self, plan: Node, ask: Callable[[Any], Any]) -> Iterator[Any]:
        if self.asked:
            return
        self.asked = True
        planned = self._asking.planned(plan)
        wanted = self._wanted(plan, planned.partitions)
        if wanted.soon is None or not wanted.numbers:
            return
        row = self._asking.frame(planned, wanted.numbers[:1], most=1)
        with at_most(self.catalyst.spark.sparkContext, wanted.soon) as over:
            self._asking.begin()
            try:
                found = ask(row)
            except (PySparkException, Py4JError):
                if not over.is_set():
                    raise
                return
        yield found
