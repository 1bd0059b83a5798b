"""Table functions of the user (UDTFs): traced where each row of theirs is made of one row that they are called on."""

from __future__ import annotations

import pickle
from typing import Any

from bigdebug.errors import UntraceableError
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr
from bigdebug.spark.sql.plans.reading import PlanOperator

_REMEDY = "Write it as df.groupBy(...).applyInPandas(...): its rows are traced to their group."


def check_rowwise(catalyst: Catalyst, operator: PlanOperator) -> None:
    """Raise UntraceableError if the operator calls a table function that sees more than a row at a time."""
    function: Any = operator.node.generator() if operator.name == "Generate" else None
    if not catalyst.is_a(function, "org.apache.spark.sql.catalyst.expressions.PythonUDTF"):
        return
    if any(_is_table(catalyst, operator, argument) for argument in catalyst.items(function.children())):
        raise UntraceableError(f"{operator} calls {function.name()} on a table, and it tells of none of its rows what they made", remedy=_REMEDY)
    if gives_at_end(catalyst, function):
        raise UntraceableError(
            f"{operator} calls {function.name()}, which gives rows when its input has ended (terminate), and they may be made of all of it",
            remedy=_REMEDY,
        )


def gives_at_end(catalyst: Catalyst, function: Any) -> bool:
    """Whether a table function may give rows when its input has ended."""
    return callable(getattr(_handler(catalyst, function), "terminate", None))


def _is_table(catalyst: Catalyst, operator: PlanOperator, argument: Expr) -> bool:
    """Spark hands a row of TABLE(...) over as a struct, the only column of a projection."""
    below = operator.inputs[0].node
    columns = catalyst.items(below.projectList()) if operator.inputs[0].name == "Project" else []
    return len(columns) == 1 and columns[0].toAttribute().semanticEquals(argument) and columns[0].dataType().typeName() == "struct"


def _handler(catalyst: Catalyst, function: Any) -> Any:
    """The user's class."""
    found = pickle.loads(bytes(function.func().command().toArray(catalyst.jvm.scala.reflect.ClassTag.Byte())))
    return getattr(found, "value", found)  # PySpark broadcasts what is large
