"""Nearest rows: whether an as-of join finds the same ones at each execution."""

from __future__ import annotations

from pyspark.sql import Window
from pyspark.sql import functions as F

from bigdebug.errors import NondeterminismError
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.naming import Naming
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.reading import PlanOperator

_ROW, _FAR, _TIES = (f"__bigdebug_{name}" for name in ("row", "far", "ties"))


def check_nearest(catalyst: Catalyst, naming: Naming, operator: PlanOperator) -> None:
    """Raise NondeterminismError if several rows are equally near to one: Spark takes any. One job, about that of the join."""
    c, node = catalyst, operator.node
    left = naming.extend(operator.inputs[0], witnesses=False)
    near = [node.asOfCondition(), *([node.condition().get()] if node.condition().isDefined() else [])]
    pairs = c.inner(left.plan, operator.inputs[1].plan(c), near)
    columns = [c.alias(c.struct([name.column for name in left.names]), _ROW), c.alias(node.orderExpression(), _FAR)]
    nearest = F.rank().over(Window.partitionBy(_ROW).orderBy(_FAR))
    ties = c.frame(c.project(columns, pairs)).select(_ROW, nearest.alias(_TIES)).where(F.col(_TIES) == 1).groupBy(_ROW).count()
    if unheard(ties.where("count > 1"), "take", 1):
        raise NondeterminismError(
            f"{operator} finds several rows equally near to one, and Spark takes any of them: {node.simpleString(5)}",
            remedy="Leave one row of those on its right that are equal in what they are matched by.",
        )
