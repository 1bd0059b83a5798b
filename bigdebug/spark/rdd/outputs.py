"""Outputs: what Spark holds of stages that have run, shuffled or cached, and would read again instead of running them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext

from bigdebug.errors import ReplayError
from bigdebug.spark.gateway import items

_PATIENCE = 2_000
"""Milliseconds that are waited for Spark to tell its listeners what has happened."""


def check_letting_go(sc: SparkContext) -> None:
    """Raise ReplayError if Spark would not let go of what a run gives that goes on from crashes: later jobs would read it as if it were all."""
    jsc: Any = sc._jsc
    if not jsc.sc().cleaner().isDefined():
        raise ReplayError(
            "A job that goes on from crashes needs Spark's cleaner, and spark.cleaner.referenceTracking has switched that off",
            remedy="Start Spark without that setting.",
        )


def let_go(sc: SparkContext, jrdds: Collection[Any], made_by: Collection[int]) -> set[int]:
    """Let Spark compute anew what it made of the RDDs with the ids ``made_by``, on the way to Java RDDs: others would read what
    these gave without the records that crashed. Gives the ids of what is computed anew.
    """
    jsc: Any = sc._jsc
    cleaner = jsc.sc().cleaner().get()
    known: dict[int, bool] = {}

    def touched(rdd: Any) -> bool:
        """Whether an RDD is made of those, and nothing that Spark holds of it is left."""
        number = rdd.id()
        if number not in known:
            found = number in made_by
            dependencies = rdd.dependencies()
            for i in range(dependencies.length()):
                dependency = dependencies.apply(i)
                below = touched(dependency.rdd())
                if below and _is_shuffle(sc, dependency):
                    cleaner.doCleanupShuffle(dependency.shuffleId(), True)
                found = found or below
            level = rdd.getStorageLevel()
            if found and level.isValid():
                rdd.unpersist(True)
                rdd.persist(level)
            known[number] = found
        return known[number]

    for jrdd in jrdds:
        touched(jrdd.rdd())
    return {number for number, found in known.items() if found}


def holds_more(sc: SparkContext, number: int | None, known: frozenset[int]) -> bool:
    """Whether Spark holds, cached, other partitions of the RDD with this id than those that are known; so it may where it does not tell in time which it holds."""
    jsc: Any = sc._jsc
    cached = (info for info in jsc.sc().getRDDStorageInfo() if info.id() == number and info.numCachedPartitions())
    if all(known >= {*range(info.numPartitions())} for info in cached):  # or there is none
        return False
    try:
        jsc.sc().listenerBus().waitUntilEmpty(_PATIENCE)  # which blocks these are, its listeners are told
        held = {block.blockName() for block in items(jsc.sc().statusStore().rdd(number).partitions().get())}
    except Py4JError:
        return True
    return not held <= {f"rdd_{number}_{partition}" for partition in known}


def _is_shuffle(sc: SparkContext, dependency: Any) -> bool:
    jvm: Any = sc._jvm
    return bool(jvm.py4j.reflection.TypeUtil.isInstanceOf("org.apache.spark.ShuffleDependency", dependency))
