"""Asking: the jobs of questions, and what they need that may be gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError
from pyspark import RDD, SparkContext
from pyspark.core.rdd import PipelinedRDD
from pyspark.errors import PySparkException
from pyspark.serializers import CPickleSerializer

from bigdebug.agents.frames import Framed
from bigdebug.errors import IncompleteLineageError
from bigdebug.spark.bars import progress
from bigdebug.spark.lines import reading_lines

_DESTROYED = "after it was destroyed"
"""What Spark says of a broadcast variable."""


@contextmanager
def asking(sc: SparkContext, what: str, shown: bool = True) -> Iterator[None]:
    """Within: jobs of this thread are a question's, with a bar if they take long.

    Raises IncompleteLineageError where one needs a broadcast variable that is no more.
    """
    with progress(sc, what, shown):
        try:
            yield
        except (PySparkException, Py4JError) as problem:
            if _DESTROYED not in str(problem):
                raise
            raise IncompleteLineageError(
                "This question needs a broadcast variable of the program, and that has been destroyed",
                remedy="Destroy it after the questions, or run the job again under capture; rids are still answered.",
            ) from problem


def answers(sc: SparkContext, base: RDD[Any], function: Any, partitions: Iterable[int]) -> list[Any]:
    """What ``function`` gives on partitions of a plain RDD. It crosses as pickles, whichever serializer the context has."""
    pickles: Any = CPickleSerializer()
    made: RDD[Any] = reading_lines(PipelinedRDD(base, Framed(function, pickles.dumps)))
    return [answer for frame in SparkContext.runJob(sc, made, iter, sorted(partitions)) for answer in pickles.loads(frame)]
