"""Waves: the rows of a plan as they come, some of its partitions after the others, so that the first do not wait for the last."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pyspark.sql import Row
from pyspark.sql.classic.dataframe import DataFrame

from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.catalyst import Catalyst
from bigdebug.spark.sql.expressions import Node

MOST = 10_000
"""Culprits of one operator that are kept in full."""

AT_ONCE = "spark.sql.limit.initialNumPartitions"
"""Spark's setting for how many partitions a limit looks at first: here all of a wave."""

_FASTER = 4
"""By how much a wave that found little is followed by a larger one, as Spark's take() does it."""


Wanted = Callable[[Node, int], Sequence[int]]
"""Which of the partitions of a plan, of this number, are asked for, the first ones first."""


def every(plan: Node, partitions: int) -> Sequence[int]:
    """All partitions."""
    return range(partitions)


class Waves:
    """Asks for the rows of plans, in the partitions that are ``wanted``.

    A wave costs a job, and the partitions of a plan are those of its last stage: the stages before run once.
    """

    def __init__(self, catalyst: Catalyst, wanted: Wanted = every) -> None:
        self.catalyst = catalyst
        self._wanted = wanted

    def rows(self, plan: Node) -> Iterator[list[Row]]:
        """The rows of a plan, until there are more than ``MOST``."""
        most = _Most(self._first)
        for some in self._frames(plan, most):
            found: list[Row] = unheard(some, "collect")
            most.saw(len(found))
            yield found

    def held(self, plan: Node) -> Iterator[Any]:
        """The same as the JVM has them, in Scala Seqs."""
        most = _Most(self._first)
        for some in self._frames(plan, most):
            found = self.catalyst.held(some)
            most.saw(int(found.length()))
            yield found

    @property
    def _first(self) -> int:
        return max(1, int(self.catalyst.spark.sparkContext.defaultParallelism))

    def _frames(self, plan: Node, most: _Most) -> Iterator[Any]:
        """A DataFrame for each wave."""
        made = self.catalyst.frame(plan)._jdf
        rdd, schema = made.queryExecution().toRdd(), made.schema()
        count = int(rdd.getNumPartitions())
        left = self._wanted(plan, count)
        while left and most.left:
            now, left = left[: most.partitions], left[most.partitions :]
            yield self._some(rdd if len(now) == count else self._pruned(rdd, now), schema)

    def _some(self, rdd: Any, schema: Any) -> Any:
        """As many rows as are told; a limit within the plan would be looked at for each row that it reads."""
        return DataFrame(self.catalyst.jsession.internalCreateDataFrame(rdd, schema, False), self.catalyst.spark).limit(MOST + 1)

    def _pruned(self, rdd: Any, partitions: Sequence[int]) -> Any:
        jvm = self.catalyst.jvm
        wanted = jvm.scala.jdk.javaapi.CollectionConverters.asScala(jvm.java.util.HashSet(list(partitions)))
        return getattr(getattr(jvm.org.apache.spark.rdd, "PartitionPruningRDD$"), "MODULE$").create(rdd, wanted)


class _Most:
    """How many rows are still wanted, and in how many partitions they may be."""

    def __init__(self, first: int) -> None:
        self.left = MOST + 1
        self.partitions = self._least = first
        self._asked = 0

    def saw(self, rows: int) -> None:
        """What a wave found."""
        self._asked += self.partitions
        self.left = max(0, self.left - rows)
        found = MOST + 1 - self.left
        likely = self._asked * self.left * 3 // (found * 2) if found else self.partitions * _FASTER
        self.partitions = max(self._least, min(likely, self.partitions * _FASTER))
