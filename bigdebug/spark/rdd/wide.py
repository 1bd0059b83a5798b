"""Operators that cross a shuffle: PySpark's methods, recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from pyspark import RDD
from pyspark.core.rdd import portable_hash
from pyspark.resultiterable import ResultIterable
from pyspark.shuffle import ExternalSorter

from bigdebug.agents import merge
from bigdebug.agents.emit import in_place
from bigdebug.agents.groups import Cogrouped, Joined, Sorted, appended, extended, listed, subtracted
from bigdebug.graph import Form, Kind
from bigdebug.spark.rdd.definition import ITSELF, Exchange
from bigdebug.spark.rdd.recorded import PLAIN, Again, Recorded


def _stays(made: RDD[Any], parents: Sequence[Any]) -> bool:
    """Whether PySpark made ``made`` without a shuffle: its parents were partitioned as it is to be."""
    if not made.partitioner or any(parent.partitioner != made.partitioner for parent in parents):
        return False
    if len(parents) == 1:
        return True
    joined: Any = made.__dict__["_prev_jrdd"].rdd()
    return bool(joined.getClass().getSimpleName() == "PartitionerAwareUnionRDD")


class WideOperators(Recorded):
    """Combining, grouping, joining, sorting and partitioning by key. The rest of PySpark's is made of these."""

    def _exchange(
        self, name: str, build: Callable[[], Any], kind: Kind, form: Form, again: Again, merge: Any = None,
        create: Any = None, combine: Any = None, others: Sequence[Any] = (), detail: dict[str, Any] | None = None,
    ) -> Any:
        def lowering(made: RDD[Any]) -> Exchange:
            stays = _stays(made, [self, *others])
            # Without a partitioner: sorted into one partition.
            partition = in_place if stays or not made.partitioner else made.partitioner.partitionFunc
            return Exchange(made.getNumPartitions(), partition, create, combine, merge, stays, pairs=bool(others))

        return self._define(name, build, kind, form, again, lowering, others, detail)

    def partitionBy(self, numPartitions: Any, partitionFunc: Any = portable_hash) -> Any:
        return self._exchange(
            "partitionBy", lambda: PLAIN.partitionBy(self, numPartitions, partitionFunc),
            Kind.KEY_PRESERVING, Form.SHUFFLE, lambda p: p[0].partitionBy(numPartitions, partitionFunc),
        )

    def combineByKey(
        self, createCombiner: Any, mergeValue: Any, mergeCombiners: Any, numPartitions: Any = None,
        partitionFunc: Any = portable_hash,
    ) -> Any:
        arguments = (createCombiner, mergeValue, mergeCombiners, numPartitions, partitionFunc)
        return self._exchange(
            "combineByKey", lambda: PLAIN.combineByKey(self, *arguments), Kind.AGGREGATOR, Form.CODES, lambda p: p[0].combineByKey(*arguments),
            lambda memory: merge.Combine(mergeCombiners, memory), createCombiner, mergeValue,
        )

    def groupByKey(self, numPartitions: Any = None, partitionFunc: Any = portable_hash) -> Any:
        return self._exchange(
            "groupByKey", lambda: PLAIN.groupByKey(self, numPartitions, partitionFunc), Kind.AGGREGATOR, Form.CODES,
            lambda p: p[0].groupByKey(numPartitions, partitionFunc),
            lambda memory: merge.Combine(extended, memory, ResultIterable), listed, appended,
        )

    def cogroup(self, other: Any, numPartitions: Any = None) -> Any:
        return self._cogroup(lambda: PLAIN.cogroup(self, other, numPartitions), [other], "cogroup",
                             lambda p: p[0].cogroup(p[1], numPartitions))

    def groupWith(self, other: Any, *others: Any) -> Any:
        return self._cogroup(lambda: PLAIN.groupWith(self, other, *others), [other, *others], "groupWith",
                             lambda p: p[0].groupWith(*p[1:]))

    def _cogroup(self, build: Callable[[], Any], others: Sequence[Any], name: str, again: Again) -> Any:
        branches = 1 + len(others)
        return self._exchange(
            name, build, Kind.AGGREGATOR, Form.CODES, again,
            lambda memory: merge.Gather(branches, Cogrouped(ResultIterable), memory), others=others,
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
        pairs = Joined(outer_left, outer_right)
        return self._exchange(
            name, lambda: getattr(PLAIN, name)(self, other, numPartitions), Kind.JOIN, Form.JOIN,
            lambda p: getattr(p[0], name)(p[1], numPartitions), lambda memory: merge.Gather(2, pairs, memory),
            others=[other], detail={"outer_left": outer_left, "outer_right": outer_right},
        )

    def subtractByKey(self, other: Any, numPartitions: Any = None) -> Any:
        return self._exchange(
            "subtractByKey", lambda: PLAIN.subtractByKey(self, other, numPartitions), Kind.FILTER, Form.SUBTRACT,
            lambda p: p[0].subtractByKey(p[1], numPartitions), lambda memory: merge.Gather(2, subtracted, memory),
            others=[other],
        )

    def sortByKey(
        self, ascending: Any = True, numPartitions: Any = None, keyfunc: Any = ITSELF,
    ) -> Any:
        with self._recorder.reading("sortByKey", self):
            return self._exchange(
                "sortByKey", lambda: PLAIN.sortByKey(self, ascending, numPartitions, keyfunc), Kind.KEY_PRESERVING, Form.SORT,
                lambda p: p[0].sortByKey(ascending, numPartitions, keyfunc), self._sorting(ascending, keyfunc),
            )

    def repartitionAndSortWithinPartitions(
        self, numPartitions: Any = None, partitionFunc: Any = portable_hash, ascending: bool = True,
        keyfunc: Any = ITSELF,
    ) -> Any:
        arguments = (numPartitions, partitionFunc, ascending, keyfunc)
        return self._exchange(
            "repartitionAndSortWithinPartitions", lambda: PLAIN.repartitionAndSortWithinPartitions(self, *arguments), Kind.KEY_PRESERVING, Form.SORT,
            lambda p: p[0].repartitionAndSortWithinPartitions(*arguments), self._sorting(ascending, keyfunc),
        )

    def _sorting(self, ascending: Any, keyfunc: Any) -> Callable[[int], merge.Sort]:
        sorter = partial(ExternalSorter, PLAIN._memory_limit(self) * 0.9, self.ctx.serializer)
        return lambda memory: merge.Sort(Sorted(sorter, keyfunc, not ascending))
