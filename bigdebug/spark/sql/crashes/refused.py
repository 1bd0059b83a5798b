"""Refused: what an aggregate is given of a row, and throws on, though each of these values could be computed."""

from __future__ import annotations

from typing import Any

from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr


def refused(catalyst: Catalyst, function: Expr) -> list[Expr]:
    """What throws on the rows that an aggregate does not take, as it does: percentile() a value that is there less than no times."""
    c = catalyst
    if function.nodeName() != "Percentile":
        return []
    value, frequency = function.child(), function.frequencyExpression()
    if frequency.nodeName() == "Literal" and _is_taken(frequency.value()):
        return []
    times = c.cast(frequency, "BIGINT")
    told = {"frequencyExpression": c.literal(f'"{frequency.sql()}"', "string"), "negativeValue": times}
    error = c.raising("NEGATIVE_VALUES_IN_FREQUENCY_EXPRESSION", told, value)
    return [c.either(c.all_hold([c.is_not_null(value), c.less(times, c.whole(0))]), error, c.null_of(value))]


def _is_taken(times: Any) -> bool:
    """Whether percentile() takes all values with such a frequency. Those with NULL it leaves out, without a word."""
    return times is None or int(times) >= 0
