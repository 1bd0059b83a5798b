"""Lines: RDDs of ours over the lines of text files, which their tasks read with an agent."""

from __future__ import annotations

from typing import Any, TypeVar

from pyspark import serializers
from pyspark.core.rdd import PipelinedRDD

from bigdebug.agents.lines import Lines

T = TypeVar("T", bound=PipelinedRDD[Any, Any])


def reading_lines(piped: T) -> T:
    """The same RDD, whose tasks, if they read texts, read them with ``agents.lines``."""
    read: Any = piped._prev_jrdd_deserializer
    if type(read) is serializers.UTF8Deserializer:
        piped._prev_jrdd_deserializer = Lines(read)  # type: ignore[assignment]
    return piped
