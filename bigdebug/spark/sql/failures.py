"""Failures of keeping: which of them are the user's to hear, as without capture; after the others the action runs as it is.

The jobs that keep rows run before the action. What is cancelled there stays cancelled. An exception of the user's own function is
given on if the query provably calls that function on the same rows: so what the function does to the world outside it does
once. A function that the query would not call, for nobody needs what it gives, fails nobody's job.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PythonException

from bigdebug.spark.cancelled import is_cancelled
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node

_FUNCTION = "org.apache.spark.sql.catalyst.expressions.PythonFuncExpression"

_SKIPPING = {"GlobalLimit", "LocalLimit", "Offset", "Tail", "Join", "AsOfJoin"}
"""Nodes that may leave rows of their inputs uncomputed: a limit that has enough, a join whose other side is empty."""

_RAISED = re.compile(r"[\w.]+(?:Error|Exception|Exit|Interrupt)\b")
"""How the last line of a traceback begins."""

_TRACEBACK = "Traceback (most recent call last):"


def is_users(catalyst: Catalyst, frame: Any, trouble: Exception, whole: bool) -> bool:
    """Whether an action on ``frame`` would have failed of ``trouble`` by itself; ``whole`` says that it computes all rows."""
    if is_cancelled(trouble):
        return True
    return whole and isinstance(trouble, PythonException) and _calls_all(catalyst, Catalyst.plan(frame))


def brief(trouble: Exception) -> str:
    """What happened, in a line: that of Python, where a worker tells a whole traceback."""
    text = str(trouble.java_exception.toString() if isinstance(trouble, Py4JJavaError) else trouble)
    first, *others = [line.strip() for line in text.splitlines() if line.strip()] or [type(trouble).__name__]
    raised = next((line for line in reversed(others) if _RAISED.match(line)), "")
    if _TRACEBACK in others:  # of a worker of PySpark before 4.2, whose first line asks to see below
        return raised or first
    return f"{first} {raised}".strip() if first.endswith(":") else first


def _calls_all(catalyst: Catalyst, plan: Node) -> bool:
    """Whether a query, executed, calls every function of the user's in its plan on all rows there are."""
    if any(node.nodeName() in _SKIPPING for node in _nodes(catalyst, plan)):
        return False
    # What the optimizer drops has no place in its plan; where a wide plan is shortened for print, nothing is proved.
    left = set(re.findall(r"\)#(\d+)", catalyst.frame(plan)._jdf.queryExecution().optimizedPlan().toString()))
    return all(str(number) in left for node in _nodes(catalyst, plan) for number in _functions(catalyst, node))


def _nodes(catalyst: Catalyst, plan: Node) -> Iterator[Node]:
    yield plan
    for below in (*catalyst.children(plan), *catalyst.items(plan.subqueries())):
        yield from _nodes(catalyst, below)


def _functions(catalyst: Catalyst, node: Node) -> Iterator[int]:
    """The numbers of the calls of Python functions in the expressions of a node."""
    todo: list[Expr] = catalyst.expressions(node)
    while todo:
        expression = todo.pop()
        if not catalyst.runs_code(expression):
            continue
        if catalyst.is_a(expression, _FUNCTION):
            yield expression.resultId().id()
        todo.extend(catalyst.children(expression))
