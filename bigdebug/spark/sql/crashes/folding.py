"""Folding: what Spark's optimizer computes while it plans a query, so that it fails before the first row is read."""

from __future__ import annotations

from collections.abc import Sequence

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from bigdebug.spark.sql.crashes.filling import Filling
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Node
from bigdebug.spark.unlogged import unlogged

_EXCLUDED = "spark.sql.optimizer.excludedRules"

_OPTIMIZER = "org.apache.spark.sql.catalyst.optimizer"

_COMPUTING = ("ConstantFolding", "ConvertToLocalRelation", "ConstantPropagation")
"""Rules that compute expressions: those that read no column, and projections and filters of rows that stand in the query. The last one makes
such expressions: where ``k = 0`` is asked, it puts 0 in the place of ``k`` in what else is asked, which then throws on all rows, whatever their ``k``.
"""


def planned(catalyst: Catalyst, plan: Node) -> tuple[Node, list[Node]]:
    """The plan that Spark makes of an analyzed one, over what fills its caches, and the plans that do. Where something throws while it is optimized,
    that is left for the rows to throw.

    From then on the session of ``catalyst`` leaves it to them, too: the session is to be one of ours. Raises what Spark does if
    the query cannot be planned for another reason.
    """
    try:
        with unlogged():
            return _made(catalyst, plan)
    except (PySparkException, Py4JError):
        _exclude(catalyst, _COMPUTING)
        return _made(catalyst, plan)


def call_once(catalyst: Catalyst) -> None:
    """From now on the session of ``catalyst``, one of ours, leaves filters where they stand, above functions of the user's.

    Spark puts a filter on what a function gives below the function, and calls it there and again above. One that draws in secret gives something else then.
    """
    _exclude(catalyst, ("PushDownPredicates",))


def _exclude(catalyst: Catalyst, rules: Sequence[str]) -> None:
    conf = catalyst.jsession.conf()
    known = conf.getOption(_EXCLUDED)
    conf.set(_EXCLUDED, ",".join([*([known.get()] if known.isDefined() and known.get() else []), *(f"{_OPTIMIZER}.{rule}" for rule in rules)]))


def _made(catalyst: Catalyst, plan: Node) -> tuple[Node, list[Node]]:
    filling = Filling(catalyst)
    return filling.opened(catalyst.frame(plan)._jdf.queryExecution().optimizedPlan()), filling.plans
