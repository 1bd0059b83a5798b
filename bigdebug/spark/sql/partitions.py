"""Functions over partitions (mapInPandas, mapInArrow): nobody knows which of its partition's rows made a row of theirs.

So all of them did, as far as can be told. Holding the function's input (``kept.py``) settles which rows share a partition, for all
jobs of a question; in the run it was the same unless the number of partitions differs, and then the question is refused.
"""

from __future__ import annotations

from pyspark.sql import functions as F

from bigdebug.spark.sql.catalyst import Catalyst, Expr, Node

PARTITIONED = {"MapInPandas", "MapInArrow"}


def with_partition(catalyst: Catalyst, plan: Node) -> tuple[Node, list[Expr]]:
    """The rows of a plan with the number of the partition that each is in, and that column."""
    numbered = catalyst.plan(catalyst.frame(plan).select("*", F.spark_partition_id().alias("__bigdebug_partition")))
    return numbered, [numbered.output().last()]
