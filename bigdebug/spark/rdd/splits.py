"""Splits: which files, and which pieces of them, Spark reads for the partitions of an RDD.

Spark's objects are asked by streams of the JVM's own: a call for each of 10,000 splits from here would take seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from bigdebug.trace.origins import Split

_OF_HADOOP = ("HadoopRDD", "WholeTextFileRDD", "BinaryFileRDD")
"""How the names of Spark's classes end whose partitions are splits of Hadoop's."""

_PIECE = re.compile(r"(.*):(\d+)\+(\d+)", re.DOTALL)
"""How Hadoop writes a split: path, first byte, bytes."""

_FAR = 500
"""After so many RDDs the search for files behind one ends."""


class Splits:
    """What the partitions of a Java RDD read, asked through the gateway of ``sc``."""

    def __init__(self, sc: Any, rdd: Any) -> None:
        self._sc = sc
        self._jvm = sc._jvm
        self._rdd = rdd

    def pieces(self) -> tuple[Split, ...]:
        """The piece of a file that each partition reads, or none if that is not how the RDD reads."""
        found = self._read_by_hadoop()
        if found is None:
            return ()
        names = self._texts(self._splits(found), "getClass", "getName")
        if any(not name.endswith("FileSplit") or "Combine" in name for name in names):
            return ()
        pieces = [_PIECE.fullmatch(text) for text in self._texts(self._splits(found), "toString")]
        return tuple(Split(p[1], int(p[2]), int(p[3])) for p in pieces if p is not None)

    def files(self) -> tuple[tuple[str, ...], ...]:
        """The files that each partition reads where each file is one record."""
        found = self._read_by_hadoop()
        if found is None:
            return ()
        values = (partition.serializableHadoopSplit().value() for partition in found.partitions())
        return tuple(tuple(path.toString() for path in value.getPaths()) for value in values)

    def behind(self) -> set[str]:
        """The files that anything behind the RDD reads, as far as Spark tells: DataFrames and RDDs of files."""
        found: set[str] = set()
        for rdd in self._ancestors():
            name = rdd.getClass().getSimpleName()
            if name == "FileScanRDD":
                partitions = self._jvm.scala.jdk.javaapi.CollectionConverters.asJava(rdd.filePartitions())
                files = self._mapped(partitions.stream(), "files").flatMap(self._function(self._stream_of_array()))
                found.update(self._texts(files, "toPath", "toString"))
            elif name.endswith(_OF_HADOOP):
                mine = Splits(self._sc, rdd)
                found.update(piece.path for piece in mine.pieces()) if name.endswith("HadoopRDD") else found.update(*mine.files())
        return found

    def _read_by_hadoop(self) -> Any:
        """The RDD that reads for this one, partition by partition; None if it is not Hadoop that reads."""
        rdd = self._rdd
        while not rdd.getClass().getSimpleName().endswith(_OF_HADOOP):
            dependencies = rdd.dependencies()
            if dependencies.size() != 1:
                return None
            rdd = dependencies.head().rdd()
        return rdd

    def _ancestors(self) -> Iterator[Any]:
        seen, todo = set[int](), [self._rdd]
        while todo and len(seen) < _FAR:
            rdd = todo.pop()
            if rdd.id() not in seen:
                seen.add(rdd.id())
                yield rdd
                dependencies = rdd.dependencies()
                todo.extend(dependencies.apply(i).rdd() for i in range(dependencies.size()))

    def _splits(self, rdd: Any) -> Any:
        """A Java stream of the splits of an RDD that Hadoop reads."""
        partitions = self._stream_of_array().invoke(None, self._array("java.lang.Object", rdd.partitions()))
        older = rdd.getClass().getSimpleName() == "HadoopRDD"
        return self._mapped(partitions, "inputSplit" if older else "serializableHadoopSplit", "value")

    # ---- streams of the JVM -----------------------------------------------------------------------------------

    def _texts(self, stream: Any, *methods: str) -> list[str]:
        """What ``methods``, one on the result of the other, give for each object of a stream."""
        text = self._mapped(stream, *methods).collect(self._jvm.java.util.stream.Collectors.joining("\0"))
        return str(text).split("\0") if text else []

    def _mapped(self, stream: Any, *methods: str) -> Any:
        """Of the classes that a stream may hold, all have to have ``methods``: they are looked up on the first object."""
        held = stream.toList()
        for name in methods:
            if held.isEmpty():
                break
            method = held.get(0).getClass().getMethod(name, self._array("java.lang.Class"))
            held = held.stream().map(self._function(method)).toList()
        return held.stream()

    def _function(self, method: Any) -> Any:
        """A Java method as a java.util.function.Function."""
        invoke = self._jvm.java.lang.invoke
        handle = invoke.MethodHandles.publicLookup().unreflect(method)
        return invoke.MethodHandleProxies.asInterfaceInstance(self._class("java.util.function.Function"), handle)

    def _stream_of_array(self) -> Any:
        objects = self._array("java.lang.Class", self._class("[Ljava.lang.Object;"))
        return self._class("java.util.Arrays").getMethod("stream", objects)

    def _class(self, name: str) -> Any:
        return self._jvm.java.lang.Class.forName(name)

    def _array(self, kind: str, *values: Any) -> Any:
        array = self._sc._gateway.new_array(getattr(self._jvm, kind), len(values))
        for number, value in enumerate(values):
            array[number] = value
        return array
