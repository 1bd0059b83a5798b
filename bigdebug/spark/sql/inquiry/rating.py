"""Rating: how good rows of a result are, by a function of a Row or by a number that Spark computes of each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from bigdebug.agents.quality import WORST, Below, Quality
from bigdebug.errors import PredicateError
from bigdebug.mining.cleaning import rated
from bigdebug.spark.sql.inquiry.rows_by_name import NamedRows, rows_by_name
from bigdebug.spark.sql.lineage_frame import LineageFrame
from bigdebug.spark.sql.matching import filtered
from bigdebug.spark.sql.plans.expressions import Expr


class FrameQuality:
    """Rates rows; None and NaN are the worst that there is."""

    def __init__(self, quality: Callable[[Any], Any] | Column | str) -> None:
        self._quality = quality

    def rated(self, trace: LineageFrame) -> tuple[NamedRows, list[float]]:
        """All rows of a result, with their qualities. One job."""
        names = trace.standing[trace.run.subject]
        if callable(self._quality):
            rows = rows_by_name(trace, names)
            return rows, rated(Quality(self._quality), rows.rows)
        rows = rows_by_name(trace, names, [self._computed(trace)])
        [values] = rows.more
        return rows, [WORST if value is None or math.isnan(value) else value for value in values]

    def below(self, bar: float) -> Callable[[Any], Any] | Column:
        """A test that is true of rows that are not as good."""
        if callable(self._quality):
            return Below(Quality(self._quality), bar)
        return self._condition(bar)

    def _condition(self, bar: float) -> Column:
        return F.coalesce(F.isnan(self._number) | (self._number < bar), F.lit(True))

    @property
    def _number(self) -> Column:
        assert not callable(self._quality)
        return (F.expr(self._quality) if isinstance(self._quality, str) else self._quality).cast("double")

    def _computed(self, trace: LineageFrame) -> Expr:
        """The number over the rows of a result. Raises what ``where`` raises, PredicateError for what is about more than a row."""
        users, node = trace.run.questions.users, trace.run.questions.root.node
        met = filtered(users, node, self._condition(0.0))
        if met.nodeName() != "Filter" or not users.is_of(met.condition(), node) or users.asks_plan(met.condition()) or not met.condition().deterministic():
            raise PredicateError("quality= is about more than the columns of a row of the result, or draws", remedy="Select what it is about, or give a function of a Row.")
        return users.plan(users.frame(node).select(self._number)).projectList().head()
