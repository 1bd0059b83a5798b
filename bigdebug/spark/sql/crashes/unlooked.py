"""Unlooked: what of a query nothing was tried of when its culprits were looked for, so that a row may have crashed there all the same.

What is seldom in a query is said whatever was found. What many queries have, and hardly any fails for, is said only where what was found does not tell why one failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from bigdebug.graph import Operator
from bigdebug.spark.sql.crashes.observed import adds_up
from bigdebug.spark.sql.crashes.single import by_keys, is_single
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

_QUIET = {
    "Union", "GlobalLimit", "LocalLimit", "Offset", "Tail", "Repartition", "RebalancePartitions", "Sample", "Distinct", "Deduplicate", "ReturnAnswer",
    "EventTimeWatermark", "WindowGroupLimit", "AttachDistributedSequence", "ResolvedHint", "SubqueryAlias", "View",
}
"""Nodes that hand rows on, and throw only where an expression of theirs does."""

_QUIET_LEAVES = {"LocalRelation", "LogicalRDD", "LogicalRelation", "Range", "OneRowRelation", "InMemoryRelation", "EmptyRelation"}
"""Sources whose rows are there, or are read by Spark's own readers of files."""

_QUIET_AGGREGATES = {
    "Count", "Sum", "Average", "Min", "Max", "MinBy", "MaxBy", "First", "Last", "AnyValue", "CollectList", "CollectSet", "ListAgg", "PivotFirst",
    "StddevPop", "StddevSamp", "VariancePop", "VarianceSamp", "CovPopulation", "CovSample",
    "BitAndAgg", "BitOrAgg", "BitXorAgg", "HyperLogLogPlusPlus", "ApproximatePercentile", "Percentile", "PercentileDisc", "PercentileCont", "Mode",
    "RegrReplacement", "RegrSlope", "RegrIntercept", "RegrSXY", "TryAverage", "TrySum", "PandasAggregate",
}
"""Aggregates that take whatever values there are; sums and averages overflow, and percentiles refuse some, which is looked at."""

_HARDLY_THROWING = {"Skewness", "Kurtosis", "Corr", "PearsonCorrelation", "RegrR2"}
"""Aggregates that divide by a power of the spread of numbers, which is 0 for numbers that are nearly equal, or nearly 0, though the spread is not."""

_THROWING = "{}() in {{}} may throw on what it is given, which was not looked at."

_RECURSIVE = ("UnionLoop", "UnionLoopRef")
"""Nodes that Spark runs as often as they give rows."""

_GIVING = {"Alias", "AttributeReference", "Literal", "SortOrder"}
"""Expressions that hand on what is in them."""


def recursion(steps: Sequence[Step]) -> str | None:
    """Why nothing of a query can be looked at that is recursive; None if it is not."""
    if any(step.node.nodeName() in _RECURSIVE for step in steps):
        return "The query is recursive (WITH RECURSIVE), and which of its rows crash was not looked at: no round of it is run alone."
    return None


def unlooked(catalyst: Catalyst, steps: Sequence[Step], operator: Callable[[Node], Operator]) -> Iterator[str]:
    """Why there may be more rows that crash than those which were found: a sentence for each thing that was not looked at."""
    for step in steps:
        for said in _unlooked_of(catalyst, step.node):
            yield said.format(operator(step.written))


def unlikely(catalyst: Catalyst, steps: Sequence[Step], operator: Callable[[Node], Operator], action: str) -> Iterator[str]:
    """Why, where what was found does not tell why a query failed, there may be other rows that crash."""
    for step in steps:
        for said in _unlikely_of(catalyst, step.node):
            yield said.format(operator(step.written))
    if action.startswith("write"):
        yield "Whether the rows fit what they are written to, which the write itself sees, was not looked at."


def _unlooked_of(catalyst: Catalyst, node: Node) -> Iterator[str]:
    if catalyst.children(node) and node.nodeName() not in _LOOKED_AT and not (node.nodeName() in _QUIET and _is_quiet(catalyst, node)):
        yield "What {} computes was not looked at."
    if is_single(node) and not by_keys(catalyst, node):
        yield "To which rows the subquery that is {} gives more than one value was not looked at."
    if adds_up(catalyst, node):
        yield "What {} adds up may overflow, which was not looked at."
    for function, name in _aggregates(catalyst, node):
        if function not in _QUIET_AGGREGATES | _HARDLY_THROWING:
            yield _THROWING.format(name)


def _unlikely_of(catalyst: Catalyst, node: Node) -> Iterator[str]:
    if not catalyst.children(node) and node.nodeName() not in _QUIET_LEAVES:
        yield "What {} reads was not looked at."
    for function, name in _aggregates(catalyst, node):
        if function in _HARDLY_THROWING:
            yield _THROWING.format(name)
    for name in sorted({name for each in catalyst.expressions(node) for name in _chances(catalyst, each)}):
        yield f"What {{}} computes of {name}() may be something else each time: on which rows that throws was not looked at."


def _is_quiet(catalyst: Catalyst, node: Node) -> bool:
    return not any(True for each in catalyst.expressions(node) for _ in rowwise(catalyst, each))


def _aggregates(catalyst: Catalyst, node: Node) -> list[tuple[str, str]]:
    """The aggregates of a node, but for those of the user's: what Spark calls each, and what users do."""
    found, todo = set(), catalyst.expressions(node)
    while todo:
        each = todo.pop()
        if not catalyst.computes_many(each):
            continue
        todo += catalyst.children(each)
        if each.nodeName() == "AggregateExpression" and not code.is_function(catalyst, function := each.aggregateFunction()):
            found.add((str(function.nodeName()), str(function.prettyName())))
    return sorted(found)


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
