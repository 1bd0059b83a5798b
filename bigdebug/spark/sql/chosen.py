"""Chosen rows: those of a trace for which a condition holds, and how many there are of each kind; from an index if it was declared."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, Row
from pyspark.sql import functions as F

from bigdebug.errors import UnknownColumnError, UnknownRecordError
from bigdebug.shown import shown
from bigdebug.spark.interruption import planning
from bigdebug.spark.sql.actions import unheard
from bigdebug.spark.sql.called import called, check_sums, remedy
from bigdebug.spark.sql.declared import Declared
from bigdebug.spark.sql.matching import check_condition, matching
from bigdebug.spark.sql.plans.determinism import check_decisions
from bigdebug.spark.sql.recognized import recognized
from bigdebug.spark.sql.records import Found
from bigdebug.spark.sql.rows import Rows
from bigdebug.spark.sql.values import equal_rows
from bigdebug.trace.given import rids_given
from bigdebug.trace.names import NOTHING, Names, merged, without

if TYPE_CHECKING:
    from typing_extensions import Self


class ChosenRows(Rows):
    """Rows of which some can be chosen."""

    @planning()
    def where(self, condition: Column | str | Row | Mapping[str, Any] | Callable[[Row], Any]) -> Self:
        """The rows for which ``condition`` holds: a Column, SQL, a function of a Row, or a Row itself (those equal to it)."""
        here = self._one_source("where()")
        check_condition(self.run.questions.users, self._plan(here), self._columns(here), condition)
        base, known = self._pushed(here) or (self, None)

        def find() -> Found:
            steps, questions = self._steps, self.run.questions
            if known is not None and (names := base._above(here)) is not None:
                rids = known.chosen(steps, questions.leaves[here], names, condition, base is not self)
                if rids is not None:
                    return {here: rids}
            if self._whole and (rows := recognized(self.run, steps, condition)) is not None:
                return {here: rows}
            decides = partial(check_decisions, questions.catalyst, questions.operators[here], unsettled=questions.unsettled, asked=True)
            found = {}
            for operator in self.operators:  # of a source that is read several times, there are several
                plan, name = self._shown(operator, self._at(operator))
                found[operator] = matching(questions.users, plan, name, self._columns(operator), condition, steps.names, decides)
            if isinstance(condition, Row) and not any(map(len, found.values())) and len(condition) == len(self._columns(here)):
                raise self._no_row(condition)
            return found

        declared = known is not None and base is self and known.is_where(self.run.questions.leaves[here], condition)
        return self._to(self.operators, find, before=(self, known) if declared else None)

    def _no_row(self, row: Row) -> UnknownRecordError:
        if not self._whole:
            return UnknownRecordError(f"This trace names no row {shown(row)}", remedy="show() tells which; where({...}) takes some columns.")
        return UnknownRecordError(
            f"The query gives no row {shown(row)} now", remedy="If it did, its order or its functions do not settle the result: "
            "capture the action with strategy='inject'. Else say where({...}) with the columns that tell the row.",
        )

    def at(self, rids: Iterable[int]) -> Self:
        """The rows of a source with these ids. Raises UnknownRecordError for an id that is not in this trace."""
        self._check_sources("at()")
        if not self._at_one:
            self._only("at()")
        wanted = pa.array(sorted(set(rids_given(rids))), pa.int64())

        def find() -> Found:
            steps = self._steps
            found: Found = {operator: steps.known(operator, self._at(operator), wanted) for operator in self.operators}
            strange = without(wanted, reduce(merged, found.values(), NOTHING))
            if len(strange):
                rid = strange[0].as_py()
                raise UnknownRecordError(
                    f"{self.run.graph[self.operators[0]]} has no such record in this trace", value=rid, remedy="rids() lists the ids that it has.",
                )
            return found

        return self._to(self.operators, find)

    def grouped(self, *columns: str, sums: str | Sequence[str] = ()) -> Any:
        """How many of these rows have each value of some columns, and the sums of others: a pandas frame, ordered by the values.

        A job; none if ``dbg.declare(df, relations=..., group_by=columns, sums=...)`` announced it (Smoke 4.2).
        """
        operator = self._one_source("grouped()")
        users = self.run.questions.users
        kinds = [(a.name(), a.dataType().sql()) for a in self._columns(operator)]
        there = [name for name, _ in kinds]  # names may repeat
        columns, sums = called(users, columns, there), called(users, sums, there)
        if not columns:
            raise UnknownColumnError("grouped() takes columns of these rows, and none is given", remedy=remedy(there))
        check_sums(dict(kinds), sums)
        base, known = self._pushed(operator) or (self, None)
        found = None
        if known is not None and (names := base._above(operator)) is not None:
            found = known.totals(self._steps, operator, names, columns, sums, base is not self)
        if found is None:
            totals = [F.count("*").alias("count"), *(F.sum(quoted(name)).alias(f"sum({name})") for name in sums)]
            found = unheard(self.toDF().groupBy(*map(quoted, columns)).agg(*totals), "toArrow")
        return _ordered(found.to_pandas(), len(columns))

    def _pushed(self, operator: int) -> tuple[Self, Declared] | None:
        """The trace whose rows at a source were declared to be asked about, this one or the one before a condition; None if not so."""
        declared = self.run.questions.declared
        if len(self.operators) != 1 or declared is None or operator not in self.run.questions.leaves:
            return None
        if self._before is not None:
            return self._before if self._before[1] is declared else None
        return None if self._towards is None else (self, declared)

    def _above(self, operator: int) -> Names | None:
        """The names at the level above a source of the records by way of which the trace came to it; None if that is not enough."""
        questions, level = self.run.questions, self._steps.above.get(operator)
        if self._towards is None or self._others or level is None or not questions.by_steps:
            return None
        return self._towards(frozenset([level])).get(level, NOTHING)

    def equal_to(self, rows: Sequence[Row]) -> Self:
        """The rows of the whole result that are equal to one of ``rows``."""
        operator = self._only("equal_to()")

        def find() -> Found:
            steps, questions = self._steps, self.run.questions
            plan, name = self._shown(operator, self._at(operator))
            matching = equal_rows(questions.catalyst, plan, self._columns(operator), rows, self.run.frame.schema)
            return {operator: steps.names(matching, name)}

        return self._to([operator], find)

    def _to(
        self, operators: Collection[int], find: Callable[[], Found], towards: Callable[[frozenset[int]], Found] | None = None,
        before: tuple[Self, Declared | None] | None = None,
    ) -> Self:
        as_read = self._as_read and set(operators) <= set(self.operators)
        return type(self)(self.run, operators, find, self._others, towards=towards, before=before, as_read=as_read)


def _ordered(frame: Any, columns: int) -> Any:
    """A pandas frame ordered by its first columns, whatever they are called; what pandas cannot order, by how it is written."""
    def orderable(values: Any) -> Any:
        return values.map(repr) if values.map(lambda value: isinstance(value, dict | list | np.ndarray)).any() else values

    order = frame.iloc[:, :columns].set_axis(range(columns), axis=1).sort_values(list(range(columns)), key=orderable).index
    return frame.loc[order].reset_index(drop=True)


def quoted(name: str) -> str:
    """A name for SQL, whatever is in it."""
    escaped = name.replace("`", "``")
    return f"`{escaped}`"
