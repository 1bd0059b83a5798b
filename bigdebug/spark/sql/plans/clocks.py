"""Clocks: the time at which Spark executes a DataFrame, written into its plan.

Spark asks the clock once, when it optimizes a query, and a DataFrame keeps its optimized plan: a second ``collect()`` says the
same time. So the time is found in that plan, and whether it was found, Spark's optimizer decides: the plan with the time written
into it has to become the very plan that is executed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.executions import phase
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.plans.rewriting import with_expressions, with_inputs

_LITERAL = "org.apache.spark.sql.catalyst.expressions.Literal"

_TIMES = {"TimestampType": 1, "TimestampNTZType": 1, "TimeType": 1000}
"""Types of values that tell a time, and how many of their units are a microsecond."""

_SHORTENED = ("LocalRelation", " more fields")
"""Parts of the text of a plan that do not say all of it."""


def asks_time(catalyst: Catalyst, plan: Node) -> bool:
    """Whether Spark would write the time into a plan."""
    return at_one_time(catalyst, plan) is not plan


def at_one_time(catalyst: Catalyst, plan: Node) -> Node:
    """The plan with its clocks replaced by the time that it is now; itself if there are none."""
    if not catalyst.asks_clock(plan):
        return plan
    fixed = catalyst.rule("ComputeCurrentTime").apply(plan)
    return plan if fixed.fastEquals(plan) else fixed


def at_its_time(catalyst: Catalyst, frame: Any) -> Node | None:
    """The analyzed plan of a DataFrame with the time at which Spark executes it; None if that cannot be told.

    Has Spark optimize the query, as the action would, and then once or twice the plan with a time in it.
    """
    plan, execution = Catalyst.plan(frame), frame._jdf.queryExecution()
    executed = execution.optimizedPlan()
    if (optimizing := phase(frame, "optimization")) is None:
        return None
    begin, end = optimizing.startTimeMs() * 1000, (optimizing.endTimeMs() + 1) * 1000
    written = list(_times(catalyst, executed))
    tried: dict[int, Node] = {}

    def found(times: Iterable[int]) -> Node | None:
        for time in sorted({time for time in times if begin <= time < end}.difference(tried)):
            made = _written(catalyst, plan, time)
            if asks_time(catalyst, made):
                return None  # a clock of a later version of Spark
            tried[time] = _optimized(catalyst, made)
            if _is_same(executed, tried[time]):
                return made
        return None

    # As it is; any, where only the date is asked; and as far from what another time gives as the plans are apart.
    return found(written) or found([begin]) or found(
        begin + time - other for time, other in zip(written, _times(catalyst, tried[begin]) if begin in tried else ())
    )


def _optimized(catalyst: Catalyst, plan: Node) -> Node:
    return catalyst.frame(plan)._jdf.queryExecution().optimizedPlan()


def _is_same(one: Node, other: Node) -> bool:
    """Whether two optimized plans say the same. Spark does not see it where a function of the user's made columns."""
    if one.sameResult(other):
        return True
    texts = [_text(plan) for plan in (one, other)]
    return texts[0] == texts[1] and not any(part in texts[0] for part in _SHORTENED)


def _text(plan: Node) -> str:
    """A plan in words, its columns numbered as they come."""
    numbers: dict[str, str] = {}
    return re.sub(r"#\d+", lambda found: numbers.setdefault(found[0], f"#{len(numbers)}"), plan.toString())


def _times(catalyst: Catalyst, plan: Node) -> Iterator[int]:
    """The times that are written in a plan, in microseconds, in the order of the plan."""
    if plan.nodeName() == "LocalRelation" and plan.data().nonEmpty():
        row = plan.data().head()
        for i, column in enumerate(catalyst.items(plan.output())):
            if (unit := _unit(column)) is not None and not row.isNullAt(i):
                yield int(row.getLong(i)) // unit
    for expression in catalyst.expressions(plan):
        yield from _times_within(catalyst, expression)
    for below in catalyst.children(plan):
        yield from _times(catalyst, below)


def _times_within(catalyst: Catalyst, expression: Expr) -> Iterator[int]:
    if catalyst.is_a(expression, _LITERAL):
        if (unit := _unit(expression)) is not None and expression.value() is not None:
            yield int(expression.value()) // unit
    elif catalyst.is_subquery(expression):
        yield from _times(catalyst, expression.plan())
    for below in catalyst.children(expression):
        yield from _times_within(catalyst, below)


def _unit(expression: Expr) -> int | None:
    return _TIMES.get(expression.dataType().getClass().getSimpleName().rstrip("$"))


def _written(catalyst: Catalyst, plan: Node, time: int) -> Node:
    """A plan with a time, in microseconds, in the place of its clocks, as Spark's own rule writes it."""
    if not catalyst.asks_clock(plan):
        return plan
    plan = with_inputs(catalyst, plan, lambda child: _written(catalyst, child, time))
    return with_expressions(catalyst, plan, lambda expression: _written_within(catalyst, expression, time))


def _written_within(catalyst: Catalyst, expression: Expr, time: int) -> Expr:
    if not catalyst.asks_clock(expression):
        return expression
    if catalyst.is_subquery(expression):
        expression = expression.withNewPlan(_written(catalyst, expression.plan(), time))
    if (value := _told(catalyst, expression, time)) is not None:
        return catalyst.constant(value, expression)
    return with_inputs(catalyst, expression, lambda child: _written_within(catalyst, child, time))


def _told(catalyst: Catalyst, clock: Expr, time: int) -> Any:
    """What a clock says at a time; None if this is none of the clocks that Spark writes the time of."""
    name = clock.getClass().getSimpleName()
    if name in ("CurrentTimestamp", "Now"):
        return time
    if name == "CurrentTimeZone":
        return catalyst.jsession.sessionState().conf().sessionLocalTimeZone()
    if name not in ("CurrentDate", "LocalTimestamp", "CurrentTime"):
        return None
    dates = catalyst.jvm.org.apache.spark.sql.catalyst.util.DateTimeUtils
    zone = dates.getZoneId(clock.timeZoneId().get())
    if name == "CurrentDate":
        return dates.microsToDays(time, zone)
    moment = dates.microsToInstant(time)
    if name == "LocalTimestamp":
        return dates.localDateTimeToMicros(catalyst.jvm.java.time.LocalDateTime.ofInstant(moment, zone))
    return dates.truncateTimeToPrecision(dates.instantToNanosOfDay(moment, zone), clock.precision())
