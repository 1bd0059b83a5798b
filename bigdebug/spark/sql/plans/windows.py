"""Windows: Spark's window functions over the gateway, their orders and their frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bigdebug.spark.sql.plans.expressions import Expr, Expressions


class Windows(Expressions):
    """Makes window functions in the JVM of one SparkSession."""

    def window(self, function: Expr, partition: Sequence[Expr], order: Sequence[Expr], frame: Any) -> Expr:
        spec = self._expressions.WindowSpecDefinition(self.seq(partition), self.seq(order), frame)
        return self._expressions.WindowExpression(function, spec)

    def ascending(self, expression: Expr) -> Expr:
        """An order, NULLs first."""
        return self._expressions.SortOrder(expression, self._object("Ascending"), self._object("NullsFirst"), self.seq([]))

    def row_number(self) -> Expr:
        return self._expressions.RowNumber()

    def minimum(self, expression: Expr) -> Expr:
        return self._expressions.aggregate.Min(expression).toAggregateExpression()

    def maximum(self, expression: Expr) -> Expr:
        return self._expressions.aggregate.Max(expression).toAggregateExpression()

    def rows_so_far(self) -> Any:
        """The frame of ranks: all rows up to this one."""
        return self._expressions.SpecifiedWindowFrame(self._object("RowFrame"), self._object("UnboundedPreceding"), self._object("CurrentRow"))

    def ties(self) -> Any:
        """The frame of the rows that the order does not tell from this one."""
        return self._expressions.SpecifiedWindowFrame(self._object("RangeFrame"), self._object("CurrentRow"), self._object("CurrentRow"))

    def moved(self, order: Expr, offset: Expr, zone: str) -> Expr | None:
        """The value at which a frame over ranges begins or ends: that of its only order, moved as Spark moves it. None for decimals, which do not overflow there."""
        e, value = self._expressions, order.child()
        by = e.UnaryMinus(offset) if str(order.direction().sql()) == "DESC" else offset
        kind, step = (str(each.dataType().typeName()) for each in (value, by))
        if kind.startswith("decimal"):
            return None
        if kind == "date" and step == "integer":
            return e.DateAdd(value, by)
        if kind == "date":
            return e.DateAddYMInterval(value, by) if _is_of_months(step) else e.DateAdd(value, e.ExtractANSIIntervalDays(by))
        if kind.startswith("timestamp"):
            return (e.TimestampAddYMInterval if _is_of_months(step) else e.TimestampAddInterval)(value, by, self.some(zone))
        return e.Add(value, by)


def _is_of_months(kind: str) -> bool:
    return "month" in kind or "year" in kind
