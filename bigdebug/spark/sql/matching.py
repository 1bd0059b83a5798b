"""Matching: the rows of a plan for which a condition of the user holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import and_
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import Column, Row
from pyspark.sql import functions as F

from bigdebug.errors import BigdebugError, UnknownColumnError
from bigdebug.spark.predicate import guarded, told
from bigdebug.spark.sql.catalyst import Catalyst, Expr, Node
from bigdebug.trace.shown import shown


def matching(
    catalyst: Catalyst, plan: Node, name: Expr, columns: Any, condition: Any, names: Callable[[Node, Expr], Any],
) -> Any:
    """The names of the rows of ``plan`` that match; ``columns`` are those that the user knows."""
    frame = catalyst.frame(plan)
    known = catalyst.items(columns)
    if isinstance(condition, Row) or isinstance(condition, Mapping):
        frame = frame.filter(_equal(catalyst, known, condition))
        return names(catalyst.plan(frame), name)
    if isinstance(condition, (Column, str)):
        try:
            frame = frame.filter(condition)
        except AnalysisException as problem:
            raise _unknown(problem, condition, [a.name() for a in known]) from problem
        return names(catalyst.plan(frame), name)
    if not callable(condition):
        raise TypeError(
            f"where() takes a Column, SQL, a Row of the result or a function of a Row, not {shown(condition)}; where('x > 1')"
        )
    row = F.struct(*(catalyst.column(a).alias(a.name()) for a in known))
    test = F.udf(guarded(condition), "boolean", useArrow=False)
    with told():
        return names(catalyst.plan(frame.filter(test(row))), name)


def _equal(catalyst: Catalyst, known: list[Expr], row: Any) -> Column:
    values = row.asDict() if isinstance(row, Row) and hasattr(row, "__fields__") else row
    if isinstance(values, Mapping):
        by_name = {a.name(): a for a in known}
        strange = [name for name in values if name not in by_name]
        if strange:
            raise UnknownColumnError(
                "The query has no such column", value=strange[0], remedy=f"It has {', '.join(by_name)}.",
            )
        pairs = [(by_name[name], value) for name, value in values.items()]
    elif len(values) == len(known):
        pairs = list(zip(known, values))
    else:
        raise UnknownColumnError(f"The row has {len(values)} values and the query {len(known)} columns", value=row)
    return reduce(and_, [
        catalyst.column(a).eqNullSafe(F.lit(value).cast(a.dataType().sql())) for a, value in pairs
    ], F.lit(True))


def _unknown(problem: AnalysisException, condition: Any, names: list[str]) -> BigdebugError:
    first = str(problem).split("\n", 1)[0]
    return UnknownColumnError(f"where({shown(condition)}) cannot be understood here: {first}", remedy=f"The columns are {', '.join(names)}.")
