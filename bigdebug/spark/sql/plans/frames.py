"""Frames: which functions of a window count rows, and orders for them, and for limits, that leave no two rows in one place."""

from __future__ import annotations

from collections.abc import Sequence

from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node

_BY_VALUE = {"Rank", "DenseRank", "PercentRank", "CumeDist"}
"""Functions that give equal rows the same."""

PICKING = {"First", "Last", "AnyValue"}
"""Functions of a frame that give the value of a row at one of its ends, or somewhere in it if they leave out NULL."""


def moves(window: Expr) -> bool:
    """Whether a function may give equal rows different values, or different ones at each execution."""
    function = window.windowFunction()
    name = function.nodeName()
    if name in _BY_VALUE:
        return False
    if name != "AggregateExpression" or function.aggregateFunction().nodeName() in PICKING:
        return True
    return ends_at_rows(window.windowSpec().frameSpecification())


def ends_at_rows(frame: Expr) -> bool:
    """Whether a frame holds some rows of a partition, and ends at one of them."""
    whole = (frame.lower().sql(), frame.upper().sql()) == ("UNBOUNDED PRECEDING", "UNBOUNDED FOLLOWING")
    return not whole and not by_range(frame)


def by_range(frame: Expr) -> bool:
    """Whether a frame ends where values do, and so between no two rows that its order does not tell apart."""
    return bool(frame.frameType().toString().startswith("RangeFrame"))


def settled(catalyst: Catalyst, window: Node, plan: Node, names: Sequence[Expr]) -> Node:
    """A window over ``plan``, which counts rows in the order of their names where its own leaves them in one place.

    Rows that are equal in all columns get the same numbers in each job then, one by one.
    """
    c = catalyst
    columns = c.items(window.windowExpressions())
    order, partition = [*c.items(window.orderSpec()), *map(c.ascending, names)], c.items(window.partitionSpec())
    counting = {}
    for column in columns if len(order) > len(names) else ():
        function, frame = column.child().windowFunction(), column.child().windowSpec().frameSpecification()
        if moves(column.child()) and not by_range(frame):
            counting[column.exprId().id()] = c.renamed(c.window(function, partition, order, frame), column)
    if not counting:
        return c.changed(window, {3: plan})
    counted = c.changed(window, {0: c.seq(counting.values()), 2: c.seq(order), 3: plan})
    others = [column for column in columns if column.exprId().id() not in counting]
    if not others:
        return counted
    made = c.changed(window, {0: c.seq(others), 3: counted})
    return c.project([*c.items(plan.output()), *(column.toAttribute() for column in columns)], made)


def settled_sort(catalyst: Catalyst, sort: Node, plan: Node, names: Sequence[Expr]) -> Node:
    """A sort of ``plan``, by names too where its own order leaves rows in one place."""
    order = [*catalyst.items(sort.order()), *map(catalyst.ascending, names)]
    return catalyst.changed(sort, {0: catalyst.seq(order), 2: plan})
