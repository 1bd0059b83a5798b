"""Hearing: what Spark tells its listeners of queries, streams, jobs, and dropped tables and databases, of all sessions of an application, in a queue.

The listener is made of what Java has (``handles``): it puts an event into a queue without a bound, and does nothing else. So it cannot fail a job,
it waits for nobody, and no event is lost, however late it is read. It has a queue of Spark's of its own, too: who listens slowly does not delay it.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any, NamedTuple

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException

from bigdebug.spark.gateway import classes, elements
from bigdebug.spark.handles import Handles
from bigdebug.spark.streams import Streams

log = logging.getLogger("bigdebug")

_SQL = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecution"
_STREAM = "org.apache.spark.sql.streaming.StreamingQueryListener$Query"
_JOB = "org.apache.spark.scheduler.SparkListenerJob"
_CATALOG = "org.apache.spark.sql.catalyst.catalog"

_OTHERS = (
    f"{_SQL}Start", f"{_SQL}End", f"{_STREAM}StartedEvent", f"{_STREAM}TerminatedEvent", f"{_CATALOG}.DropTableEvent", f"{_CATALOG}.DropDatabaseEvent",
)

QUERY = "spark.sql.execution.id"
"""The property of a job that says of which query it is."""

_AT_ONCE = 256
"""Events that are taken from the queue in one call."""

ENDED = (PySparkException, Py4JError, OSError)
"""What a call raises when Spark has been stopped, or its process has ended."""


class Told(NamedTuple):
    """An event: the name of its class, ``SparkListenerSQLExecutionEnd`` say, and itself, in the JVM."""

    name: str
    event: Any


def _told(name: str, event: Any) -> Told:
    return Told(name.rsplit(".", 1)[-1].rsplit("$", 1)[-1], event)


class Hearing:
    """What one application tells. ``open`` and ``close`` may be called again and again."""

    def __init__(self, sc: SparkContext) -> None:
        self._sc: Any = sc
        self._jvm = classes(self._sc._jvm)
        self._queue: Any = self._jvm.java.util.concurrent.LinkedBlockingQueue()
        self._milliseconds: Any = self._jvm.java.util.concurrent.TimeUnit.MILLISECONDS
        self._streams = Streams(sc)
        self._listener: Any = None

    def open(self) -> None:
        """From here on events are heard. Raises nothing: where it cannot be, nothing is heard, and the log says so."""
        if self._listener is not None:
            return
        try:
            self._listener = _listener(self._sc, self._queue)
            self._sc._jsc.sc().listenerBus().addToQueue(self._listener, "bigdebug")
        except ENDED as trouble:
            self._listener = None
            log.warning("bigdebug records no datasets, for Spark does not let it listen: %s", trouble)

    def close(self) -> None:
        """No event is heard any more; those that were are still given."""
        listener, self._listener = self._listener, None
        with suppress(*ENDED):
            if listener is not None and self._sc._jsc is not None:
                self._sc._jsc.sc().removeSparkListener(listener)

    def come(self, seconds: float) -> bool:
        """Wait until Spark has told all that has happened; False if that took longer."""
        if self._sc._jsc is None:  # it has told all before it was stopped
            return True
        with suppress(*ENDED):
            self._sc._jsc.sc().listenerBus().waitUntilEmpty(max(1, int(seconds * 1000)))
            return True
        return False

    def next(self, seconds: float) -> list[Told]:
        """The events that come next, at once if there are any, else after some time; none if there were none. Costs a call of the JVM that waits there,
        and three for one event, or ten for some hundred. Raises an error of py4j's when Spark's process has ended.
        """
        first = self._queue.poll(int(seconds * 1000), self._milliseconds)
        if first is None:
            return []
        if not self._queue.size():
            return [_told("java.lang.String" if isinstance(first, str) else str(first.getClass().getName()), first)]
        events = self._jvm.java.util.ArrayList()
        events.add(first)
        self._queue.drainTo(events, _AT_ONCE)
        names = self._streams.texts(events.stream(), "getClass", "getName")
        return [_told(name, event) for name, event in zip(names, elements(events), strict=True)]

    def mark(self, text: str) -> None:
        """Let ``next`` give ``Told("String", text)`` behind all that has come until now, in whichever thread it waits."""
        with suppress(*ENDED):
            self._queue.offer(text)


def _listener(sc: SparkContext, queue: Any) -> Any:
    """A listener that hears of queries and streams, and of jobs that begin for no query, and of the end of all."""
    h = Handles(sc)
    properties = h.named("java.util.Properties")
    started = h.virtual(f"{_JOB}Start", "properties", properties)
    text = h.named("java.lang.String")
    query = h.given(h.virtual("java.util.Properties", "getProperty", text, text), QUERY)
    is_known = h.then(query, h.static("java.util.Objects", "nonNull", h.truth, h.named("java.lang.Object")).asType(h.kind(h.truth, text)))
    of_query = h.then(started, h.both(h.static("java.util.Objects", "nonNull", h.truth, h.named("java.lang.Object")), is_known, properties))
    return h.object_of("org.apache.spark.scheduler.SparkListenerInterface", {
        "onOtherEvent": h.offering(queue, _OTHERS),
        "onJobStart": h.unless(of_query, h.offering(queue, [f"{_JOB}Start"])),
        "onJobEnd": h.offering(queue, [f"{_JOB}End"]),
    })
