"""Waves: the rows of a plan as they come, some of its partitions after the others, so that the first do not wait for the last."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

from pyspark.sql import Row

from bigdebug.spark.gateway import pruned
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Node

MOST = 10_000
"""Culprits of one operator that are kept in full."""

_AT_ONCE = "spark.sql.limit.initialNumPartitions"
"""Spark's setting for how many partitions a limit looks at first: here all of a wave."""

_FASTER = 4
"""By how much a wave that found little is followed by a larger one, as Spark's take() does it."""


class Partitions(NamedTuple):
    """Partitions of a plan, the first ones first; and the seconds in which a row of the first one may be looked for by itself, if it may."""

    numbers: Sequence[int]
    soon: float | None = None


Wanted = Callable[[Node, int], Partitions]
"""Which of the partitions of a plan, of this number, are asked for."""


def every(plan: Node, partitions: int) -> Partitions:
    """All partitions."""
    return Partitions(range(partitions))


class Planned(NamedTuple):
    """The rows of a plan as Spark comes to them."""

    rdd: Any
    schema: Any
    partitions: int


class Asking:
    """How the rows of plans are asked for: in a session in which a limit looks at all partitions of a wave at once.

    A task that reads a part of the partitions has another number than the partition that it reads; where ``numbered``, something in the
    plan looks at that, so all partitions are asked for in one wave. ``meanwhile`` runs in a thread of its own while the first wave is computed.
    """

    def __init__(self, catalyst: Catalyst, numbered: bool = False, meanwhile: Callable[[], object] | None = None) -> None:
        self.catalyst = catalyst
        self.numbered = numbered
        self._meanwhile = meanwhile
        self.first = max(1, int(catalyst.spark.sparkContext.defaultParallelism))
        session = catalyst.jsession.cloneSession()
        session.conf().set(_AT_ONCE, str(2**31 - 1))
        self._limiting = Catalyst(catalyst.spark, session)

    def planned(self, plan: Node) -> Planned:
        """A plan, as far as its last stage."""
        made = self.catalyst.frame(plan)._jdf
        rdd = made.queryExecution().toRdd()
        return Planned(rdd, made.schema(), int(rdd.getNumPartitions()))

    def frame(self, planned: Planned, partitions: Sequence[int], different: bool = False, most: int = MOST + 1) -> Any:
        """So many rows of some partitions, those that are ``different``; a limit within the plan would be looked at for each row that it reads."""
        rdd = planned.rdd if len(partitions) == planned.partitions else pruned(self.catalyst.jvm, planned.rdd, partitions)
        rows = self._limiting.of_rdd(rdd, planned.schema)
        return (rows.distinct() if different else rows).limit(most)

    def begin(self) -> None:
        """A wave is computed from here on."""
        if self._meanwhile is not None:
            thread = ThreadPoolExecutor(1, "bigdebug meanwhile")
            thread.submit(self._beside, self._meanwhile)  # who needs what it found finds it, or why there is none
            thread.shutdown(wait=False)
            self._meanwhile = None

    def _beside(self, work: Callable[[], object]) -> None:
        with self.catalyst.active():
            work()


class Waves(Protocol):
    """Asks for the rows of plans."""

    @property
    def catalyst(self) -> Catalyst:
        """What plans are made of."""

    @property
    def whole(self) -> bool:
        """Whether all partitions were asked for so far."""

    @property
    def everywhere(self) -> Waves:
        """What asks for the rows that a plan gives of all, where this gives those that it gives of some; else itself."""

    def confirms(self, crashes: int) -> bool:
        """Whether functions that crash on so many rows now, do so as they did when these rows were found."""

    def rows(self, plan: Node, different: bool = False) -> Iterator[list[Row]]:
        """The rows of a plan, until there are more than ``MOST``; of those of a wave, the ones that are ``different``."""

    def held(self, plan: Node) -> Iterator[Any]:
        """The same as the JVM has them, in Scala Seqs."""


class PartitionWaves:
    """Waves of the partitions that are ``wanted``. A wave costs a job, and each question what it takes to come to the last stage of its plan."""

    def __init__(self, asking: Asking, wanted: Wanted = every) -> None:
        self.catalyst = asking.catalyst
        self._asking = asking
        self._wanted = wanted
        self.whole = True
        """Whether all partitions were asked for so far."""

    @property
    def everywhere(self) -> Waves:
        """Itself."""
        return self

    def confirms(self, crashes: int) -> bool:
        """True: no rows were found before."""
        return True

    def rows(self, plan: Node, different: bool = False) -> Iterator[list[Row]]:
        """The rows of a plan."""
        return self._found(plan, lambda some: unheard(some, "collect"), len, different)

    def held(self, plan: Node) -> Iterator[Any]:
        """The same as the JVM has them."""
        return self._found(plan, self.catalyst.held, lambda rows: int(rows.length()))

    def _found(self, plan: Node, ask: Callable[[Any], Any], count: Callable[[Any], int], different: bool = False) -> Iterator[Any]:
        most = _Most(self._asking.first)
        for some in self._frames(plan, most, different):
            self._asking.begin()
            found = ask(some)
            most.saw(count(found))
            yield found

    def _frames(self, plan: Node, most: _Most, different: bool) -> Iterator[Any]:
        """A DataFrame for each wave."""
        planned = self._asking.planned(plan)
        if self._asking.numbered:
            yield self._asking.frame(planned, range(planned.partitions), different)
            return
        left = self._wanted(plan, planned.partitions).numbers
        self.whole = self.whole and len(left) == planned.partitions
        while left and most.left:
            now, left = left[: most.partitions], left[most.partitions :]
            yield self._asking.frame(planned, now, different)


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
