"""Captured RDDs: PySpark's own RDDs that also remember their operator, so that an action can be run with agents.

Each method calls PySpark's method of the same name and then adopts what it returned. Without
capture nothing else ever runs. Methods that are not here are PySpark's: they are made of those that are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from pyspark import RDD
from pyspark.core.rdd import Partitioner, PipelinedRDD, portable_hash
from pyspark.resultiterable import ResultIterable
from pyspark.shuffle import ExternalSorter

from bigdebug.agents import merge
from bigdebug.agents.segments import Filter, FlatMap, Map, Partitionwise, Step
from bigdebug.graph import Form, Kind
from bigdebug.spark.rdd.compiler import Compiled
from bigdebug.spark.rdd.definition import Definition, Exchange, Lowering, Narrow, Rearranged, Repartition

if TYPE_CHECKING:
    from bigdebug.spark.rdd.lineage_rdd import LineageRDD
    from bigdebug.spark.rdd.recorder import Recorder

Again = Callable[[Sequence[Any]], Any]


class Captured:
    """What a captured RDD can do beyond an RDD. ``into_captured`` gives an RDD one of the two classes below."""

    _definition: Definition
    _compiled: Compiled

    # ---- what Spark sees --------------------------------------------------------------------------------------

    @property
    def _recorder(self) -> Recorder:
        return self.ctx._bigdebug  # type: ignore[attr-defined, no-any-return]

    @property
    def _jrdd(self) -> Any:
        """The Java RDD: PySpark's own, or during a captured action the one with agents."""
        action = self._recorder.action
        if action is None:
            return self._plain_jrdd()
        return self._recorder.compiled_for(action, self)

    @_jrdd.setter
    def _jrdd(self, jrdd: Any) -> None:
        self.__dict__["_jrdd"] = jrdd

    @property
    def _jrdd_deserializer(self) -> Any:
        """How to read what ``_jrdd`` gives."""
        action = self._recorder.action
        if action is None or self in action.uncompiled:
            return self.__dict__["_jrdd_deserializer"]
        return self._recorder.compiler.action_deserializer(self)

    @_jrdd_deserializer.setter
    def _jrdd_deserializer(self, deserializer: Any) -> None:
        self.__dict__["_jrdd_deserializer"] = deserializer

    def _plain_jrdd(self) -> Any:
        raise NotImplementedError

    def getLineage(self) -> LineageRDD:
        """The trace over all records of this RDD in the latest run that computed it (Titian 3).

        Raises NotCapturedError if no run did. Costs nothing until the trace is asked something.
        """
        from bigdebug.spark.rdd.lineage_rdd import lineage_of

        return lineage_of(self)

    # ---- recording --------------------------------------------------------------------------------------------

    def _define(
        self, name: str, build: Callable[[], Any], kind: Kind, form: Form, again: Again,
        lowering: Callable[[RDD[Any]], Lowering], others: Sequence[Any] = (),
        detail: dict[str, Any] | None = None,
    ) -> Any:
        recorder = self._recorder
        if recorder.defining:
            return build()
        with recorder.plain():
            made = build()
            if isinstance(made, Captured):
                return made
            parents = [self, *(recorder.captured(other) for other in others)]
            operator = recorder.operator(name, kind, form, parents, detail=detail)
            return recorder.adopt(made, operator, parents, lowering(made), again)

    def _narrow(self, name: str, build: Callable[[], Any], kind: Kind, form: Form, step: Step, again: Again) -> Any:
        return self._define(name, build, kind, form, again, lambda made: Narrow(step))

    # ---- narrow operators -------------------------------------------------------------------------------------

    def map(self, f: Any, preservesPartitioning: bool = False) -> Any:
        return self._narrow(
            "map", lambda: RDD.map(self, f, preservesPartitioning), Kind.DISPATCHER, Form.ONE_TO_ONE, Map(f),
            lambda p: p[0].map(f, preservesPartitioning),
        )

    def flatMap(self, f: Any, preservesPartitioning: bool = False) -> Any:
        return self._narrow(
            "flatMap", lambda: RDD.flatMap(self, f, preservesPartitioning), Kind.DISPATCHER, Form.OFFSETS, FlatMap(f),
            lambda p: p[0].flatMap(f, preservesPartitioning),
        )

    def filter(self, f: Any) -> Any:
        return self._narrow(
            "filter", lambda: RDD.filter(self, f), Kind.FILTER, Form.OFFSETS, Filter(f), lambda p: p[0].filter(f)
        )

    def mapPartitions(self, f: Any, preservesPartitioning: bool = False) -> Any:
        def partitionwise(split: int, records: Iterable[Any]) -> Any:
            return f(records)

        return self._partitionwise(
            "mapPartitions", lambda: RDD.mapPartitions(self, f, preservesPartitioning), partitionwise,
            lambda p: p[0].mapPartitions(f, preservesPartitioning),
        )

    def mapPartitionsWithIndex(self, f: Any, preservesPartitioning: bool = False) -> Any:
        return self._partitionwise(
            "mapPartitionsWithIndex", lambda: RDD.mapPartitionsWithIndex(self, f, preservesPartitioning), f,
            lambda p: p[0].mapPartitionsWithIndex(f, preservesPartitioning),
        )

    def _partitionwise(self, name: str, build: Callable[[], Any], function: Any, again: Again) -> Any:
        form = self._recorder.composing or (Form.WHOLE if self._recorder.action else Form.PAIRED)
        kind = Kind.FILTER if form.record_wise else Kind.AGGREGATOR if form is Form.WHOLE else Kind.BLACK_BOX
        return self._narrow(name, build, kind, form, Partitionwise(function), again)

    # PySpark writes these as functions over an iterator; what they do with it is known.
    def sample(self, withReplacement: bool, fraction: float, seed: Any = None) -> Any:
        with self._recorder.composing_as(Form.OFFSETS):
            return RDD.sample(self, withReplacement, fraction, seed)

    def randomSplit(self, weights: Any, seed: Any = None) -> Any:
        with self._recorder.composing_as(Form.OFFSETS):
            return RDD.randomSplit(self, weights, seed)

    def sampleByKey(self, withReplacement: bool, fractions: Any, seed: Any = None) -> Any:
        with self._recorder.composing_as(Form.OFFSETS):
            return RDD.sampleByKey(self, withReplacement, fractions, seed)

    def glom(self) -> Any:
        with self._recorder.composing_as(Form.WHOLE):
            return RDD.glom(self)

    def pipe(self, command: str, env: Any = None, checkCode: bool = False) -> Any:
        with self._recorder.composing_as(Form.WHOLE):
            return RDD.pipe(self, command, env, checkCode)

    def zipWithUniqueId(self) -> Any:
        with self._recorder.composing_as(Form.ONE_TO_ONE):
            return RDD.zipWithUniqueId(self)

    def zipWithIndex(self) -> Any:
        """As PySpark's; the job that counts partitions runs without agents."""
        recorder = self._recorder
        if recorder.defining:
            return RDD.zipWithIndex(self)
        with recorder.plain():
            counted = RDD.zipWithIndex(self)
        return self._narrow(
            "zipWithIndex", lambda: counted, Kind.DISPATCHER, Form.ONE_TO_ONE, Partitionwise(_last_function(counted)),
            lambda p: p[0].zipWithIndex(),
        )

    # ---- operators over whole partitions ----------------------------------------------------------------------

    def union(self, other: Any) -> Any:
        return self._union(lambda: RDD.union(self, other), [other], lambda p: p[0].union(p[1]))

    def _union(self, build: Callable[[], Any], others: Sequence[Any], again: Again) -> Any:
        recorder = self._recorder
        if recorder.defining:
            return build()
        with recorder.plain():
            made = build()
            parents = [self, *(recorder.captured(other) for other in others)]
            total = sum(p.getNumPartitions() for p in parents)  # type: ignore[attr-defined]
            aligned = made.getNumPartitions() != total
            form = Form.ALIGNED_UNION if aligned else Form.UNION
            operator = recorder.operator("union", Kind.DISPATCHER, form, parents)
            return recorder.adopt(made, operator, parents, Rearranged(), again)

    def cartesian(self, other: Any) -> Any:
        return self._define(
            "cartesian", lambda: RDD.cartesian(self, other), Kind.JOIN, Form.CARTESIAN,
            lambda p: p[0].cartesian(p[1]), lambda made: Rearranged(), [other],
        )

    def zip(self, other: Any) -> Any:
        # Frames of both sides must hold equal numbers of records, as PySpark arranges with batches of 100.
        return self._define(
            "zip", lambda: RDD.zip(self, other), Kind.JOIN, Form.ZIP,
            lambda p: p[0].zip(p[1]), lambda made: Rearranged(frame=100), [other],
        )

    def coalesce(self, numPartitions: int, shuffle: bool = False) -> Any:
        def again(p: Sequence[Any]) -> Any:
            return p[0].coalesce(numPartitions, shuffle)

        if shuffle:
            frame = min(10, self.ctx._batchSize or 1024)  # type: ignore[attr-defined]
            return self._define(
                "coalesce", lambda: RDD.coalesce(self, numPartitions, shuffle), Kind.DISPATCHER, Form.SHUFFLE, again,
                lambda made: Repartition(numPartitions, frame),
            )
        return self._define(
            "coalesce", lambda: RDD.coalesce(self, numPartitions), Kind.DISPATCHER, Form.COALESCE, again,
            lambda made: Rearranged(),
        )

    # ---- wide operators ---------------------------------------------------------------------------------------

    def _exchange(
        self, name: str, build: Callable[[], Any], kind: Kind, form: Form, again: Again, merge: Any = None,
        create: Any = None, combine: Any = None, others: Sequence[Any] = (), detail: dict[str, Any] | None = None,
    ) -> Any:
        def lowering(made: RDD[Any]) -> Exchange:
            # A sort into one partition has no partitioner.
            partitioner = made.partitioner or Partitioner(made.getNumPartitions(), _to_first)
            return Exchange(partitioner.numPartitions, partitioner.partitionFunc, create, combine, merge)

        return self._define(name, build, kind, form, again, lowering, others, detail)

    def partitionBy(self, numPartitions: Any, partitionFunc: Any = portable_hash) -> Any:
        return self._exchange(
            "partitionBy", lambda: RDD.partitionBy(self, numPartitions, partitionFunc),
            Kind.KEY_PRESERVING, Form.SHUFFLE, lambda p: p[0].partitionBy(numPartitions, partitionFunc),
        )

    def combineByKey(
        self, createCombiner: Any, mergeValue: Any, mergeCombiners: Any, numPartitions: Any = None,
        partitionFunc: Any = portable_hash,
    ) -> Any:
        def arguments(rdd: Any) -> Any:
            return RDD.combineByKey(rdd, createCombiner, mergeValue, mergeCombiners, numPartitions, partitionFunc)

        return self._exchange(
            "combineByKey", lambda: arguments(self), Kind.AGGREGATOR, Form.CODES, lambda p: arguments(p[0]),
            lambda memory: merge.Combine(mergeCombiners, memory), createCombiner, mergeValue,
        )

    def groupByKey(self, numPartitions: Any = None, partitionFunc: Any = portable_hash) -> Any:
        return self._exchange(
            "groupByKey", lambda: RDD.groupByKey(self, numPartitions, partitionFunc), Kind.AGGREGATOR, Form.CODES,
            lambda p: p[0].groupByKey(numPartitions, partitionFunc),
            lambda memory: merge.Combine(_extended, memory, ResultIterable), _listed, _appended,
        )

    def cogroup(self, other: Any, numPartitions: Any = None) -> Any:
        return self._cogroup(lambda: RDD.cogroup(self, other, numPartitions), [other], "cogroup",
                             lambda p: p[0].cogroup(p[1], numPartitions))

    def groupWith(self, other: Any, *others: Any) -> Any:
        return self._cogroup(lambda: RDD.groupWith(self, other, *others), [other, *others], "groupWith",
                             lambda p: p[0].groupWith(*p[1:]))

    def _cogroup(self, build: Callable[[], Any], others: Sequence[Any], name: str, again: Again) -> Any:
        branches = 1 + len(others)
        return self._exchange(
            name, build, Kind.AGGREGATOR, Form.CODES, again,
            lambda memory: merge.Gather(branches, _cogrouped, memory), others=others,
        )

    def join(self, other: Any, numPartitions: Any = None) -> Any:
        return self._join("join", other, numPartitions, False, False)

    def leftOuterJoin(self, other: Any, numPartitions: Any = None) -> Any:
        return self._join("leftOuterJoin", other, numPartitions, True, False)

    def rightOuterJoin(self, other: Any, numPartitions: Any = None) -> Any:
        return self._join("rightOuterJoin", other, numPartitions, False, True)

    def fullOuterJoin(self, other: Any, numPartitions: Any = None) -> Any:
        return self._join("fullOuterJoin", other, numPartitions, True, True)

    def _join(self, name: str, other: Any, numPartitions: Any, outer_left: bool, outer_right: bool) -> Any:
        pairs = _Joined(outer_left, outer_right)
        return self._exchange(
            name, lambda: getattr(RDD, name)(self, other, numPartitions), Kind.JOIN, Form.JOIN,
            lambda p: getattr(p[0], name)(p[1], numPartitions), lambda memory: merge.Gather(2, pairs, memory),
            others=[other], detail={"outer_left": outer_left, "outer_right": outer_right},
        )

    def subtractByKey(self, other: Any, numPartitions: Any = None) -> Any:
        return self._exchange(
            "subtractByKey", lambda: RDD.subtractByKey(self, other, numPartitions), Kind.FILTER, Form.SUBTRACT,
            lambda p: p[0].subtractByKey(p[1], numPartitions), lambda memory: merge.Gather(2, _subtracted, memory),
            others=[other],
        )

    def sortByKey(
        self, ascending: Any = True, numPartitions: Any = None, keyfunc: Any = lambda x: x,
    ) -> Any:
        return self._exchange(
            "sortByKey", lambda: RDD.sortByKey(self, ascending, numPartitions, keyfunc), Kind.KEY_PRESERVING, Form.SORT,
            lambda p: p[0].sortByKey(ascending, numPartitions, keyfunc), self._sorting(ascending, keyfunc),
        )

    def repartitionAndSortWithinPartitions(
        self, numPartitions: Any = None, partitionFunc: Any = portable_hash, ascending: bool = True,
        keyfunc: Any = lambda x: x,
    ) -> Any:
        def arguments(rdd: Any) -> Any:
            return RDD.repartitionAndSortWithinPartitions(rdd, numPartitions, partitionFunc, ascending, keyfunc)

        return self._exchange(
            "repartitionAndSortWithinPartitions", lambda: arguments(self), Kind.KEY_PRESERVING, Form.SORT,
            lambda p: arguments(p[0]), self._sorting(ascending, keyfunc),
        )

    def _sorting(self, ascending: Any, keyfunc: Any) -> Callable[[int], merge.Sort]:
        limit = self._memory_limit()  # type: ignore[attr-defined]
        serializer = self.ctx.serializer  # type: ignore[attr-defined]
        return lambda memory: merge.Sort(_Sorted(limit, serializer, keyfunc, not ascending))

    # ---- storage ----------------------------------------------------------------------------------------------

    def persist(self, *args: Any, **kwargs: Any) -> Any:
        result = RDD.persist(self, *args, **kwargs)  # type: ignore[arg-type]
        self._also(lambda with_agents: with_agents._jrdd.persist(self._plain_jrdd().getStorageLevel()))
        return result

    def unpersist(self, blocking: bool = False) -> Any:
        self._also(lambda with_agents: with_agents._jrdd.unpersist(blocking))
        return RDD.unpersist(self, blocking)  # type: ignore[arg-type]

    def checkpoint(self) -> None:
        RDD.checkpoint(self)  # type: ignore[arg-type]
        self._also(lambda with_agents: with_agents._jrdd.rdd().checkpoint())

    def localCheckpoint(self) -> None:
        RDD.localCheckpoint(self)  # type: ignore[arg-type]
        self.is_checkpointed_locally = True
        self._also(lambda with_agents: with_agents._jrdd.rdd().localCheckpoint())

    def isCheckpointed(self) -> bool:
        return self._either(lambda jrdd: jrdd.rdd().isCheckpointed())

    def isLocallyCheckpointed(self) -> bool:
        return self._either(lambda jrdd: jrdd.rdd().isLocallyCheckpointed())

    def getCheckpointFile(self) -> Any:
        found = RDD.getCheckpointFile(self)  # type: ignore[arg-type]
        if found is None and (with_agents := self._compiled.records) is not None:
            found = RDD.getCheckpointFile(with_agents)
        return found

    def _apply_storage(self, with_agents: RDD[Any]) -> None:
        """Give what was compiled the storage that the user asked for this RDD."""
        if self.is_cached:  # type: ignore[attr-defined]
            with_agents._jrdd.persist(self._plain_jrdd().getStorageLevel())
        if getattr(self, "is_checkpointed_locally", False):
            with_agents._jrdd.rdd().localCheckpoint()
        elif self.is_checkpointed:  # type: ignore[attr-defined]
            with_agents._jrdd.rdd().checkpoint()

    def _also(self, apply: Callable[[RDD[Any]], Any]) -> None:
        if self._compiled.records is not None:
            with self._recorder.plain():
                apply(self._compiled.records)

    def _either(self, holds: Callable[[Any], bool]) -> bool:
        compiled = self._compiled.records
        return bool(holds(self._plain_jrdd()) or (compiled is not None and holds(compiled._jrdd)))


