"""Handles: objects of Java's interfaces made of Java's method handles, so that the JVM calls something of ours without a jar, and without asking Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pyspark import SparkContext

from bigdebug.spark.gateway import array_of, classes

_OBJECT, _METHOD = "java.lang.Object", "java.lang.reflect.Method"


class Handles:
    """Makes handles in one JVM. Each step is a call of the gateway: an object of some methods takes 20 ms, once."""

    def __init__(self, sc: SparkContext) -> None:
        self._sc: Any = sc
        self._jvm = classes(self._sc._jvm)
        self._loader = self._sc._jsc.getClass().getClassLoader()
        self._handles = self._jvm.java.lang.invoke.MethodHandles
        self._lookup = self._handles.publicLookup()
        self.truth = self._jvm.java.lang.Boolean.TYPE
        """The class of what is true or false."""

    def named(self, name: str) -> Any:
        """A class by its name."""
        return self._loader.loadClass(name)

    def kind(self, gives: Any, *takes: Any) -> Any:
        """What a method gives and takes, by the classes."""
        return self._jvm.java.lang.invoke.MethodType.methodType(gives, self._array("java.lang.Class", takes))

    def virtual(self, owner: str, name: str, gives: Any, *takes: Any) -> Any:
        """A public method of a class; what it is called on is its first argument."""
        return self._lookup.findVirtual(self.named(owner), name, self.kind(gives, *takes))

    def static(self, owner: str, name: str, gives: Any, *takes: Any) -> Any:
        """A public static method of a class."""
        return self._lookup.findStatic(self.named(owner), name, self.kind(gives, *takes))

    def then(self, first: Any, second: Any) -> Any:
        """``second`` of what ``first`` gives."""
        return self._handles.filterReturnValue(first, second)

    def given(self, handle: Any, value: Any) -> Any:
        """``handle`` whose last argument is ``value``: it takes two."""
        return self._handles.insertArguments(handle, 1, self._array(_OBJECT, [value]))

    def offering(self, queue: Any, kinds: Sequence[str]) -> Any:
        """Takes an object, and puts it into a queue that takes everything, if it is of one of the ``kinds``."""
        offer = self.virtual("java.util.concurrent.LinkedBlockingQueue", "offer", self.truth, self.named(_OBJECT)).bindTo(queue)
        offer = offer.asType(self.kind(self.named(_OBJECT), self.named(_OBJECT)))
        handle = self.always(None)
        for kind in kinds:
            is_one = self.virtual("java.lang.Class", "isInstance", self.truth, self.named(_OBJECT)).bindTo(self.named(kind))
            handle = self._handles.guardWithTest(is_one, offer, handle)
        return handle

    def replacing(self, queue: Any) -> Any:
        """Takes an object, and puts it into an ArrayBlockingQueue, in the place of the eldest if that is full."""
        anything = self.named(_OBJECT)

        def of_queue(name: str, gives: Any, *takes: Any) -> Any:
            return self.virtual("java.util.concurrent.ArrayBlockingQueue", name, gives, *takes).bindTo(queue)

        room = of_queue("remainingCapacity", self._jvm.java.lang.Integer.TYPE).asType(self.kind(anything))
        is_full = self.then(room, self.virtual(_OBJECT, "equals", self.truth, anything).bindTo(0))
        made_room = self._handles.guardWithTest(is_full, of_queue("poll", anything), self._handles.constant(anything, None))
        return self._handles.foldArguments(of_queue("offer", self.truth, anything), made_room.asType(self.kind(self._jvm.java.lang.Void.TYPE)))

    def always(self, value: Any) -> Any:
        """Takes an object, and gives ``value``."""
        return self._handles.dropArguments(self._handles.constant(self.named(_OBJECT), value), 0, self._listed(self.named(_OBJECT)))

    def unless(self, is_so: Any, handle: Any) -> Any:
        """What ``handle`` gives of an object, and nothing if ``is_so`` of it."""
        is_so = is_so.asType(self.kind(self.truth, self.named(_OBJECT)))
        return self._handles.guardWithTest(is_so, self.always(None), handle)

    def both(self, first: Any, second: Any, owner: Any) -> Any:
        """Whether ``first`` holds of an object of a class, and ``second``, which is not asked otherwise."""
        kind = self.kind(self.truth, owner)
        false = self._handles.dropArguments(self._handles.constant(self.truth, False), 0, self._listed(owner))
        return self._handles.guardWithTest(first.asType(kind), second.asType(kind), false)

    def function(self, interface: str, handle: Any) -> Any:
        """``handle`` as an object of an interface that has a single method to be written, which takes and gives objects."""
        return self._jvm.java.lang.invoke.MethodHandleProxies.asInterfaceInstance(self.named(interface), handle)

    def object_of(self, interface: str, does: Mapping[str, Any], with_all: Mapping[str, Any] = MappingProxyType({})) -> Any:
        """An object of an interface: those of its methods do so with their first argument, or ``with_all`` that they are given, an array; the others do
        nothing. It is equal to itself alone.
        """
        given = self.named(_OBJECT).arrayType()
        first = self.given(self._handles.arrayElementGetter(given), 0)
        selves = self._jvm.java.util.Collections.newSetFromMap(self._jvm.java.util.IdentityHashMap())
        is_self = self.virtual("java.util.Set", "contains", self.truth, self.named(_OBJECT)).bindTo(selves)
        nothing = self._handles.dropArguments(self._handles.constant(self.named(_OBJECT), None), 0, self._listed(given))
        handle = self._as_called(nothing)
        for name, of_first in {"equals": is_self, **does}.items():
            handle = self._where(name, self._as_called(self.then(first, of_first)), handle)
        for name, of_all in with_all.items():
            handle = self._where(name, self._as_called(of_all), handle)
        for name, value in {"hashCode": 0, "toString": "bigdebug"}.items():  # these are given no argument at all
            answer = self._handles.dropArguments(self._handles.constant(self.named(_OBJECT), value), 0, self._listed(given))
            handle = self._where(name, self._as_called(answer), handle)
        invoked = self._jvm.java.lang.invoke.MethodHandleProxies.asInterfaceInstance(self.named("java.lang.reflect.InvocationHandler"), handle)
        made = self._jvm.java.lang.reflect.Proxy.newProxyInstance(self._loader, self._array("java.lang.Class", [self.named(interface)]), invoked)
        selves.add(made)
        return made

    def _as_called(self, handle: Any) -> Any:
        """As a proxy calls it: with itself, the method, and what that is given."""
        kind = self.kind(self.named(_OBJECT), self.named(_OBJECT).arrayType())
        return self._handles.dropArguments(handle.asType(kind), 0, self._listed(self.named(_OBJECT), self.named(_METHOD)))

    def _where(self, name: str, does: Any, otherwise: Any) -> Any:
        """``does`` for the methods with a name."""
        is_name = self.given(self.virtual("java.lang.String", "equals", self.truth, self.named(_OBJECT)), name)
        is_called = self.then(self.virtual(_METHOD, "getName", self.named("java.lang.String")), is_name)
        return self._handles.guardWithTest(self._handles.dropArguments(is_called, 0, self._listed(self.named(_OBJECT))), does, otherwise)

    def _array(self, kind: str, values: Sequence[Any]) -> Any:
        made: Any = self._jvm
        for part in kind.split("."):
            made = getattr(made, part)
        return array_of(self._sc, made._part, values)

    def _listed(self, *values: Any) -> Any:
        return self._jvm.java.util.Arrays.asList(self._array(_OBJECT, values))
