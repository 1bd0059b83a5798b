"""Starting: a Spark session where nobody has made one."""

from __future__ import annotations

from typing import Any


def started() -> Any:
    """The Spark session that runs; else a new one, as the environment and ``spark-defaults`` say, in this process with all its cores if they name no master."""
    from pyspark.sql import SparkSession  # a kernel that never meets Spark need not load it

    return SparkSession.builder.getOrCreate()