class CapturedRDD(Captured, RDD[Any]):
    """A captured RDD that PySpark reads from the JVM: a source, or what a shuffle or a union gave."""

    def _plain_jrdd(self) -> Any:
        return self.__dict__["_jrdd"]


class CapturedPipelinedRDD(Captured, PipelinedRDD[Any, Any]):
    """A captured RDD that PySpark computes in a Python worker."""

    def _plain_jrdd(self) -> Any:
        return PipelinedRDD._jrdd.fget(self)  # type: ignore[attr-defined]


def into_captured(rdd: RDD[Any], definition: Definition) -> Any:
    """A captured RDD with the state of ``rdd``, which PySpark just made and nobody else has seen."""
    captured: Any = object.__new__(CapturedPipelinedRDD if isinstance(rdd, PipelinedRDD) else CapturedRDD)
    captured.__dict__ = rdd.__dict__
    captured._definition = definition
    captured._compiled = Compiled()
    return captured


ACTIONS = (
    "collect", "collectWithJobGroup", "collectAsMap", "count", "countApprox", "countApproxDistinct", "countByKey",
    "countByValue", "sum", "sumApprox", "mean", "meanApprox", "variance", "stdev", "sampleStdev", "sampleVariance",
    "stats", "histogram", "min", "max", "reduce", "treeReduce", "fold", "aggregate", "treeAggregate",
    "reduceByKeyLocally", "top", "takeOrdered", "take", "takeSample", "first", "isEmpty", "lookup", "foreach",
    "foreachPartition", "saveAsTextFile", "saveAsPickleFile", "saveAsSequenceFile", "saveAsHadoopFile",
    "saveAsHadoopDataset", "saveAsNewAPIHadoopFile", "saveAsNewAPIHadoopDataset",
)


