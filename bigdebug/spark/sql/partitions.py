"""Functions over partitions (mapInPandas, mapInArrow): nobody knows which of its partition's rows made a row of theirs.

So all of them did, as far as can be told. Holding the function's input (``kept.py``) settles which rows share a partition, for all
jobs of a question. That they shared it in the run follows where nothing but the plan and the sources divides the rows, and as many
partitions come of it; else the question is refused, or the input is held when the query runs.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from bigdebug.errors import NondeterminismError
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.reading import PlanOperator

PARTITIONED = {"MapInPandas", "MapInArrow"}

_WITHIN = {"Project", "Filter", "Generate", "Expand", "Union", "ResolvedHint", *PARTITIONED}
"""Operators that leave each row in its partition, or in that partition's place."""


def with_partition(catalyst: Catalyst, plan: Node) -> tuple[Node, list[Expr]]:
    """The rows of a plan with the number of the partition that each is in, and that column."""
    numbered = catalyst.plan(catalyst.frame(plan).select("*", F.spark_partition_id().alias("__bigdebug_partition")))
    return numbered, [numbered.output().last()]


def check_settled(function: PlanOperator, operator: PlanOperator) -> None:
    """Raise NondeterminismError unless the plan and the sources alone say which rows share a partition."""
    if not _settled(operator):
        raise NondeterminismError(
            f"{function} takes whole partitions of {operator}, and Spark may divide its rows otherwise at each execution",
            remedy="Capture the action with strategy='inject', or put repartition(n, column) or localCheckpoint() before the function.",
        )


def check_partitions(users: Catalyst, function: PlanOperator, operator: PlanOperator, rows: DataFrame) -> None:
    """Raise NondeterminismError if rows are in other partitions than the plan and the sources give them in the user's session."""
    if not _settled(operator) or _dealt(operator):
        return
    frame = users.frame(operator.plan(users))
    theirs, ours = (each._jdf.queryExecution().toRdd().getNumPartitions() for each in (frame, rows))
    if ours != theirs or users.scanned(frame) != users.scanned(rows):
        raise NondeterminismError(
            f"{function} takes whole partitions of {operator}, {theirs} in the query, and {ours} of other rows where they are numbered",
            remedy="Put repartition(n, column) or localCheckpoint() before the function.",
        )


def _dealt(operator: PlanOperator) -> bool:
    """Whether a shuffle with a number of partitions of its own divides the rows."""
    while operator.name in _WITHIN and len(operator.inputs) == 1 and operator.kept is None:
        operator = operator.inputs[0]
    return operator.name == "RepartitionByExpression" or (operator.name == "Repartition" and operator.node.numPartitions() == 1)


def _settled(operator: PlanOperator) -> bool:
    """Not so behind joins, groups and ``repartition`` without a number, which adaptive execution divides as sizes and times turn out;
    nor where rows are dealt out in turn, or by a range that a sample gave: names that ride along change the turns and the sample.
    """
    if operator.kept is not None:
        return True
    node = operator.node
    if operator.name == "Repartition":
        return node.numPartitions() == 1 or (not node.shuffle() and _settled(operator.inputs[0]))
    if operator.name == "RepartitionByExpression":
        number = node.optNumPartitions()
        hashed = not node.partitionExpressions().isEmpty() and node.partitioning().getClass().getSimpleName() == "HashPartitioning"
        return bool(number.isDefined() and (hashed or number.get() == 1))
    return not operator.inputs or (operator.name in _WITHIN and all(_settled(child) for child in operator.inputs))
