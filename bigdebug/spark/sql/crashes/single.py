"""Single: rows to which a subquery may give one value, and that meet more. Spark's join throws there, where no expression does."""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import functions as F

from bigdebug.spark.sql.crashes.pairs import Condition
from bigdebug.spark.sql.crashes.trials import Trial, tamed
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.fingerprints import fingerprint


class Several(NamedTuple):
    """The rows that meet several, with two of these, and those that do not."""

    trial: Trial
    others: Node


def is_single(node: Node) -> bool:
    """Whether a node is the join that Spark makes of a subquery that is to give a row of its other input one value at most."""
    return bool(node.nodeName() == "Join") and str(node.joinType().toString()) == "LeftSingle"


def by_keys(catalyst: Catalyst, join: Node) -> bool:
    """Whether it is by keys alone that rows meet, so that those which several rows have tell which do."""
    condition = Condition.of(catalyst, join)
    return bool(condition.keys) and not condition.others


def several(catalyst: Catalyst, join: Node) -> Several | None:
    """Of a join over inputs on which its keys do not throw, the rows that meet several; None of other nodes, and where it is not by keys that they meet."""
    c = catalyst
    if not is_single(join) or not by_keys(c, join):
        return None
    left, right = c.children(join)
    keys = Condition.of(c, join).keys
    own = [c.alias(tamed(c, next(part for part in c.children(key) if c.is_of(part, right))), f"key{i}") for i, key in enumerate(keys)]
    columns = c.items(right.output())
    record = F.struct(*map(c.column, columns))
    place = F.struct(*map(c.column, fingerprint(c, right, columns, bits=True)))  # an order of all rows, which is the same each time
    told = [F.count("*").alias("rows"), F.min_by(record, place).alias("one"), F.max_by(record, place).alias("another")]
    frame = c.frame(right).groupBy(*map(c.column, own)).agg(*told)
    groups = c.plan(frame.where("rows > 1"))
    known = c.items(groups.output())
    conditions = [_over(c, key, right, value) for key, value in zip(keys, known)]
    met = c.project([*c.items(left.output()), *known[-2:]], c.inner(left, groups, conditions))
    thrown = c.raising("SCALAR_SUBQUERY_TOO_MANY_ROWS", {}, known[-1])
    return Several(Trial(met, [thrown], 0, left.output().length()), c.joined("left_anti", left, groups, conditions))


def _over(catalyst: Catalyst, key: Expr, right: Node, value: Expr) -> Expr:
    """An equality of keys, with a value in the place of what it computes of the second input."""
    return catalyst.with_children(key, [value if catalyst.is_of(part, right) else tamed(catalyst, part) for part in catalyst.children(key)])