def _action(name: str) -> Any:
    plain = getattr(RDD, name)

    @functools.wraps(plain)
    def action(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self._recorder.acting(name, self):
            return plain(self, *args, **kwargs)

    return action


for _name in ACTIONS:
    setattr(Captured, _name, _action(_name))


@functools.wraps(RDD.toLocalIterator)
def _to_local_iterator(self: Any, prefetchPartitions: bool = False) -> Any:
    recorder = self._recorder
    acting = recorder.acting("toLocalIterator", self)
    acting.__enter__()
    try:
        records = RDD.toLocalIterator(self, prefetchPartitions)
    finally:
        acting.__exit__(None, None, None)
    return records


Captured.toLocalIterator = _to_local_iterator


# ---- what agents are given; defined here at top level so that it is pickled once, by reference or by value ---------


def _to_first(key: Any) -> int:
    return 0


def _listed(value: Any) -> list[Any]:
    return [value]


def _appended(values: list[Any], value: Any) -> list[Any]:
    values.append(value)
    return values


def _extended(left: list[Any], right: list[Any]) -> list[Any]:
    left.extend(right)
    return left


def _cogrouped(key: Any, lists: tuple[list[Any], ...]) -> Iterable[Any]:
    return ((key, tuple(ResultIterable(values) for values in lists)),)


def _subtracted(key: Any, lists: tuple[list[Any], ...]) -> Iterable[Any]:
    return () if lists[1] else ((key, value) for value in lists[0])


class _Joined:
    def __init__(self, outer_left: bool, outer_right: bool) -> None:
        self.outer_left, self.outer_right = outer_left, outer_right

    def __call__(self, key: Any, lists: tuple[list[Any], ...]) -> Iterable[Any]:
        lefts, rights = lists
        if not rights and self.outer_left:
            rights = [None]
        if not lefts and self.outer_right:
            lefts = [None]
        return ((key, (left, right)) for left in lefts for right in rights)


class _Sorted:
    """Sorts (position, record) pairs by the key of the record, on disk if memory is short, as PySpark does."""

    def __init__(self, limit: float, serializer: Any, keyfunc: Any, descending: bool) -> None:
        self.limit, self.serializer, self.keyfunc, self.descending = limit, serializer, keyfunc, descending

    def __call__(self, pairs: Iterable[tuple[int, Any]]) -> Iterable[tuple[int, Any]]:
        keyfunc = self.keyfunc
        sort = ExternalSorter(self.limit * 0.9, self.serializer).sorted
        found: Iterable[tuple[int, Any]] = sort(
            pairs, key=lambda pair: keyfunc(pair[1][0]), reverse=self.descending
        )
        return found


def _last_function(rdd: Any) -> Any:
    """The function that PySpark's last mapPartitionsWithIndex was given; a pipeline closes over it as ``func``."""
    function = rdd.func
    names = function.__code__.co_freevars
    if function.__name__ == "pipeline_func" and "func" in names:
        return function.__closure__[names.index("func")].cell_contents
    return function
