"""Matching: the rows of a plan for which a condition of the user holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from pyspark.errors import AnalysisException, PySparkException, PythonException
from pyspark.sql import Column, Row
from pyspark.sql import functions as F

from bigdebug.errors import BigdebugError, NondeterminismError, PredicateError, UnknownColumnError
from bigdebug.shown import shown
from bigdebug.spark.predicate import guarded, told
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.called import called, remedy
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.expressions import Expr, Node
from bigdebug.spark.sql.values import having, nearly
from bigdebug.spark.unlogged import unlogged


def matching(
    users: Catalyst, plan: Node, name: Expr, columns: list[Expr], condition: Any, names: Callable[[Node, Expr], Any],
    deciding: Callable[[Sequence[Expr]], None],
) -> Any:
    """The names of the rows of ``plan`` that match; ``columns`` are those that the user knows.

    What the condition speaks of is what the user's session knows now. ``deciding`` is told the expressions that it is about.
    """
    frame = users.frame(plan)
    if isinstance(condition, Row | Mapping):
        pairs = _pairs(users, columns, condition)
        settled = _settled(pairs, deciding)
        found = having(users, frame, settled)
        if len(settled) < len(pairs) and (not settled or unheard(found.limit(2), "count") > 1):
            deciding([column for column, _ in pairs])  # the others would tell which of these rows is meant
        chosen = names(users.plan(found), name)
        if isinstance(condition, Row) and len(pairs) == len(columns) and not len(chosen):
            near = nearly(users, frame, settled)
            return chosen if near is None else names(users.plan(near), name)
        return chosen
    if isinstance(condition, (Column, str)):
        met = filtered(users, plan, condition, columns)
        deciding(users.expressions(met))
        with _computed(condition):
            return names(met, name)
    deciding(columns)
    row = F.struct(*(users.column(a).alias(a.name()) for a in columns))
    test = F.udf(guarded(condition), "boolean", useArrow=False)
    with told():
        return names(users.plan(frame.filter(test(row))), name)


def check_condition(users: Catalyst, plan: Node, columns: list[Expr], condition: Any) -> None:
    """Raise what ``matching`` would, if a condition cannot be asked of the rows of ``plan``; no job."""
    if isinstance(condition, Row | Mapping):
        _pairs(users, columns, condition)
    elif isinstance(condition, Column | str):
        filtered(users, plan, condition, columns)
    elif not callable(condition):
        raise TypeError(
            f"where() takes a Column, SQL, a Row of the result or a function of a Row, not {shown(condition)}; where('x > 1')"
        )


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
def _computed(condition: Column | str) -> Iterator[None]:
    """Raise a PredicateError where Spark fails of values, and not of its own troubles."""
    try:
        with unlogged():
            yield
    except PySparkException as problem:
        if not isinstance(problem, PythonException) and not problem.getQueryContext():
            raise
        raise PredicateError(
            f"where({shown(condition)}) cannot be computed on all of these rows: {_first(problem)}",
            remedy="Write it with functions that give NULL there, such as try_cast, or choose with a function of a Row.",
        ) from problem


def _first(problem: PySparkException) -> str:
    return str(problem).strip().split("\n", 1)[0].rstrip(".")


def _misunderstood(problem: AnalysisException, condition: Any, names: list[str]) -> BigdebugError:
    missing = (problem.getMessageParameters() or {}).get("objectName", "").strip("`")
    if (problem.getCondition() or "").startswith("UNRESOLVED_COLUMN") and missing:
        return UnknownColumnError("There is no such column here", value=missing, remedy=remedy(names, missing))
    return PredicateError(f"where({shown(condition)}) cannot be understood here: {_first(problem)}", remedy=remedy(names))
