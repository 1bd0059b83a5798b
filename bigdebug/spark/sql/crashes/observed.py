"""Observed: what a query computes of rows on their way, for the metrics that ``df.observe()`` tells of them."""

from __future__ import annotations

from collections.abc import Iterator

from bigdebug.spark.sql.crashes.overflow import summed
from bigdebug.spark.sql.crashes.trials import Trial, rowwise
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node


def observed(catalyst: Catalyst, node: Node) -> Iterator[Trial]:
    """What the metrics of a node compute of each row of its input, if that may throw."""
    parts = [part for metric in _metrics(catalyst, node) for part in rowwise(catalyst, metric)]
    if parts:
        yield Trial(catalyst.children(node)[0], parts)


def adds_up(catalyst: Catalyst, node: Node) -> bool:
    """Whether a metric is a sum that may overflow."""
    return any(True for metric in _metrics(catalyst, node) for _ in summed(catalyst, metric))


def _metrics(catalyst: Catalyst, node: Node) -> list[Expr]:
    return catalyst.items(node.metrics()) if node.nodeName() == "CollectMetrics" else []
