"""What a captured RDD remembers of how it was made: its operator, its parents, and how to run it once more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from typing import TYPE_CHECKING, Any

from pyspark import RDD

from bigdebug.agents.segments import Step
from bigdebug.graph import Form, Operator

if TYPE_CHECKING:
    from bigdebug.spark.rdd.recorded import Recorded as Captured


@dataclass(frozen=True)
class Source:
    """Records that Spark or the user brings along: nothing of ours runs."""


@dataclass(frozen=True)
class Narrow:
    step: Step


@dataclass(frozen=True)
class Rearranged:
    """The JVM moves whole partitions or pairs them; ``frame`` is the number of records in a frame, if it matters."""

    frame: int | None = None


@dataclass(frozen=True)
class Exchange:
    """Records cross a shuffle: ``targets`` partitions by ``partition``, combined before it if there is ``create``,
    and merged after it by what ``merge`` makes of a memory limit in bytes (None: they are only moved).

    ``stays``: PySpark moves nothing, for the records are partitioned as they are to be. ``pairs``: it makes a pair of the first
    two parts of each record."""

    targets: int
    partition: Callable[[Any], int]
    create: Callable[[Any], Any] | None = None
    combine: Callable[[Any, Any], Any] | None = None
    merge: Callable[[int], Any] | None = None
    stays: bool = False
    pairs: bool = False


@dataclass(frozen=True)
class Repartition:
    """Spark deals frames out to ``targets`` partitions."""

    targets: int
    frame: int


Lowering = Source | Narrow | Rearranged | Exchange | Repartition


@dataclass(frozen=True)
class Definition:
    """``again`` repeats the user's call on other parents. ``fused`` says for each parent whether PySpark pipelines
    through it: a parent that was cached or checkpointed when this RDD was made is read back instead."""

    operator: Operator
    parents: tuple[Captured, ...]
    lowering: Lowering
    again: Callable[[Sequence[RDD[Any]]], RDD[Any]]
    fused: tuple[bool, ...]


ITSELF = signature(RDD.sortByKey).parameters["keyfunc"].default
"""PySpark's own function, by which a key is sorted by itself: workers are to get the code that PySpark would send."""

UNKNOWN = -1
"""Partitions of an operator that nobody has counted yet."""


def definitions(*rdds: Captured) -> Iterator[Captured]:
    """The RDDs and everything they were made from, each once."""
    seen: set[int] = set()
    todo = list(rdds)
    while todo:
        current = todo.pop()
        operator = current._definition.operator.id
        if operator not in seen:
            seen.add(operator)
            yield current
            todo.extend(current._definition.parents)


def resolved(rdd: Captured) -> Operator:
    """The operator of ``rdd`` with its partitions counted; asks the JVM once."""
    # Spark chooses the groups of a coalesce by where its parent is cached: those of what ran are meant.
    ran = rdd._compiled.records
    known: tuple[Any, Operator] | None = rdd.__dict__.get("_resolved")
    if known is None or known[0] is not ran:
        operator, lowering = rdd._definition.operator, rdd._definition.lowering
        detail = dict(operator.detail)
        if isinstance(lowering, Narrow):
            partitions = resolved(rdd._definition.parents[0]).partitions
        elif isinstance(lowering, Exchange | Repartition):
            partitions = lowering.targets
        else:
            partitions = rdd.getNumPartitions()
        if operator.form is Form.COALESCE:
            detail["groups"] = groups_of(rdd, rdd._plain_jrdd() if ran is None else ran.rdd._jrdd)
        known = rdd.__dict__["_resolved"] = (ran, replace(operator, partitions=partitions, detail=detail))
    return known[1]


def groups_of(rdd: Captured, jrdd: Any) -> list[list[int]]:
    """The parent's partitions that each partition of a coalesce is made of, in a Java RDD that computes it.

    A checkpoint makes Spark forget them: they have to be asked before.
    """
    known: dict[int, list[list[int]]] = rdd.__dict__.setdefault("_groups", {})
    if jrdd.id() not in known:
        known[jrdd.id()] = [list(partition.parentsIndices()) for partition in jrdd.rdd().partitions()]
    return known[jrdd.id()]
