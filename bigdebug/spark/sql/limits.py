"""Limits: which rows a limit keeps, whether that is the same at each execution, and what the skipped rows have to do with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from bigdebug.errors import NondeterminismError
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.extended import Extended, Name, parts_of_name
from bigdebug.spark.sql.keys import restricted
from bigdebug.spark.sql.naming import Naming
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.comparing import comparable
from bigdebug.spark.sql.plans.determinism import sorting
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.frames import settled_sort
from bigdebug.spark.sql.plans.reading import PlanOperator
from bigdebug.trace.names import array_of, merged, places

_MOST = 2**31 - 1
"""Rows that Spark limits to, and counts."""


class Cut(NamedTuple):
    """The rows from ``skip`` to before ``end``; ``end`` is None if all that follow are kept."""

    skip: int
    end: int | None


class Limit:
    """A limit of a query, with or without an offset."""

    def __init__(self, catalyst: Catalyst, naming: Naming, operator: PlanOperator) -> None:
        self._catalyst = catalyst
        self._naming = naming
        self._operator = operator
        self.cut = cut_of(operator)

    def check(self) -> None:
        """Raise NondeterminismError if another execution might keep other rows. A job for each end, over the rows up to it.

        Of rows that are the same in all columns, it makes no difference which are kept: those that come first by their names.
        """
        c = self._catalyst
        extended, keys = self._ordered()
        known = {name.level: name.column for name in extended.names}
        asked = {f"k{i}": known[-1 - i] for i in range(keys)} or {"k": c.literal(True, "boolean")}
        for at in self.cut:
            if not at or at >= _MOST:  # no array is longer
                continue
            rows = c.table(c.plan(c.frame(extended.plan).limit(at + 1).offset(at - 1)), asked).combine_chunks()
            tied = rows.num_rows > 1 and len({repr(row) for row in zip(*(column.to_pylist() for column in rows.columns))}) == 1
            if tied and not (keys and self._same(extended, list(asked.values()), [array_of(column)[:1] for column in rows.columns])):
                told = "between rows that its order does not tell apart" if keys else "rows that come in no order"
                raise NondeterminismError(
                    f"{self._operator} cuts {told}, so another execution may keep others: {self._operator.node.simpleString(5)}",
                    remedy="Order by more columns, until no two rows are equal in them, or capture with strategy='inject'.",
                )

    def _same(self, extended: Extended, keys: Sequence[Expr], values: Sequence[pa.Array]) -> bool:
        """Whether the rows of which the order has these values are the same in all columns."""
        c = self._catalyst
        identity = self._naming.identity(self._operator.inputs[0], extended.plan)
        if not identity:
            return False
        tied = restricted(c, extended.plan, keys, values)
        told = c.frame(c.project([c.alias(each, f"t{i}") for i, each in enumerate(identity)], tied)).distinct().limit(2)
        plan = c.plan(told)
        return bool(c.table(plan, {a.name(): a for a in c.items(plan.output())}).num_rows == 1)

    # ---- the peers of rows behind an offset ---------------------------------------------------------------------

    def back(self, names: Any) -> Any:
        """Without the skipped rows, others would be skipped."""
        return merged(names, self._skipped())

    def ahead(self, names: Any) -> Any:
        touched = places(names, self._skipped())
        if not len(touched):
            return names
        plan, name = self._naming.exposed(self._operator)
        return merged(names.take(pa.array(np.setdiff1d(np.arange(len(names)), touched))), self._catalyst.table(plan, {"n": name})["n"].combine_chunks())

    def _skipped(self) -> Any:
        kept = self._operator.kept
        if kept is None or kept.skipped is None:
            return self._head(self.cut.skip)
        return self._catalyst.table(kept.skipped, {"name": kept.skipped.output().last()})["name"].combine_chunks()

    def _head(self, count: int) -> pa.Array:
        """The names of the first rows of the input."""
        c = self._catalyst
        extended, _ = self._ordered()
        name = c.struct(parts_of_name(c, [n.column for n in extended.names if n.level >= 0]))
        return c.table(c.plan(c.frame(extended.plan).limit(count)), {"name": name})["name"].combine_chunks()

    def _ordered(self) -> tuple[Extended, int]:
        """The input with its names, and more names for the values of its order: of levels -1, -2, ..."""
        c, below = self._catalyst, self._operator.inputs[0]
        if (sort := sorting(self._operator)) is None:
            return self._naming.extend(below, witnesses=False), 0
        rows = self._naming.extend(sort.inputs[0], witnesses=False)
        keys = [c.alias(comparable(c, order.child()), f"__bigdebug_order_{i}") for i, order in enumerate(c.items(sort.node.order()))]
        plan = settled_sort(c, sort.node, c.extended(rows.plan, keys), [name.column for name in rows.names])
        names = (*rows.names, *(Name(-1 - i, key.toAttribute()) for i, key in enumerate(keys)))
        return self._naming.given(sort.id, Extended(plan, names)).extend(below, witnesses=False), len(keys)


def placed(rows: Any, end: int | None) -> Any:
    """The rows of a limit's input up to its end, those that it skips among them, and their places in its order as the last column."""
    rows = rows if end is None else rows.limit(end)
    return rows.select("*", F.monotonically_increasing_id().alias("__bigdebug_at"))


def parted(catalyst: Catalyst, stored: Node, skip: int) -> tuple[Node, Node]:
    """What a limit keeps of the rows that were stored with their places, and what it skips; without the places. Two small jobs."""
    *columns, at = catalyst.items(stored.output())
    rows, place = catalyst.frame(stored), catalyst.column(at)
    some = min(skip, unheard(rows, "count"))
    last = unheard(rows.select(place.alias("at")).orderBy("at").limit(some).groupBy().max("at"), "head")[0] if some else -1
    kept, skipped = (catalyst.project(columns, catalyst.plan(rows.where(part))) for part in (place > last, place <= last))
    return kept, skipped


def cut_of(operator: PlanOperator) -> Cut:
    """Which rows of its input a limit keeps."""
    skip, end = 0, None
    for node in reversed(operator.limits):
        name = node.nodeName()
        if name == "Offset":
            skip += node.offsetExpr().eval(None)
        elif name == "GlobalLimit":
            size = skip + node.limitExpr().eval(None)
            end = size if end is None else min(end, size)
    return Cut(skip if end is None else min(skip, end), end)
