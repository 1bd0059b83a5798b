"""Heard: the plans of queries that failed, of whatever action or command. Spark hands them to its listeners alone.

The listener is made of what Java has (``handles``): it puts what it is told of a failure into a queue.
"""

from __future__ import annotations

import logging
from collections import deque
from contextlib import suppress
from itertools import islice
from threading import Lock
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from bigdebug.spark.cancelled import causes, thrown_by
from bigdebug.spark.handles import Handles
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.unlogged import unlogged

log = logging.getLogger(__name__)

_MOST = 8
"""Queries that are held until somebody asks, the latest; a query holds what its stages wrote."""

_PATIENCE = 500
"""Milliseconds in which Spark's listeners are to come to what has happened: the user's exception waits for it."""

_ENDED = (PySparkException, Py4JError, OSError)
"""What Spark's end of a call raises when Spark has been stopped, or its process has ended."""

_DEEPEST = 20
"""An exception and its causes that are compared: they may go in a circle."""


class Heard:
    """Queries of one session that failed. Thread-safe."""

    def __init__(self, catalyst: Catalyst) -> None:
        self._catalyst = catalyst
        self._queue: Any = catalyst.jvm.java.util.concurrent.ArrayBlockingQueue(_MOST)
        self._listener: Any = None
        self._others: deque[tuple[Any, Any]] = deque(maxlen=_MOST)
        """Queries, and what they failed with, that nobody asked for yet: other threads may."""
        self._alone = Lock()

    def open(self) -> None:
        """From here on queries are heard of. Costs those that succeed a call of a method that does nothing."""
        try:
            listener = _listener(self._catalyst, self._queue)
            self._catalyst.jsession.listenerManager().register(listener)
            self._listener = listener
        except (PySparkException, Py4JError) as trouble:
            log.info("bigdebug does not hear of queries that fail: %s", trouble)

    def close(self) -> None:
        """This session's queries are not heard of any more, and none is held."""
        listener, self._listener = self._listener, None
        with suppress(*_ENDED):
            if listener is not None:
                self._catalyst.jsession.listenerManager().unregister(listener)
        self.let_go()

    def let_go(self) -> None:
        """Hold no query any more: of ours that failed, or were cancelled, nobody asks."""
        with suppress(*_ENDED), self._alone:
            self._queue.clear()
            self._others.clear()

    def plans(self, problem: BaseException) -> list[Any]:
        """The plans that the queries ran by that failed with what the user was told, and with nothing else."""
        told = {_number(self._catalyst, cause) for cause in islice(causes(thrown_by(problem)), _DEEPEST)}
        with suppress(PySparkException, Py4JError):  # in time or not, some may have come
            self._catalyst.spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(_PATIENCE)
        found = []
        with self._alone:
            heard = self._catalyst.jvm.java.util.ArrayList()
            self._queue.drainTo(heard)
            self._others.extend((query, raised) for _, query, raised in heard)
            for query, raised in list(self._others):
                if any(_number(self._catalyst, cause) in told for cause in islice(causes(raised), _DEEPEST)):
                    self._others.remove((query, raised))
                    found.append(query)
        return [plan for query in found if (plan := _plan(query)) is not None]


def _plan(query: Any) -> Any | None:
    """What it ran by, or began to; None if it failed while it was planned."""
    try:
        with unlogged():
            return query.executedPlan()
    except (PySparkException, Py4JError):
        return None


def _number(catalyst: Catalyst, thing: Any) -> int:
    """The same for the same object; another one may happen to have it once in a billion."""
    return int(catalyst.jvm.java.lang.System.identityHashCode(thing))


def _listener(catalyst: Catalyst, queue: Any) -> Any:
    """A QueryExecutionListener that puts what it is told of a failure into a queue, in the place of the eldest if that is full: the name of the action,
    the query and the exception.
    """
    h = Handles(catalyst.spark.sparkContext)
    return h.object_of("org.apache.spark.sql.util.QueryExecutionListener", {}, {"onFailure": h.replacing(queue)})
