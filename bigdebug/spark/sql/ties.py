"""Ties: rows that the order of a window does not tell apart, though something else does, where what it makes of them decides above."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from py4j.protocol import Py4JJavaError
from pyspark.sql import functions as F

from bigdebug.errors import NondeterminismError
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.naming import Naming
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.comparing import comparable
from bigdebug.spark.sql.plans.determinism import Deciding, deciding_by
from bigdebug.spark.sql.plans.expressions import Expr
from bigdebug.spark.sql.plans.frames import moves
from bigdebug.spark.sql.plans.reading import PlanOperator

_CUTS = {"EqualTo": (-1, 0), "LessThan": (-1,), "LessThanOrEqual": (0,), "GreaterThan": (0,), "GreaterThanOrEqual": (-1,)}
"""By comparison of a row number with n, the numbers behind which it cuts, less n."""

UNIQUE = "Order the window by more columns, until no two rows are equal in them."


def check_ties(catalyst: Catalyst, naming: Naming, window: PlanOperator, root: PlanOperator) -> None:
    """Raise NondeterminismError if another execution might number rows otherwise, and something above decides by the numbers.

    One job over the window's input, if something does. Where only the first rows of each partition are taken, ties matter that
    stand across the border. Of rows that are the same in all columns, it makes no difference which has which number.
    """
    c, node = catalyst, window.node
    order = c.items(node.orderSpec())
    columns = [alias for alias in c.items(node.windowExpressions()) if moves(alias.child())]
    if not order or not columns:
        return
    deciding = deciding_by(c, root, [alias.exprId().id() for alias in columns])
    if not deciding.operators:
        return
    rows = naming.extend(window.inputs[0], witnesses=False).plan
    keys = [c.alias(comparable(c, key), f"__bigdebug_p{i}") for i, key in enumerate(c.items(node.partitionSpec()))]
    sorts = [c.alias(comparable(c, each.child()), f"__bigdebug_o{i}") for i, each in enumerate(order)]
    before = c.alias(c.window(c.row_number(), c.items(node.partitionSpec()), order, c.rows_so_far()), "__bigdebug_n")
    numbered = c.changed(node, {0: c.seq([before]), 3: rows})
    alike = [c.alias(told, f"__bigdebug_a{i}") for i, told in enumerate(naming.identity(window.inputs[0], rows))]
    frame = c.frame(c.project([*keys, *sorts, before.toAttribute(), *alike], numbered))
    others = [F.min(each.name()) < F.max(each.name()) for each in alike] or [F.lit(True)]
    tied = frame.groupBy(*frame.columns[: len(keys) + len(sorts)]).agg(
        F.min("__bigdebug_n").alias("first"), F.max("__bigdebug_n").alias("last"), reduce(or_, others).alias("others"),
    ).where("first < last and others")
    borders = _borders(c, columns, deciding, root)
    if borders is not None:
        tied = tied.where(" or ".join(f"(first <= {at} and last > {at})" for at in borders) or "false")
    if unheard(tied, "take", 1):
        raise NondeterminismError(
            f"{window} numbers rows in an order that does not tell all of them apart, and {deciding.operators[0]} decides by that, so another "
            f"execution may choose other rows: {node.simpleString(5)}", remedy=UNIQUE,
        )


def _borders(catalyst: Catalyst, columns: Sequence[Expr], deciding: Deciding, root: PlanOperator) -> set[int] | None:
    """The numbers behind which conditions cut a partition, if conditions on row numbers are all that decides; None if not so."""
    if len(columns) > 1 or columns[0].child().windowFunction().nodeName() != "RowNumber" or any(o.name != "Filter" for o in deciding.operators):
        return None
    numbers = _called(catalyst, columns[0].exprId().id(), root)
    borders: set[int] = set()
    for operator in deciding.operators:
        for condition in catalyst.conjuncts(operator.node.condition()):
            asked = {a.exprId().id() for a in catalyst.items(condition.references().toSeq())}
            if asked.isdisjoint(deciding.columns) or (condition.nodeName() == "IsNotNull" and asked <= numbers):  # a row number is never NULL
                continue
            inner = catalyst.children(condition)
            if not asked <= numbers or condition.nodeName() not in _CUTS or inner[0].nodeName() != "AttributeReference" or not inner[1].foldable():
                return None
            try:
                at = inner[1].eval(None)
            except Py4JJavaError:  # it overflows, where the run had no row to ask it of
                return None
            if not isinstance(at, int):
                return None
            borders.update(at + offset for offset in _CUTS[condition.nodeName()])
    return borders


def _called(catalyst: Catalyst, column: int, root: PlanOperator) -> set[int]:
    """The ids under which a column is known further up."""
    found = {column}
    for operator in root:
        for each in catalyst.items(operator.node.projectList()) if operator.name == "Project" else ():
            if each.nodeName() == "Alias" and each.child().nodeName() == "AttributeReference" and each.child().exprId().id() in found:
                found.add(each.exprId().id())
    return found
