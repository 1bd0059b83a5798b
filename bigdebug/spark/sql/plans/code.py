"""Code: the user's Python functions as a plan holds them, and how Spark calls each kind."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql.types import DataType, _parse_datatype_json_string
from pyspark.util import PythonEvalType

from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr

_FUNCTIONS = "org.apache.spark.sql.catalyst.expressions.PythonFuncExpression"

KINDS: dict[str, int] = {name: value for name, value in vars(PythonEvalType).items() if name.startswith("SQL_")}
"""How Spark calls functions; some kinds came after PySpark 4.0."""
ROWS = {PythonEvalType.SQL_BATCHED_UDF, PythonEvalType.SQL_ARROW_BATCHED_UDF}
"""How it calls functions of a row."""
_OF_BATCHES = {value for name, value in KINDS.items() if name.startswith("SQL_SCALAR")}
_UNKNOWN = {value for name, value in KINDS.items() if name == "SQL_ARROW_UDTF"}


def is_function(catalyst: Catalyst, expression: Expr) -> bool:
    """Whether an expression is a call of a Python function, plain or aggregating."""
    return catalyst.is_a(expression, _FUNCTIONS)


def is_known(function: Expr) -> bool:
    """Whether there is a guard for a function."""
    return int(function.evalType()) not in _UNKNOWN


def is_of_row(function: Expr) -> bool:
    """Whether a function is called on a row by itself, and gives the same each time."""
    return int(function.evalType()) in ROWS and bool(function.udfDeterministic())


def is_of_batch(function: Expr) -> bool:
    """Whether a function is given batches of rows, and gives as many values."""
    return int(function.evalType()) in _OF_BATCHES


def is_named(catalyst: Catalyst, inputs: Sequence[Expr]) -> bool:
    """Whether some arguments are given by name."""
    return any(each.nodeName() == "NamedArgumentExpression" for each in inputs)


def chain(catalyst: Catalyst, function: Expr) -> tuple[tuple[bytes, ...], list[Expr]]:
    """The functions that Spark calls one on another's value, the first one first, and what that is given."""
    inputs = catalyst.children(function)
    if len(inputs) == 1 and is_function(catalyst, inputs[0]):
        codes, given = chain(catalyst, inputs[0])
        return (*codes, command(catalyst, function)), given
    return (command(catalyst, function),), inputs


def command(catalyst: Catalyst, function: Expr) -> bytes:
    """A function as Spark ships it; what is large, as the broadcast variable that it is in."""
    return bytes(function.func().command().toArray(catalyst.jvm.scala.reflect.ClassTag.Byte()))


def returned(function: Expr) -> DataType:
    """The type of what a function gives."""
    return _parse_datatype_json_string(function.dataType().json())
