"""Streams of the JVM over objects of Spark's: a call from here for each of 10,000 objects would take seconds."""

from __future__ import annotations

from typing import Any

from pyspark import SparkContext

from bigdebug.spark.gateway import array_of, classes

_DECLARED = {
    "getClass": "java.lang.Object", "toString": "java.lang.Object", "getName": "java.lang.Class",
    "inputSplit": "org.apache.spark.rdd.HadoopPartition", "serializableHadoopSplit": "org.apache.spark.rdd.NewHadoopPartition",
    "getPath": "org.apache.hadoop.fs.FileStatus", "getModificationTime": "org.apache.hadoop.fs.FileStatus",
    "value": "org.apache.spark.SerializableWritable", "files": "org.apache.spark.sql.execution.datasources.FilePartition",
    "toPath": "org.apache.spark.sql.execution.datasources.PartitionedFile",
}
"""The methods that are called within, and the classes that declare them."""


class Streams:
    """Makes streams of Java objects and calls methods on all that they hold. What is looked up is looked up once."""

    def __init__(self, sc: SparkContext) -> None:
        self._sc: Any = sc
        self._jvm = classes(self._sc._jvm)
        self._functions: dict[str, Any] = {}
        self._streaming: Any = None

    def of_array(self, array: Any) -> Any:
        """A stream of the objects in a Java array."""
        return self._stream_method().invoke(None, self._array("java.lang.Object", array))

    def of_arrays(self, stream: Any) -> Any:
        """A stream of what the arrays in a stream hold."""
        return stream.flatMap(self._function("stream", self._stream_method()))

    def of_sequence(self, sequence: Any) -> Any:
        """A stream of the objects in a Scala sequence."""
        return self._jvm.scala.jdk.javaapi.CollectionConverters.asJava(sequence).stream()

    def mapped(self, stream: Any, *methods: str) -> Any:
        """A stream of what ``methods`` give, one on the result of the other."""
        for name in methods:
            stream = stream.map(self._function(name))
        return stream

    def texts(self, stream: Any, *methods: str) -> list[str]:
        """The same as texts."""
        text = self.mapped(stream, *methods).collect(self._jvm.java.util.stream.Collectors.joining("\0"))
        return str(text).split("\0") if text else []

    def _function(self, name: str, method: Any = None) -> Any:
        """A Java method as a java.util.function.Function."""
        if name not in self._functions:
            method = method or self._class(_DECLARED[name]).getMethod(name, self._array("java.lang.Class"))
            invoke = self._jvm.java.lang.invoke
            handle = invoke.MethodHandles.publicLookup().unreflect(method)
            kind = self._class("java.util.function.Function")
            self._functions[name] = invoke.MethodHandleProxies.asInterfaceInstance(kind, handle)
        return self._functions[name]

    def _stream_method(self) -> Any:
        if self._streaming is None:
            objects = self._array("java.lang.Class", self._class("[Ljava.lang.Object;"))
            self._streaming = self._class("java.util.Arrays").getMethod("stream", objects)
        return self._streaming

    def _class(self, name: str) -> Any:
        return self._jvm.java.lang.Class.forName(name)

    def _array(self, kind: str, *values: Any) -> Any:
        return array_of(self._sc, getattr(self._jvm, kind), values)
