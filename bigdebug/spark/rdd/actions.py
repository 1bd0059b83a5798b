"""Actions: each call of one of PySpark's is one run, if capture is on."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from pyspark import RDD

from bigdebug.spark.callers import called_by_user
from bigdebug.spark.rdd.recorded import PLAIN, Recorded

if TYPE_CHECKING:
    from bigdebug.spark.rdd.action import Action
    from bigdebug.spark.rdd.recorder import Recorder

ACTIONS = (
    "collect", "collectWithJobGroup", "collectAsMap", "count", "countApprox", "countApproxDistinct", "countByKey",
    "countByValue", "sum", "sumApprox", "mean", "meanApprox", "variance", "stdev", "sampleStdev", "sampleVariance",
    "stats", "histogram", "min", "max", "reduce", "treeReduce", "fold", "aggregate", "treeAggregate",
    "reduceByKeyLocally", "top", "takeOrdered", "take", "takeSample", "first", "isEmpty", "lookup", "foreach",
    "foreachPartition", "saveAsTextFile", "saveAsPickleFile", "saveAsSequenceFile", "saveAsHadoopFile",
    "saveAsHadoopDataset", "saveAsNewAPIHadoopFile", "saveAsNewAPIHadoopDataset",
)


class Actions(Recorded):
    """PySpark's actions. Those of ``ACTIONS`` differ from PySpark's in nothing but that a run is made of them."""

    @functools.wraps(RDD.toLocalIterator)
    def toLocalIterator(self: Any, prefetchPartitions: bool = False) -> Any:
        recorder = self._recorder

        def again() -> Iterator[Any]:
            return iter(list(self.toLocalIterator(prefetchPartitions)))  # it ends with the last of its records

        with recorder.interruptible():
            action = recorder.begin("toLocalIterator", self, again)
            if action is None:
                with recorder.beginning() as uncaptured:
                    records = PLAIN.toLocalIterator(self, prefetchPartitions)
                if uncaptured is None:
                    return records
                return _noticed(records, functools.partial(recorder.failed, "toLocalIterator", self, uncaptured, again=again))
            status = "failed"
            try:
                with _called_by_user(recorder, "toLocalIterator"):
                    records = PLAIN.toLocalIterator(self, prefetchPartitions)
                status = "partial"
            except BaseException as problem:
                action.problem = problem
                raise
            finally:
                recorder.leave(action)
                if status == "failed":
                    recorder.finish(action, status)
        return _followed(records, recorder, action)


def _noticed(records: Iterator[Any], failed: Callable[..., None]) -> Iterator[Any]:
    """The records; it is told if one of them crashes."""
    try:
        yield from records
    except Exception as problem:
        failed(problem=problem)
        raise


def _followed(records: Iterator[Any], recorder: Recorder, action: Action) -> Iterator[Any]:
    """The records; the run is finished when they are exhausted, when nobody wants more of them, or when one crashes."""
    status = "partial"
    try:
        yield from records
        status = "succeeded"
    except GeneratorExit:
        raise
    except BaseException as problem:
        status, action.problem = "failed", problem
        raise
    finally:
        recorder.finish(action, status)


def _called_by_user(recorder: Recorder, name: str) -> AbstractContextManager[Any]:
    return nullcontext() if recorder.defining else called_by_user(recorder.sc, name)


def _action(name: str) -> Any:
    plain = getattr(RDD, name)

    @functools.wraps(plain)
    def action(self: Any, *args: Any, **kwargs: Any) -> Any:
        recorder = self._recorder
        with recorder.interruptible(), _called_by_user(recorder, name), recorder.acting(name, self, lambda: action(self, *args, **kwargs), (args, kwargs)):
            return plain(self, *args, **kwargs)

    return action


for _name in ACTIONS:
    setattr(Actions, _name, _action(_name))
