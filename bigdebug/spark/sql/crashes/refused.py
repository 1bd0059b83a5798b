"""Refused: what an aggregate is given of a row, and throws on, though each of these values could be computed."""

from __future__ import annotations

from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr


def refused(catalyst: Catalyst, function: Expr) -> list[Expr]:
    """What throws on the rows that an aggregate does not take, as it does: percentile() a value that is there less than no times."""
    c = catalyst
    if function.nodeName() != "Percentile":
        return []
    value, times = function.child(), c.cast(function.frequencyExpression(), "BIGINT")
    if function.frequencyExpression().nodeName() == "Literal" and int(function.frequencyExpression().value()) >= 0:
        return []
    told = {"frequencyExpression": c.literal(f'"{function.frequencyExpression().sql()}"', "string"), "negativeValue": times}
    error = c.raising("NEGATIVE_VALUES_IN_FREQUENCY_EXPRESSION", told, value)
    return [c.either(c.all_hold([c.is_not_null(value), c.less(times, c.whole(0))]), error, c.null_of(value))]
