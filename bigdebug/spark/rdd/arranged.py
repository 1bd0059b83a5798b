"""Arranged: what Spark's JVM makes of RDDs of frames, by shuffles and by putting partitions together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark import RDD, SparkContext
from pyspark import serializers as _serializers
from pyspark.core.rdd import PipelinedRDD

from bigdebug.agents.stage import StageFunction
from bigdebug.errors import ReplayError
from bigdebug.spark.gateway import classes, pruned
from bigdebug.spark.lines import reading_lines

serializers: Any = _serializers
"""PySpark's, which carry no types."""

Arrange = Callable[[list[RDD[Any]]], RDD[Any]]


class Piped(PipelinedRDD[Any, Any]):
    """Tells ``made`` the id that it has for Spark, as soon as it has one."""

    made: Callable[[int], None] = staticmethod(lambda rdd_id: None)

    @property
    def _jrdd(self) -> Any:
        fresh = self._jrdd_val is None
        jrdd: Any = PipelinedRDD._jrdd.fget(self)  # type: ignore[attr-defined]
        if fresh:
            self.made(jrdd.id())
        return jrdd


def piped(base: RDD[Any], function: StageFunction, keeps: bool, told: Callable[[int], None] | None = None) -> RDD[Any]:
    """The frames that a stage makes of ``base``; ``keeps`` says that records stay in their partitions."""
    made = reading_lines(Piped(base, function, preservesPartitioning=keeps))
    if told is not None:
        made.made = told
    made._bypass_serializer = True  # they leave as they are
    return made


def readable(rdds: list[RDD[Any]]) -> RDD[Any]:
    """Frames are pickled batches, with a tag behind or without: PySpark reads them as what they are."""
    return RDD(rdds[0]._jrdd, rdds[0].ctx, serializers.AutoBatchedSerializer(serializers.CPickleSerializer()))


def shuffled(targets: int, partition: Callable[[Any], int]) -> Arrange:
    """Each frame goes where the frame before it says. Two shuffles by one function are one partitioner to Spark."""

    def arrange(rdds: list[RDD[Any]]) -> RDD[Any]:
        jvm = rdds[0].ctx._jvm
        assert jvm is not None
        pairs = jvm.PairwiseRDD(_joined(rdds).rdd()).asJavaPairRDD()
        moved = pairs.partitionBy(jvm.PythonPartitioner(targets, id(partition)))
        return _frames(jvm.PythonRDD.valueOfPair(moved), rdds)

    return arrange


def aligned(targets: int) -> Arrange:
    """The first partitions of all together, the second ones, and so on."""

    def arrange(rdds: list[RDD[Any]]) -> RDD[Any]:
        made = _frames(_joined(rdds), rdds)
        assert made.getNumPartitions() == targets, "Spark aligns what has one partitioner"
        return made

    return arrange


def dealt(targets: int) -> Arrange:
    return lambda rdds: _frames(rdds[0]._jrdd.coalesce(targets, True), rdds)


class Coalesced:
    """Puts partitions together, each time in the same groups.

    Spark chooses them by where it would run them: once a shuffle has run it knows more places, and would put other ones together than it did before.
    """

    def __init__(self, targets: int) -> None:
        self._targets = targets
        self._first: Any = None

    def __call__(self, rdds: list[RDD[Any]]) -> RDD[Any]:
        rdd = rdds[0]
        made = rdd._jrdd.coalesce(self._targets)
        if self._first is None:
            self._first = made
        elif (groups := _groups(self._first)) != _groups(made):
            made = self._grouped(rdd, groups)
        return RDD(made, rdd.ctx, rdd._jrdd_deserializer)

    def _grouped(self, rdd: RDD[Any], groups: list[list[int]]) -> Any:
        """The groups by themselves, one behind the other."""
        pieces = [_chosen(rdd, group).coalesce(1) for group in groups]
        if any(_groups(piece) != [list(range(len(group)))] for piece, group in zip(pieces, groups)):
            raise ReplayError("Spark put partitions together in another order than it did in the run", remedy="Capture the run anew, and ask at once.")
        return SparkContext.union(rdd.ctx, [RDD(piece, rdd.ctx, rdd._jrdd_deserializer) for piece in pieces])._jrdd


def _groups(jrdd: Any) -> list[list[int]]:
    return [list(partition.parentsIndices()) for partition in jrdd.rdd().partitions()]


def _chosen(rdd: RDD[Any], partitions: list[int]) -> Any:
    """Some partitions, in this order."""
    if partitions != sorted(partitions):
        return SparkContext.union(rdd.ctx, [RDD(_chosen(rdd, [each]), rdd.ctx, rdd._jrdd_deserializer) for each in partitions])._jrdd
    jvm = classes(rdd.ctx._jvm)
    return jvm.org.apache.spark.api.java.JavaRDD(pruned(jvm, rdd._jrdd.rdd(), partitions), rdd._jrdd.classTag())


def united(rdds: list[RDD[Any]]) -> RDD[Any]:
    """As PySpark does it, who aligns two RDDs that are partitioned alike."""
    return RDD.union(*rdds) if len(rdds) == 2 else SparkContext.union(rdds[0].ctx, rdds)


def zipped(batch: int) -> Arrange:
    """Pairs of records, from frames of ``batch`` records on both sides."""
    batched = serializers.BatchedSerializer(serializers.CPickleSerializer(), batch)
    pairs = serializers.PairDeserializer(batched, batched)
    return lambda rdds: RDD(rdds[0]._jrdd.zip(rdds[1]._jrdd), rdds[0].ctx, pairs)


def crossed(rdds: list[RDD[Any]]) -> RDD[Any]:
    """Each frame of the one with each of the other."""
    pairs = serializers.CartesianDeserializer(serializers.NoOpSerializer(), serializers.NoOpSerializer())
    return RDD(rdds[0]._jrdd.cartesian(rdds[1]._jrdd), rdds[0].ctx, pairs)


def batch_of(serializer: Any, otherwise: int | None = None) -> int | None:
    """How many records PySpark puts into a batch, -1 for all; None if it goes by their size, ``otherwise`` if it makes none."""
    if isinstance(serializer, serializers.AutoBatchedSerializer):
        return None
    size: int = getattr(serializer, "batchSize", 0)
    return size or otherwise


def _frames(jrdd: Any, rdds: list[RDD[Any]]) -> RDD[Any]:
    return RDD(jrdd, rdds[0].ctx, serializers.NoOpSerializer())


def _joined(rdds: list[RDD[Any]]) -> Any:
    joined = rdds[0]._jrdd
    for other in rdds[1:]:
        joined = joined.union(other._jrdd)
    return joined
