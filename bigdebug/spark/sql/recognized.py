"""Recognized rows: those of a captured result that a condition holds for, found again in the query by their values.

The rows that an action gave are the user's; a run keeps references to them. So a condition need not be computed again, a limit
only where it left out what looks the same, and what the query gives now is compared with what it gave then: if it differs, nothing is answered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import isclose, isnan, nan
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, Row
from pyspark.sql.pandas.types import to_arrow_type

from bigdebug.errors import NondeterminismError
from bigdebug.shown import shown
from bigdebug.spark.predicate import guarded, told
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.keys import restricted
from bigdebug.spark.sql.plans.kinds import ABSOLUTE, RELATIVE, equal_in_python, is_floating, is_of, kind_of
from bigdebug.spark.sql.runs import FrameRun
from bigdebug.spark.sql.spelling import names_of
from bigdebug.spark.sql.steps import Steps
from bigdebug.spark.unlogged import unlogged
from bigdebug.trace.names import NOTHING, Names, distinct, places

MOST = 200
"""Rows that are found by their values; for more, the query is computed as it is."""


def recognized(run: FrameRun, steps: Steps, condition: Any) -> Names | None:
    """The names of the result's rows that ``condition`` holds for; None if they have to be found otherwise.

    Raises NondeterminismError if the query does not give these rows, in these numbers, once more.
    """
    if run.rows is None:
        return None
    chosen = _chosen(run, condition)
    if chosen is None:
        return None
    if not chosen:
        return NOTHING
    columns, fields = _compared(run)
    if (names := _written(run, steps, chosen)) is not None:
        return names
    exact = [i for i, kind in fields if _exact(kind)]
    kept: Counter[tuple[Any, ...]] = Counter(_values(row, fields) for row in run.rows)
    wanted = {_values(row, fields): row for row in chosen}
    if not exact or len(wanted) > MOST or sum(kept[value] for value in wanted) != len(chosen):
        return None  # too many, or other columns tell them from rows that were not chosen
    return _found(run, steps, [columns[i] for i, _ in fields], fields, wanted, kept)


def check_whole(run: FrameRun) -> None:
    """Raise NondeterminismError if the query does not give the rows of the run; a job, where the plan alone does not say so."""
    if run.rows is None or run.questions.settled_by_plan or run.questions.root.draws:
        return
    columns, fields = _compared(run)
    fields = [(i, kind) for i, kind in fields if _exact(kind)]
    catalyst = run.questions.catalyst
    marked = {"row": catalyst.literal(True, "boolean")} | {f"c{i}": columns[i] for i, _ in fields}
    table = catalyst.table(run.questions.root.plan(catalyst), marked)
    given = Counter(zip(*(table[f"c{i}"].to_pylist() for i, _ in fields))) if fields else Counter({(): table.num_rows})
    kept = Counter(_values(row, fields) for row in run.rows)
    if given != kept:
        raise NondeterminismError(
            f"The run gave {len(run.rows):,} rows, and the query gives {table.num_rows:,} now, {(given - kept).total():,} of them others",
            remedy="Its order or its functions do not settle the result: capture the action with strategy='inject'.",
        )


def result_names(run: FrameRun) -> Names | None:
    """The names of all rows of the result, if the run kept them and they spell their names."""
    return None if run.rows is None else _written(run, run.questions.steps(), run.rows)


def index(run: FrameRun) -> None:
    """Index the whole lineage of a run."""
    run.questions.index(result_names(run))


def _compared(run: FrameRun) -> tuple[list[Any], list[tuple[int, Any]]]:
    """The columns of the result, and positions and types of those that are the same each time and can be compared."""
    columns = run.questions.catalyst.items(run.questions.root.node.output())
    return columns, [
        (i, field.dataType) for i, field in enumerate(run.frame.schema.fields)
        if (equal_in_python(kind_of(field.dataType)) or is_floating(kind_of(field.dataType))) and columns[i].exprId().id() not in run.questions.unsettled.columns
    ]


def _written(run: FrameRun, steps: Steps, rows: Sequence[Row]) -> Names | None:
    if not run.questions.settled_by_plan or (spelling := steps.spelling) is None or not rows:
        return None
    columns, fields = _compared(run)
    at = {columns[i].exprId().id(): (i, kind) for i, kind in fields if _exact(kind)}

    def values(column: int) -> pa.Array | None:
        if column not in at:
            return None
        i, kind = at[column]
        return pa.array([row[i] for row in rows], arrow_of(kind))

    return names_of(spelling, len(rows), values)


def _chosen(run: FrameRun, condition: Any) -> Sequence[Row] | None:
    rows = run.rows or ()
    if isinstance(condition, Row):
        return [row for row in rows if row == condition and getattr(row, "__fields__", None) == getattr(condition, "__fields__", None)] or None
    if isinstance(condition, Mapping):
        names = run.frame.columns
        kinds = {field.name: field.dataType for field in run.frame.schema.fields}
        if not set(condition) <= set(names) or len(set(names)) < len(names):
            return None
        if not all(_exact(kinds[name]) and is_of(kind_of(kinds[name]), value) for name, value in condition.items()):
            return None  # Spark knows what is equal
        return [row for row in rows if all(row[name] == value for name, value in condition.items())]
    if isinstance(condition, str | Column):
        return _matching(run, condition)
    if callable(condition):
        test = guarded(condition)
        with told():
            return [row for row in rows if test(row)]
    return None


def _matching(run: FrameRun, condition: Any) -> Sequence[Row] | None:
    """The kept rows that a condition of Spark's holds for; None if it speaks of more than their columns."""
    rows = run.rows or ()
    names = [f"{name}" for name in run.frame.columns]
    if len({name.lower() for name in names}) < len(names) or not rows:
        return None
    if "timestamp" in run.frame.schema.simpleString():
        return None  # in an hour of autumn there are two times for one that PySpark gives
    try:
        with unlogged():
            met = _under_their_ids(run, rows).filter(condition)
            if not run.questions.users.plan(met).deterministic():
                return None  # of which file, or partition, a row is
            found: list[Row] = unheard(met, "collect")
        return found
    except PySparkException:
        return None


