"""Operators inside a stage, and those that rearrange whole partitions: PySpark's methods, recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import CodeType
from typing import Any

from bigdebug.agents.segments import Filter, FlatMap, Map, Partitionwise, counted
from bigdebug.graph import Form, Kind
from bigdebug.spark.rdd.definition import Rearranged, Repartition
from bigdebug.spark.rdd.recorded import PLAIN, Again, Recorded


class NarrowOperators(Recorded):
    """map, filter, flatMap and their kin; union, zip, cartesian, coalesce."""

    def map(self, f: Any, preservesPartitioning: bool = False) -> Any:
        return self._narrow(
            "map", lambda: PLAIN.map(self, f, preservesPartitioning), Kind.DISPATCHER, Form.ONE_TO_ONE, Map(f),
            lambda p: p[0].map(f, preservesPartitioning),
        )

    def flatMap(self, f: Any, preservesPartitioning: bool = False) -> Any:
        return self._narrow(
            "flatMap", lambda: PLAIN.flatMap(self, f, preservesPartitioning), Kind.DISPATCHER, Form.OFFSETS, FlatMap(f),
            lambda p: p[0].flatMap(f, preservesPartitioning),
        )

    def filter(self, f: Any) -> Any:
        return self._narrow(
            "filter", lambda: PLAIN.filter(self, f), Kind.FILTER, Form.OFFSETS, Filter(f), lambda p: p[0].filter(f)
        )

    def mapPartitions(self, f: Any, preservesPartitioning: bool = False) -> Any:
        def partitionwise(split: int, records: Iterable[Any]) -> Any:
            return f(records)

        return self._partitionwise(
            "mapPartitions", lambda: PLAIN.mapPartitions(self, f, preservesPartitioning), counted if _counts(f) else partitionwise,
            lambda p: p[0].mapPartitions(f, preservesPartitioning),
        )

    def mapPartitionsWithIndex(self, f: Any, preservesPartitioning: bool = False) -> Any:
        return self._partitionwise(
            "mapPartitionsWithIndex", lambda: PLAIN.mapPartitionsWithIndex(self, f, preservesPartitioning), f,
            lambda p: p[0].mapPartitionsWithIndex(f, preservesPartitioning),
        )

    def _partitionwise(self, name: str, build: Callable[[], Any], function: Any, again: Again) -> Any:
        form = self._recorder.composing or (Form.WHOLE if self._recorder.action else Form.PAIRED)
        kind = Kind.FILTER if form.record_wise else Kind.AGGREGATOR if form is Form.WHOLE else Kind.BLACK_BOX
        return self._narrow(name, build, kind, form, Partitionwise(function), again)

    # PySpark writes these as functions over an iterator; what they do with it is known.
    def sample(self, withReplacement: bool, fraction: float, seed: Any = None) -> Any:
        with self._recorder.composing_as(Form.OFFSETS):
            return PLAIN.sample(self, withReplacement, fraction, seed)

    def randomSplit(self, weights: Any, seed: Any = None) -> Any:
        with self._recorder.composing_as(Form.OFFSETS):
            return PLAIN.randomSplit(self, weights, seed)

    def sampleByKey(self, withReplacement: bool, fractions: Any, seed: Any = None) -> Any:
        with self._recorder.composing_as(Form.OFFSETS):
            return PLAIN.sampleByKey(self, withReplacement, fractions, seed)

    def glom(self) -> Any:
        with self._recorder.composing_as(Form.WHOLE):
            return PLAIN.glom(self)

    def pipe(self, command: str, env: Any = None, checkCode: bool = False) -> Any:
        with self._recorder.composing_as(Form.WHOLE):
            return PLAIN.pipe(self, command, env, checkCode)

    def zipWithUniqueId(self) -> Any:
        with self._recorder.composing_as(Form.ONE_TO_ONE):
            return PLAIN.zipWithUniqueId(self)

    def zipWithIndex(self) -> Any:
        """As PySpark's; the job that counts partitions runs without agents."""
        recorder = self._recorder
        if recorder.defining:
            return PLAIN.zipWithIndex(self)
        with recorder.reading("zipWithIndex", self), recorder.plain():
            counted = PLAIN.zipWithIndex(self)
        return self._narrow(
            "zipWithIndex", lambda: counted, Kind.DISPATCHER, Form.ONE_TO_ONE, Partitionwise(_last_function(counted)),
            lambda p: p[0].zipWithIndex(),
        )

    # ---- operators over whole partitions ----------------------------------------------------------------------

    def union(self, other: Any) -> Any:
        return self._union(lambda: PLAIN.union(self, other), [other], lambda p: p[0].union(p[1]))

    def _union(self, build: Callable[[], Any], others: Sequence[Any], again: Again) -> Any:
        recorder = self._recorder
        if recorder.defining:
            return build()
        with recorder.plain():
            made = build()
            parents: list[Recorded] = [self, *(recorder.captured(other) for other in others)]
            total = sum(p.getNumPartitions() for p in parents)
            aligned = made.getNumPartitions() != total
            form = Form.ALIGNED_UNION if aligned else Form.UNION
            operator = recorder.operator("union", Kind.DISPATCHER, form, parents)
            return recorder.adopt(made, operator, parents, Rearranged(), again)

    def cartesian(self, other: Any) -> Any:
        return self._define(
            "cartesian", lambda: PLAIN.cartesian(self, other), Kind.JOIN, Form.CARTESIAN,
            lambda p: p[0].cartesian(p[1]), lambda made: Rearranged(), [other],
        )

    def zip(self, other: Any) -> Any:
        def lowering(made: Any) -> Rearranged:
            # Frames of both sides must hold equal numbers of records: as many as PySpark has put into a batch.
            return Rearranged(frame=getattr(made._jrdd_deserializer.key_ser, "batchSize", 1))

        return self._define(
            "zip", lambda: PLAIN.zip(self, other), Kind.JOIN, Form.ZIP,
            lambda p: p[0].zip(p[1]), lowering, [other],
        )

    def coalesce(self, numPartitions: int, shuffle: bool = False) -> Any:
        def again(p: Sequence[Any]) -> Any:
            return p[0].coalesce(numPartitions, shuffle)

        if shuffle:
            frame = min(10, self.ctx._batchSize or 1024)
            return self._define(
                "coalesce", lambda: PLAIN.coalesce(self, numPartitions, shuffle), Kind.DISPATCHER, Form.SHUFFLE, again,
                lambda made: Repartition(numPartitions, frame),
            )
        return self._define(
            "coalesce", lambda: PLAIN.coalesce(self, numPartitions), Kind.DISPATCHER, Form.COALESCE, again,
            lambda made: Rearranged(),
        )


def _last_function(rdd: Any) -> Any:
    """The function that PySpark's last mapPartitionsWithIndex was given; a pipeline closes over it as ``func``."""
    function = rdd.func
    names = function.__code__.co_freevars
    if function.__name__ == "pipeline_func" and "func" in names:
        return function.__closure__[names.index("func")].cell_contents
    return function


def _counts(function: Any) -> bool:
    """Whether this is PySpark's own function that ``count`` calls on partitions."""
    code = getattr(function, "__code__", None)
    return isinstance(code, CodeType) and code in PLAIN.count.__code__.co_consts
