"""Heard: the plans of queries that failed, of whatever action or command. Spark hands them to its listeners alone.

The listener is made of what Java has: a proxy, whose method handles put what it is told of a failure into a queue.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError

from bigdebug.spark.sql.catalyst import Catalyst

log = logging.getLogger(__name__)

_MOST = 16
"""Queries that are held until somebody asks; a query holds what its stages wrote."""

_PATIENCE = 500
"""Milliseconds in which Spark's listeners are to come to what has happened: the user's exception waits for it."""


class Heard:
    """Queries of one session that failed."""

    def __init__(self, catalyst: Catalyst) -> None:
        self._catalyst = catalyst
        self._queue: Any = catalyst.jvm.java.util.concurrent.ArrayBlockingQueue(_MOST)
        self._listener: Any = None

    def open(self) -> None:
        """From here on queries are heard of. Costs those that succeed a call of a method that does nothing."""
        try:
            listener = _listener(self._catalyst, self._queue)
            self._catalyst.jsession.listenerManager().register(listener)
            self._listener = listener
        except Py4JError as trouble:
            log.info("bigdebug does not hear of queries that fail: %s", trouble)

    def close(self) -> None:
        """Nothing is heard of any more, and nothing is held."""
        listener, self._listener = self._listener, None
        if listener is not None:
            with suppress(Py4JError):  # Spark may have ended
                self._catalyst.jsession.listenerManager().unregister(listener)
                self._queue.clear()

    def plans(self, problem: BaseException) -> list[Any]:
        """The plans that the queries ran by that failed with what the user was told, and with nothing else. What was heard before is forgotten."""
        try:
            self._catalyst.spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(_PATIENCE)
            heard = self._catalyst.jvm.java.util.ArrayList()
            self._queue.drainTo(heard)
            told = _causes(getattr(problem, "_origin", None) or getattr(problem, "java_exception", None))
            return [query.executedPlan() for _, query, raised in heard if any(other.equals(cause) for other in _causes(raised) for cause in told)]
        except Py4JError:
            return []


def _causes(raised: Any) -> list[Any]:
    found = []
    while raised is not None:
        found.append(raised)
        raised = raised.getCause()
    return found


def _listener(catalyst: Catalyst, queue: Any) -> Any:
    """A QueryExecutionListener that offers a queue what it is told of a failure: the name of the action, the query and the exception."""
    jvm, loader = catalyst.jvm, catalyst.jsession.getClass().getClassLoader()
    load = loader.loadClass
    handles, method, listed = jvm.java.lang.invoke.MethodHandles, jvm.java.lang.invoke.MethodType.methodType, jvm.java.util.Arrays.asList
    lookup, truth = handles.publicLookup(), jvm.java.lang.Boolean.TYPE
    anything, called = load("java.lang.Object"), load("java.lang.reflect.Method")
    given = anything.arrayType()

    def handling(handle: Any) -> Any:
        """Of what is given alone, as a proxy calls it: with itself and the method before that."""
        return handles.dropArguments(handle.asType(method(anything, given)), 0, listed(catalyst.array([anything, called])))

    def always(value: Any) -> Any:
        return handling(handles.dropArguments(handles.constant(anything, value), 0, listed(catalyst.array([given]))))

    def one_of(kind: str, name: str, collection: Any) -> Any:
        return lookup.findVirtual(load(f"java.util.{kind}"), name, method(truth, anything)).bindTo(collection)

    selves = jvm.java.util.Collections.newSetFromMap(jvm.java.util.IdentityHashMap())
    first = handles.insertArguments(handles.arrayElementGetter(given), 1, catalyst.array([0]))
    does = {
        "onFailure": handling(one_of("concurrent.ArrayBlockingQueue", "offer", queue)),
        "equals": handling(handles.filterReturnValue(first, one_of("Set", "contains", selves))),
        "hashCode": always(0),
        "toString": always("bigdebug"),
    }
    handle = always(None)
    for name, does_it in does.items():
        named = handles.insertArguments(lookup.findVirtual(load("java.lang.String"), "equals", method(truth, anything)), 1, catalyst.array([name]))
        named = handles.filterReturnValue(lookup.findVirtual(called, "getName", method(load("java.lang.String"))), named)
        handle = handles.guardWithTest(handles.dropArguments(named, 0, listed(catalyst.array([anything]))), does_it, handle)
    handler = jvm.java.lang.invoke.MethodHandleProxies.asInterfaceInstance(load("java.lang.reflect.InvocationHandler"), handle)
    kinds = catalyst.spark.sparkContext._gateway.new_array(catalyst.spark._jvm.java.lang.Class, 1)
    kinds[0] = load("org.apache.spark.sql.util.QueryExecutionListener")
    made = jvm.java.lang.reflect.Proxy.newProxyInstance(loader, kinds, handler)
    selves.add(made)
    return made
