"""Groups in functions of the user: applyInPandas, applyInArrow and their cogrouped kin.

Such a function gives rows of any kind, so the query runs it inside a function of ours that puts the name of the group beside
them: two hashes of the key, 128 bits, which pandas and Arrow carry without a change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.core.rdd import _prepare_for_python_RDD
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructType, _parse_datatype_json_string
from pyspark.util import PythonEvalType

from bigdebug.agents.grouped import named_groups
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.comparing import comparable
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.fingerprints import fingerprint
from bigdebug.spark.sql.plans.reading import PlanOperator

GROUPED = {"FlatMapGroupsInPandas", "FlatMapGroupsInArrow"}
COGROUPED = {"FlatMapCoGroupsInPandas", "FlatMapCoGroupsInArrow"}

_NAMES = ("__bigdebug_group_0", "__bigdebug_group_1")


def exposed_groups(catalyst: Catalyst, operator: PlanOperator) -> tuple[Node, list[Expr]]:
    """The plan of such an operator with the columns that name the group of each row."""
    node = operator.node
    cogrouped = operator.name in COGROUPED
    names = [hashes(catalyst, operator, side) for side in range(len(operator.inputs))]
    inputs = [catalyst.extended(child.plan(catalyst), keys) for child, keys in zip(operator.inputs, names)]
    udf = node.functionExpr()
    # Spark prunes the columns that a function does not take.
    taken = udf.children().concat(catalyst.seq([key.toAttribute() for keys in names for key in keys]))
    blank = catalyst.plan(catalyst.spark.range(0).select(*(F.lit(0).cast("bigint").alias(name) for name in _NAMES)))
    named = node.output().concat(blank.output())
    function = _function(catalyst, udf, cogrouped)
    function_at, inputs_at = (2, 4) if cogrouped else (1, 3)
    plan = catalyst.changed(node, {
        function_at: catalyst.changed(udf, {1: function, 3: taken}), function_at + 1: named,
        **{inputs_at + i: plan for i, plan in enumerate(inputs)},
    })
    return plan, catalyst.items(blank.output())


def hashes(catalyst: Catalyst, operator: PlanOperator, side: int = 0) -> list[Expr]:
    """The name of a group, in the columns of one of the operator's inputs."""
    keys = [comparable(catalyst, key) for key in _keys(catalyst, operator, side)]
    found = fingerprint(catalyst, operator.inputs[side].plan(catalyst), keys)
    return [catalyst.alias(each.child(), name) for each, name in zip(found, _NAMES)]


def _keys(catalyst: Catalyst, operator: PlanOperator, side: int) -> Sequence[Expr]:
    node = operator.node
    if operator.name in GROUPED:
        return catalyst.items(node.groupingAttributes())
    return catalyst.items(node.leftAttributes() if side == 0 else node.rightAttributes())


def _function(catalyst: Catalyst, udf: Any, cogrouped: bool) -> Any:
    """The function of ours around the one of a PythonUDF; what it needs on the workers is what that one needs."""
    given = udf.func()
    kind = udf.evalType()
    command = bytes(given.command().toArray(catalyst.jvm.scala.reflect.ClassTag.Byte()))
    arrow = kind in (PythonEvalType.SQL_GROUPED_MAP_ARROW_UDF, PythonEvalType.SQL_COGROUPED_MAP_ARROW_UDF, _iterating("ARROW"))
    wrapped = named_groups(command, _NAMES, arrow, 2 if cogrouped else 1, kind in (_iterating("PANDAS"), _iterating("ARROW")))
    returns = _parse_datatype_json_string(udf.dataType().json())
    assert isinstance(returns, StructType)
    returns = StructType([*returns.fields])
    for name in _NAMES:
        returns.add(name, LongType())
    sc = catalyst.spark.sparkContext
    pickled, broadcasts, _, _ = _prepare_for_python_RDD(sc, (wrapped, returns))
    variables = catalyst.jvm.java.util.ArrayList(given.broadcastVars())
    variables.addAll(broadcasts)
    return catalyst.jvm.SimplePythonFunction(
        bytearray(pickled), given.envVars(), given.pythonIncludes(), given.pythonExec(), given.pythonVer(), variables, given.accumulator(),
    )


def _iterating(what: str) -> int:
    """The kind of function that takes its group in pieces; not all versions of Spark have it."""
    return getattr(PythonEvalType, f"SQL_GROUPED_MAP_{what}_ITER_UDF", -1)
