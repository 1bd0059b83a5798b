"""Forecasts: what a resumed run would compute again, and how many outputs what comes in the place of culprits would reach. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache

from bigdebug.graph import Form, Kind, Operator, OperatorGraph, Stage
from bigdebug.trace.culprit import CrashCulprit
from bigdebug.trace.run import Run

_ALL_AT_ONCE = frozenset((
    "collect", "count", "sum", "max", "min", "mean", "stats", "variance", "stdev", "reduce", "fold", "aggregate", "treeReduce", "treeAggregate", "countByKey",
    "countByValue", "collectAsMap", "top", "takeOrdered", "foreach", "foreachPartition", "reduceByKeyLocally", "saveAsTextFile", "saveAsPickleFile",
))
"""Actions that compute all partitions, each once."""

_UNTIL_ENOUGH = frozenset(("take", "first", "isEmpty"))
"""Actions that read partitions until they have enough."""

_ONE_EACH = (Form.ONE_TO_ONE, Form.SHUFFLE, Form.SORT, Form.UNION, Form.ALIGNED_UNION, Form.COALESCE)


class Bound(str, Enum):
    """How a number stands to what it is of."""

    EXACT = "exactly"
    AT_MOST = "at most"
    AT_LEAST = "at least"
    UNKNOWN = "not known"


@dataclass(frozen=True)
class StageForecast:
    """A stage by the operators that it runs, its partitions, which are its tasks, and how many of them Spark holds."""

    operators: tuple[Operator, ...]
    partitions: int
    held: int

    @property
    def computes(self) -> int:
        return self.partitions - self.held


@dataclass(frozen=True)
class Forecast:
    """What a resume computes, in the order of the program. ``bound`` is that of ``computes``: an action may read partitions until it has enough, or run several jobs."""

    stages: tuple[StageForecast, ...]
    bound: Bound

    @property
    def computes(self) -> int:
        return sum(stage.computes for stage in self.stages)

    @property
    def held(self) -> int:
        return sum(stage.held for stage in self.stages)


@dataclass(frozen=True)
class Reach:
    """How many outputs records reach that come in the place of others. Where the bound is not known, neither is the number."""

    outputs: int
    bound: Bound


def forecast(run: Run, held: Mapping[str, Collection[int]]) -> Forecast:
    """What the run of an RDD program computes when it is resumed, where Spark ``held`` these partitions of its stages, by their ids. Costs no job.

    Stages are those that have tasks of their own: what is read from a cache, or put one behind the other by a union, runs in the tasks that read it. Where Spark has
    lost something since, more is computed.
    """
    results = run.graph.downstream(run.subject)
    stages = [stage for stage in run.graph.stages if not stage.adopted and (stage.feeds is not None or stage.ends in results)]
    found = [
        StageForecast(_told(run.graph, stage), run.graph[stage.reads].partitions, 0 if stage.feeds is None else len(held.get(stage.id, ())))
        for stage in sorted(stages, key=lambda stage: stage.ends)
    ]
    bound = Bound.EXACT if run.action in _ALL_AT_ONCE else Bound.AT_MOST if run.action in _UNTIL_ENOUGH else Bound.AT_LEAST
    return Forecast(tuple(found), bound)


def _told(graph: OperatorGraph, stage: Stage) -> tuple[Operator, ...]:
    """The operators of a stage that somebody wrote; what it reads is one of them, if it is made there."""
    every = dict.fromkeys((stage.reads, *stage.operators))
    return tuple(graph[operator] for operator in every if "internal" not in graph[operator].detail)


def reach(graph: OperatorGraph, subject: int, culprits: Iterable[CrashCulprit]) -> Reach:
    """How many records of ``subject`` other records in the place of these culprits reach, as far as the program says it before it ran.

    A record goes through a map as one, through a filter as one or none, into one group. What a function over many records makes of one, nobody knows.
    """
    @cache
    def one(operator: int) -> Bound:
        return _of_one(graph, subject, graph[operator])

    found = Counter(one(culprit.operator.id) for culprit in culprits)
    if found[Bound.UNKNOWN]:
        return Reach(0, Bound.UNKNOWN)
    return Reach(found.total(), Bound.AT_MOST if found[Bound.AT_MOST] else Bound.EXACT)


def _of_one(graph: OperatorGraph, subject: int, operator: Operator) -> Bound:
    """Whether one record that comes to an operator is one of the ``subject``, or at most one."""
    within, bound = graph.upstream(subject), Bound.EXACT
    while operator.id in within:
        through = _through(operator)
        if through is not Bound.EXACT:
            bound = through
        if operator.id == subject or bound is Bound.UNKNOWN:
            return bound
        ahead = [other for other in graph.children(operator.id) if other.id in within]
        if len(ahead) != 1 or ahead[0].parents.count(operator.id) != 1:
            return Bound.UNKNOWN
        [operator] = ahead
    return Bound.UNKNOWN


def _through(operator: Operator) -> Bound:
    """What an operator makes of one record."""
    if operator.form in _ONE_EACH:
        return Bound.EXACT
    filters = operator.kind is Kind.FILTER and operator.form.record_wise
    return Bound.AT_MOST if filters or (operator.form is Form.CODES and operator.kind is Kind.AGGREGATOR) else Bound.UNKNOWN
