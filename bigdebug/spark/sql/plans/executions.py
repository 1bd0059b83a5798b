"""Executions: what a plan says about how Spark would execute it, and what it would not repeat."""

from __future__ import annotations

import re
from typing import Any

from py4j.protocol import Py4JJavaError

from bigdebug.spark.ancestry import ancestors
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Node

KEPT = {"collect", "toPandas", "toArrow", "toLocalIterator", "tail"}
"""Actions that execute the plan which the DataFrame keeps; others make a query of their own of it, and plan that anew."""

_CHANGING = "java.util.ConcurrentModificationException"

_CUT = "Truncated plan of "
"""What Spark writes where a plan is longer than it writes any."""

_UNKNOWN = 1 << 60
"""What Spark takes the size of a source for that does not tell is not less."""


def phase(frame: Any, name: str) -> Any | None:
    """When Spark did a phase of planning the execution that a DataFrame keeps; None if it is only coming to its phases just now."""
    try:
        found = frame._jdf.queryExecution().tracker().phases().get(name)
    except Py4JJavaError as trouble:
        if trouble.java_exception.getClass().getName() != _CHANGING:
            raise
        return None  # Spark notes its phases, planning as the last, in a map without a lock
    return found.get() if found.isDefined() else None


def planned_at(frame: Any, before: float) -> int | None:
    """When Spark planned the execution that a DataFrame keeps, in milliseconds; None if it had not ``before`` a time in seconds."""
    planning = phase(frame, "planning")
    planned = None if planning is None else int(planning.endTimeMs())
    return planned if planned is not None and planned < before * 1000 else None


def reads_cache(catalyst: Catalyst, frame: Any) -> int:
    """How many times the query of a DataFrame reads what is cached."""
    return sum(leaf.nodeName() == "InMemoryRelation" for leaf in catalyst.leaves(frame._jdf.queryExecution().withCachedData()))


def size(catalyst: Catalyst, plan: Node) -> int:
    """Bytes of the sources of a plan, of those that tell."""
    sizes = [int(str(leaf.stats().sizeInBytes())) for leaf in catalyst.leaves(plan)]
    return sum(size for size in sizes if size < _UNKNOWN)


def shares(plan: Node) -> bool:
    """Whether a plan reads a CTE several times: Spark computes one that draws once."""
    read = re.findall(r"CTERelationRef (\d+)", plan.toString())
    return len(set(read)) < len(read)


def observes(plan: Node) -> bool:
    """Whether a plan tells an Observation of the rows that pass."""
    return _has(plan, "CollectMetrics ")


def samples(plan: Node) -> bool:
    """Whether a plan takes a sample somewhere: no pattern of Spark's says so."""
    return _has(plan, "Sample ")


def _has(plan: Node, node: str) -> bool:
    """Whether a node is in a plan, or may be in the part of it that Spark does not write (spark.sql.maxPlanStringLength)."""
    said = plan.toString()
    return _CUT in said or any(line.lstrip(" :+-").startswith(node) for line in said.split("\n"))


def shuffles(catalyst: Catalyst, rdd: Any) -> bool:
    """Whether the records of an RDD of the JVM arrive through a shuffle, in an order that differs from one job to the next."""
    dependencies = (dependency for ancestor in ancestors(rdd) for dependency in catalyst.items(ancestor.dependencies()))
    return any(dependency.getClass().getSimpleName() == "ShuffleDependency" for dependency in dependencies)
