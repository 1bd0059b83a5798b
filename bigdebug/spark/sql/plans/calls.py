"""Calls: the Python functions that a node of a plan calls."""

from __future__ import annotations

from collections.abc import Sequence

from bigdebug.spark.sql.plans import code
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node

_STREAMS = ("MapInPandas", "MapInArrow", "PythonMapInArrow")
"""Nodes whose function is given an iterator: their tasks may be asked to run all at once."""


def functions_of(catalyst: Catalyst, node: Node) -> list[Expr]:
    """The Python functions that a node calls, but for those that others are called on."""
    return functions_in(catalyst, catalyst.expressions(node)) if catalyst.runs_code(node) else []


def functions_in(catalyst: Catalyst, expressions: Sequence[Expr]) -> list[Expr]:
    """Those in some expressions, but for those that others are called on."""
    todo, found = [*expressions], []
    while todo:
        expression = todo.pop(0)
        if code.is_function(catalyst, expression):
            found.append(expression)
        elif catalyst.runs_code(expression):
            todo += catalyst.children(expression)
    return found


def minds_partition(catalyst: Catalyst, node: Node) -> bool:
    """Whether a node runs all its tasks at once, or calls a function that seems to ask which partition it is in."""
    if node.nodeName() in _STREAMS and node.isBarrier():
        return True
    todo = functions_of(catalyst, node)
    while todo:
        function = todo.pop()
        if b"partitionId" in code.command(catalyst, function):
            return True
        todo += functions_in(catalyst, catalyst.children(function))
    return False


def as_written(catalyst: Catalyst, node: Node) -> Node:
    """A node that does nothing but to call functions, as what it was made of; other nodes as they are."""
    c, name = catalyst, node.nodeName()
    if name in ("BatchEvalPython", "ArrowEvalPython"):
        calls = zip(c.items(node.udfs()), c.items(node.resultAttrs()), strict=True)
        return c.extended(c.children(node)[0], [c.renamed(function, column.withName(str(function.sql())[:80])) for function, column in calls])
    if name in ("BatchEvalPythonUDTF", "ArrowEvalPythonUDTF"):
        return c.project(c.items(node.output()), c.generated(node.udtf(), c.items(node.resultAttrs()), c.children(node)[0]))
    return node
