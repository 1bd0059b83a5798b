"""Matching: the rows of a plan for which a condition of the user holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date, timedelta
from decimal import Decimal
from itertools import filterfalse
from math import isfinite
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.logger import PySparkLogger
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from bigdebug.errors import BigdebugError, NondeterminismError, PredicateError, UnknownColumnError, UnknownRecordError
from bigdebug.spark.predicate import guarded, told
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.called import called, remedy
from bigdebug.spark.sql.catalyst import Catalyst, Expr, Node
from bigdebug.spark.sql.keys import all_of
from bigdebug.spark.sql.kinds import ABSOLUTE, RELATIVE, has, is_comparable
from bigdebug.spark.sql.literals import literal
from bigdebug.trace.shown import shown

_SIMPLE = (bool, int, float, str, bytes, Decimal, date, timedelta, type(None))


def matching(
    users: Catalyst, plan: Node, name: Expr, columns: Any, condition: Any, names: Callable[[Node, Expr], Any],
    deciding: Callable[[Sequence[Expr]], None],
) -> Any:
    """The names of the rows of ``plan`` that match; ``columns`` are those that the user knows.

    What the condition speaks of is what the user's session knows now. ``deciding`` is told the expressions that it is about.
    """
    frame = users.frame(plan)
    known = users.items(columns)
    if isinstance(condition, Row | Mapping):
        pairs = _pairs(users, known, condition)
        settled = _settled(pairs, deciding)
        found = _equal(users, frame, settled)
        if len(settled) < len(pairs) and (not settled or unheard(found.limit(2), "count") > 1):
            deciding([column for column, _ in pairs])  # the others would tell which of these rows is meant
        chosen = names(users.plan(found), name)
        if isinstance(condition, Row) and len(pairs) == len(known) and not len(chosen):
            near = _nearly(users, frame, settled)
            chosen = chosen if near is None else names(users.plan(near), name)
            if not len(chosen):
                raise UnknownRecordError(
                    f"The query gives no row {shown(condition)} now", remedy="If it did, its order or its functions do not settle the result: "
                    "capture the action with strategy='inject'. Else say where({...}) with the columns that tell the row.",
                )
        return chosen
    if isinstance(condition, (Column, str)):
        met = filtered(users, plan, condition, known)
        deciding(users.items(met.expressions()))
        return names(met, name)
    if not callable(condition):
        raise TypeError(
            f"where() takes a Column, SQL, a Row of the result or a function of a Row, not {shown(condition)}; where('x > 1')"
        )
    deciding(known)
    row = F.struct(*(users.column(a).alias(a.name()) for a in known))
    test = F.udf(guarded(condition), "boolean", useArrow=False)
    with told():
        return names(users.plan(frame.filter(test(row))), name)


def filtered(catalyst: Catalyst, plan: Node, condition: Column | str, known: Sequence[Expr] | None = None) -> Node:
    """The rows of ``plan`` for which a condition holds.

    Raises UnknownColumnError, and names the columns that are ``known``; PredicateError for what Spark cannot read.
    """
    try:
        with unlogged():
            return catalyst.plan(catalyst.frame(plan).filter(condition))
    except AnalysisException as problem:
        names = [a.name() for a in (catalyst.items(plan.output()) if known is None else known)]
        raise _misunderstood(problem, condition, names) from None


def equal_rows(catalyst: Catalyst, plan: Node, columns: Any, rows: Sequence[Row], schema: StructType) -> Node:
    """The rows of ``plan`` that are equal to one of ``rows`` in ``columns``, which are as ``schema`` says."""
    fields = [StructField(f"_{i}", field.dataType) for i, field in enumerate(schema.fields)]
    given = catalyst.spark.createDataFrame([tuple(row) for row in rows], StructType(fields))
    known = [catalyst.column(column) for column in catalyst.items(columns)]
    matches = [column.eqNullSafe(given[field.name]) for column, field in zip(known, fields)]
    return catalyst.plan(catalyst.frame(plan).join(F.broadcast(given), all_of(matches), "left_semi"))


def _equal(catalyst: Catalyst, frame: DataFrame, pairs: Sequence[tuple[Expr, Any]]) -> DataFrame:
    """The rows that have these values: simple ones are written into the query, so that sources can skip; others are joined."""
    hard, simple = [], [F.lit(True)]
    for column, value in pairs:
        kind = column.dataType().sql()
        if isinstance(value, _SIMPLE):
            if isinstance(value, str) and not kind.startswith(("STRING", "CHAR", "VARCHAR")):
                _check_castable(catalyst, value, column.name(), kind)
            simple.append(catalyst.column(column).eqNullSafe(literal(value, kind)) if has(kind, value) else F.lit(False))
        elif not is_comparable(kind):
            raise UnknownColumnError(
                f"Spark compares no values like those of {column.name()}, of type {kind.lower()}",
                remedy="Say where() without it, as SQL or with some of the columns.",
            )
        else:
            hard.append((column, value, kind))
    frame = frame.filter(all_of(simple))
    if hard:
        schema = ", ".join(f"_{i} {kind}" for i, (_, _, kind) in enumerate(hard))
        given = catalyst.spark.createDataFrame([tuple(value for _, value, _ in hard)], schema)
        match = [catalyst.column(column).eqNullSafe(given[f"_{i}"]) for i, (column, _, _) in enumerate(hard)]
        frame = frame.join(F.broadcast(given), all_of(match), "left_semi")
    return frame


def _check_castable(catalyst: Catalyst, value: str, name: str, kind: str) -> None:
    [cast] = unheard(catalyst.spark.range(1).select(F.lit(value).try_cast(kind).isNotNull()), "collect")
    if not cast[0]:
        raise UnknownColumnError(
            f"{name} is of type {kind.lower()}, and this text is no such value", value=value, remedy="Give a value of that type.",
        )


def _nearly(catalyst: Catalyst, frame: DataFrame, pairs: Sequence[tuple[Expr, Any]]) -> DataFrame | None:
    """The rows with these values, where sums of floating point may have come out a little otherwise in another order; None if
    there are none among them.
    """
    def sums(pair: tuple[Expr, Any]) -> bool:
        return isinstance(pair[1], float) and isfinite(pair[1])

    about = list(filter(sums, pairs))
    found = _equal(catalyst, frame, list(filterfalse(sums, pairs)))
    for column, value in about:
        found = found.filter(F.abs(catalyst.column(column) - value) <= max(abs(value) * RELATIVE, ABSOLUTE))
    return found if about else None


def _settled(pairs: Sequence[tuple[Expr, Any]], deciding: Callable[[Sequence[Expr]], None]) -> list[tuple[Expr, Any]]:
    """The columns, and values, that are the same at each execution."""
    found = []
    for pair in pairs:
        with suppress(NondeterminismError):
            deciding([pair[0]])
            found.append(pair)
    return found


def _pairs(users: Catalyst, known: list[Expr], row: Any) -> list[tuple[Expr, Any]]:
    if isinstance(row, Row) and len(row) == len(known) and list(getattr(row, "__fields__", [])) == [a.name() for a in known]:
        return list(zip(known, row))  # names may repeat
    values = row.asDict() if isinstance(row, Row) and hasattr(row, "__fields__") else row
    names = [a.name() for a in known]
    if not isinstance(values, Mapping):
        raise UnknownColumnError(f"A row without names has {len(values)} values", value=row, remedy=remedy(names))
    by_name = dict(zip(names, known))
    return [(by_name[name], value) for name, value in zip(called(users, tuple(values), names), values.values())]


@contextmanager
def unlogged() -> Iterator[None]:
    """Within: PySpark does not print what it finds wrong with a query; we say it ourselves."""
    loggers = [PySparkLogger.getLogger(name) for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger")]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before):
            logger.disabled = disabled


def _misunderstood(problem: AnalysisException, condition: Any, names: list[str]) -> BigdebugError:
    missing = (problem.getMessageParameters() or {}).get("objectName", "").strip("`")
    if (problem.getCondition() or "").startswith("UNRESOLVED_COLUMN") and missing:
        return UnknownColumnError("There is no such column here", value=missing, remedy=remedy(names, missing))
    first = str(problem).strip().split("\n", 1)[0].rstrip(".")
    return PredicateError(f"where({shown(condition)}) cannot be understood here: {first}", remedy=remedy(names))