def _under_their_ids(run: FrameRun, rows: Sequence[Row]) -> Any:
    """Kept rows as a DataFrame: a Column of the one that the action was called on is a column of it, too."""
    users = run.questions.users
    plan = users.plan(users.spark.createDataFrame(list(rows), run.frame.schema))
    known = users.items(users.plan(run.frame).output())
    return users.frame(users.project([users.renamed(given, column) for given, column in zip(users.items(plan.output()), known)], plan))


def _found(
    run: FrameRun, steps: Steps, columns: Sequence[Any], fields: Sequence[tuple[int, Any]],
    wanted: Mapping[tuple[Any, ...], Row], kept: Mapping[tuple[Any, ...], int],
) -> Names:
    catalyst = run.questions.catalyst
    plan, name = steps.unlimited(run.subject)
    exact = [j for j, (_, kind) in enumerate(fields) if _exact(kind)]
    values = list(wanted)
    arrays = [pa.array([value[j] for value in values], type=arrow_of(fields[j][1])) for j in exact]
    plan = restricted(catalyst, plan, [columns[j] for j in exact], arrays)
    table = catalyst.table(plan, {"name": name} | {f"c{j}": column for j, column in enumerate(columns)})
    given = list(zip(*(map(_one_nan, table[f"c{j}"].to_pylist()) for j in range(len(columns)))))
    called = table["name"].combine_chunks()
    meant = {}
    for i, row in enumerate(given):
        known = row if row in wanted else None if row in kept else next((value for value in values if _alike(value, row)), None)
        if known is not None:
            meant[i] = known
    found = Counter(meant.values())
    if steps.broader(run.subject) and any(found[value] > kept[value] for value in wanted):  # a limit left some of them out
        run.questions.settle()
        kept_names = steps.names(*steps.rows(run.subject, called.take(pa.array(list(meant), pa.int64()))))
        meant = {i: meant[i] for i in places(called, kept_names).tolist() if i in meant}
        found = Counter(meant.values())
    for value, row in wanted.items():
        if found[value] != kept[value]:
            raise NondeterminismError(
                f"The run gave the row {shown(row)} {_times(kept[value])}, and the query gives it {_times(found[value])} now",
                remedy="Its order or its functions do not settle the result: capture the action with strategy='inject'.",
            )
    return distinct(called.take(pa.array(list(meant), pa.int64())))


def arrow_of(kind: Any) -> pa.DataType:
    """The type in Arrow; what is in a struct that is NULL is NULL, too, whatever Spark says of it."""
    return to_arrow_type(kind._as_nullable())


def _exact(kind: Any) -> bool:
    return equal_in_python(kind_of(kind))


def _values(row: Any, fields: Sequence[tuple[int, Any]]) -> tuple[Any, ...]:
    return tuple(_one_nan(row[i]) for i, _ in fields)


def _one_nan(value: Any) -> Any:
    """The value; of NaNs, which are not equal, always the same one."""
    return nan if isinstance(value, float) and isnan(value) else value


def _alike(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Sums of floating point come out a little otherwise in another order."""
    return all(a == b or _about(a, b) for a, b in zip(one, other))


def _about(one: Any, other: Any) -> bool:
    if not isinstance(one, float) or not isinstance(other, float):
        return False
    return isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE) or (isnan(one) and isnan(other))


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"

