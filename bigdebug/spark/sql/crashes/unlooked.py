"""Unlooked: what of a query nothing was tried of when its culprits were looked for, so that a row may have crashed there all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from bigdebug.graph import Operator
from bigdebug.spark.sql.crashes.observed import adds_up
from bigdebug.spark.sql.crashes.trials import rowwise
from bigdebug.spark.sql.crashes.walk import Step
from bigdebug.spark.sql.plans import code
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node

_LOOKED_AT = {
    "Project", "Filter", "Sort", "Expand", "Generate", "RepartitionByExpression", "Aggregate", "Window", "Join", "CollectMetrics",
    "MapInPandas", "MapInArrow", "PythonMapInArrow", "FlatMapGroupsInPandas", "FlatMapGroupsInArrow", "FlatMapCoGroupsInPandas", "FlatMapCoGroupsInArrow",
}
"""Nodes of which it is known what they compute of rows."""

_QUIET_LEAVES = {"LocalRelation", "LogicalRDD", "LogicalRelation", "Range", "OneRowRelation", "InMemoryRelation", "EmptyRelation"}
"""Sources whose rows are there, or are read by Spark's own readers of files."""

_QUIET_AGGREGATES = {
    "Count", "Sum", "Average", "Min", "Max", "MinBy", "MaxBy", "First", "Last", "AnyValue", "CollectList", "CollectSet", "ListAgg", "PivotFirst",
    "StddevPop", "StddevSamp", "VariancePop", "VarianceSamp", "Skewness", "Kurtosis", "Corr", "CovPopulation", "CovSample", "PearsonCorrelation",
    "BitAndAgg", "BitOrAgg", "BitXorAgg", "HyperLogLogPlusPlus", "ApproximatePercentile", "Percentile", "PercentileDisc", "PercentileCont", "Mode",
    "RegrReplacement", "RegrR2", "RegrSlope", "RegrIntercept", "RegrSXY", "TryAverage", "TrySum", "PandasAggregate",
}
"""Aggregates that take whatever values there are; sums and averages overflow, which is looked at."""

_RECURSIVE = ("UnionLoop", "UnionLoopRef")
"""Nodes that Spark runs as often as they give rows."""

_GIVING = {"Alias", "AttributeReference", "Literal", "SortOrder"}
"""Expressions that hand on what is in them."""


def recursion(steps: Sequence[Step]) -> str | None:
    """Why nothing of a query can be looked at that is recursive; None if it is not."""
    if any(step.node.nodeName() in _RECURSIVE for step in steps):
        return "The query is recursive (WITH RECURSIVE), and which of its rows crash was not looked at: no round of it is run alone."
    return None


def unlooked(catalyst: Catalyst, steps: Sequence[Step], operator: Callable[[Node], Operator], action: str) -> Iterator[str]:
    """Why, where no row was found that crashes, there may be some: a sentence for each thing that was not looked at."""
    for step in steps:
        node = step.node
        where = operator(step.written)
        expressions = catalyst.items(node.expressions())
        if node.nodeName() not in _LOOKED_AT and any(True for each in expressions for _ in rowwise(catalyst, each)):
            yield f"What {where} computes was not looked at."
        if not catalyst.children(node) and node.nodeName() not in _QUIET_LEAVES:
            yield f"What {where} reads was not looked at."
        if adds_up(catalyst, node):
            yield f"What {where} adds up may overflow, which was not looked at."
        for name in sorted({name for each in expressions for name in _aggregates(catalyst, each)}):
            yield f"{name}() in {where} may throw on what it is given, which was not looked at."
        for name in sorted({name for each in expressions for name in _chances(catalyst, each)}):
            yield f"What {where} computes of {name}() may be something else each time: on which rows that throws was not looked at."
    if action.startswith("write"):
        yield "Whether the rows fit what they are written to, which the write itself sees, was not looked at."


def _aggregates(catalyst: Catalyst, expression: Expr) -> Iterator[str]:
    """Aggregates in an expression that may throw on values of a group."""
    if not catalyst.computes_many(expression):
        return
    if expression.nodeName() == "AggregateExpression":
        function = expression.aggregateFunction()
        if function.nodeName() not in _QUIET_AGGREGATES and not code.is_function(catalyst, function):
            yield str(function.prettyName())
    for part in catalyst.children(expression):
        yield from _aggregates(catalyst, part)


def _chances(catalyst: Catalyst, expression: Expr) -> Iterator[str]:
    """What draws numbers, or asks for the place of a row, in an expression that computes something of that."""
    if expression.deterministic() or code.is_function(catalyst, expression):
        return
    if expression.nodeName() in _GIVING:
        for part in catalyst.children(expression):
            yield from _chances(catalyst, part) if catalyst.children(part) else ()
        return
    yield from _drawing(catalyst, expression)


def _drawing(catalyst: Catalyst, expression: Expr) -> Iterator[str]:
    parts = catalyst.children(expression)
    if not expression.deterministic() and all(part.deterministic() for part in parts) and not code.is_function(catalyst, expression):
        yield str(expression.prettyName())
    for part in parts:
        yield from _drawing(catalyst, part)
