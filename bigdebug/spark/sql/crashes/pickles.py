"""Pickles: what Python functions of rows give that Spark cannot read. It is read in the JVM, as Spark does it; only what is doubtful."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bigdebug.agents.guards.code import Told
from bigdebug.agents.guards.crash import Raised
from bigdebug.spark.gateway import raised_by
from bigdebug.spark.sql.crashes.crashed import Crashed, Crashing
from bigdebug.spark.sql.crashes.thrown import name_of
from bigdebug.spark.sql.crashes.waves import Waves
from bigdebug.spark.sql.plans import guarding
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node


def unread(waves: Waves, node: Node, functions: Sequence[Expr]) -> Crashing | None:
    """The rows for which functions of a projection give what Spark cannot read, and the node without them; None if it has no such functions.

    Costs a job, and a call of the gateway for each value that is not plain.
    """
    c = waves.catalyst
    pairs = [(function, guard) for function in functions if (guard := guarding.pickled(c, function)) is not None]
    if not pairs or node.nodeName() != "Project":
        return None
    (below,) = c.children(node)
    columns = [c.alias(guard, "pickle") for _, guard in pairs]
    no_doubt = c.all_hold([c.is_null(column.toAttribute()) for column in columns])
    rows = [row for found in waves.rows(c.filter(c.negated(no_doubt), c.extended(below, columns))) for row in found]
    if not rows:
        return None
    found = []
    names: dict[str, str] = {}
    for row in rows:
        values = row[-len(pairs):]
        problem = next((p for (function, _), v in zip(pairs, values, strict=True) if v is not None and (p := _problem(c, function, bytes(v), names))), None)
        if problem is not None:
            found.append(Crashed([row], Told(problem, 1), below, marks=len(pairs)))
    if not found:
        return None
    if len(found) < len(rows):  # others that are not plain are read well, and no expression tells which
        return Crashing(found, None)
    return Crashing(found, c.with_children(node, [c.filter(c.all_hold([c.is_null(guard) for _, guard in pairs]), below)]))


def _problem(catalyst: Catalyst, function: Expr, pickled: bytes, names: dict[str, str]) -> Raised | None:
    """What Spark throws when it reads what a function gave, if anything; ``names`` are those of the JVM's classes that were looked up."""
    unpickler = catalyst.jvm.net.razorvine.pickle.Unpickler()
    thrown: Any = raised_by(unpickler.loads, bytearray(pickled))
    if thrown is None:
        into = catalyst.jvm.org.apache.spark.sql.execution.python.EvaluatePython.makeFromJava(function.dataType())
        thrown = raised_by(into.apply, catalyst.jvm.net.razorvine.pickle.Unpickler().loads(bytearray(pickled)))
    if thrown is None:
        return None
    kind = thrown.getClass().getName()
    if kind not in names:
        names[kind] = name_of(thrown)
    return Raised(names[kind], str(thrown.getMessage()), (), None, ())
