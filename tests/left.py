"""What is left behind: all that a session holds which may leak, before and after."""

from __future__ import annotations

import gc
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from pyspark.accumulators import _accumulatorRegistry

PATIENCE = 20.0
"""Seconds that what ends in the background has for it."""

_POOLED = re.compile(r"bigdebug( frames)?_\d+")
"""Threads that wait for the next action, each with a connection to Spark: at most four for each of the two kinds of actions."""


_OF_SESSIONS = "ExecutionListenerBus"
"""A listener that Spark has for each session that it clones, for a query with other settings, until that is collected."""


class Held(NamedTuple):
    """What a session holds. Of counts less is as good as the same."""

    files: frozenset[str]
    """Below its store."""
    threads: tuple[str, ...]
    pooled: int
    sockets: int
    cached: frozenset[int]
    listeners: int
    accumulators: int
    tags: frozenset[str]
    properties: tuple[str | None, ...]
    python: str

    def no_more_than(self, before: Held) -> bool:
        same = (self.tags, self.properties, self.python) == (before.tags, before.properties, before.python)
        fewer = len(self.threads) <= len(before.threads) and self.sockets <= before.sockets + self.pooled and self.listeners <= before.listeners
        return same and fewer and self.accumulators <= before.accumulators and self.files <= before.files and self.cached <= before.cached


_PROPERTIES = ("bigdebug.run", "bigdebug.strategy", "bigdebug.policy", "bigdebug.watch")


def held(dbg: Any) -> Held:
    gc.collect()
    sc = dbg.plain_context
    return Held(
        files=frozenset(map(str, dbg.store.rglob("*"))),
        threads=tuple(sorted(thread.name for thread in threading.enumerate() if not _POOLED.fullmatch(thread.name))),
        pooled=sum(bool(_POOLED.fullmatch(thread.name)) for thread in threading.enumerate()),
        sockets=_sockets(),
        cached=cached(sc),
        listeners=listeners(sc),
        accumulators=len(_accumulatorRegistry),
        tags=frozenset(sc.getJobTags()),
        properties=tuple(map(sc.getLocalProperty, _PROPERTIES)),
        python=sc.pythonExec,
    )


def listeners(sc: Any) -> int:
    """How many listen to what Spark does, but for those of its own for sessions."""
    return sum(_OF_SESSIONS not in str(each) for each in sc._jsc.sc().listenerBus().listeners().toArray())


def cached(sc: Any) -> frozenset[int]:
    """The numbers of the RDDs that Spark has cached. JavaSparkContext.getPersistentRDDs() would hold the RDDs themselves until py4j collects its answer."""
    numbers = sc._jsc.sc().persistentRdds().keySet().mkString(" ")
    return frozenset(map(int, numbers.split()))


def cached_for_good(sc: Any) -> frozenset[int]:
    """The numbers of the RDDs that Spark has cached, and that somebody holds: it lets go of others when Java collects."""
    known, before = cached(sc), None
    while known != before:
        gc.collect()
        sc._jvm.System.gc()
        time.sleep(0.5)
        known, before = cached(sc), known
    return known


def jobs_run(spark: Any) -> int:
    """How many jobs there have been. Spark's status store hears of a job some time after it ran, and forgets old ones."""
    return int(spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs())


def ours() -> Counter[str]:
    """How many objects of each of our own classes there are."""
    gc.collect()
    return Counter(type(each).__qualname__ for each in gc.get_objects() if str(type(each).__module__).startswith("bigdebug."))


def _sockets() -> int:
    found = 0
    for file in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found += os.readlink(f"/proc/self/fd/{file}").startswith("socket:")
    return found


@contextmanager
def nothing_left(dbg: Any) -> Iterator[None]:
    """Within, runs may be made: when they are forgotten, the session holds no more than before, and no job of ours runs."""
    _warm(dbg)
    before = held(dbg)
    yield
    dbg.forget(dbg.runs)
    _warm(dbg)  # the last query is held until there is another one
    end = time.monotonic() + PATIENCE
    while not ((now := held(dbg)).no_more_than(before) and not active(dbg)) and time.monotonic() < end:
        dbg.forget()  # what a task wrote late, on an executor that went on
        dbg.plain_context._jvm.System.gc()  # what nobody holds any more, Spark lets go of then
        time.sleep(0.1)
    assert active(dbg) == []
    assert now.no_more_than(before), f"{now}\ninstead of\n{before}"


def _warm(dbg: Any) -> None:
    """Have a session what it keeps from its first jobs on: connections, and who listens."""
    with dbg.capture("warm") as capture:
        dbg.context.parallelize([1, 2], 2).map(str).groupBy(len).count()
        dbg.spark.range(2).collect()
    dbg.forget(capture.runs)


def active(dbg: Any) -> list[int]:
    """The jobs that run."""
    return list(dbg.plain_context.statusTracker().getActiveJobsIds())
