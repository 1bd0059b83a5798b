"""Paged rows: those of a trace by their numbers, some at a time, for somebody who looks at them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.conversion import ArrowTableToRowsConversion
from pyspark.sql.types import StringType, StructField, StructType

from bigdebug.spark.sql.chosen import ChosenRows
from bigdebug.spark.sql.far import Far, together
from bigdebug.spark.sql.plans.python_values import shown_as_text
from bigdebug.spark.sql.records import Found
from bigdebug.trace.given import number
from bigdebug.trace.names import Names, array_of, codes_of
from bigdebug.trace.page import Page, check_numbers, numbers_given

if TYPE_CHECKING:
    from typing_extensions import Self

_NAME = "__bigdebug_name"

MOST = 10_000
"""Rows that have numbers: who wants to see others says which, by ``where``."""


class PagedRows(ChosenRows):
    """Rows in an order that stays: at a source that of their rids, elsewhere the one in which they were found."""

    def numbered(self, numbers: Iterable[int]) -> Self:
        """The rows with these numbers, counted from 0; of equal rows that were made at once, all. Raises UnknownRecordError for others.

        The first 10,000 have numbers.
        """
        wanted = numbers_given(numbers)
        operator = self._one_source("numbered()")

        def find() -> Found:
            check_numbers(wanted, len(self._ordered), self.run.graph[operator])
            names = self._ordered.take(pa.array(wanted))
            if len(self.operators) == 1:
                return {operator: names}
            # A source that is read several times: each occurrence has those of the rows that the trace names there.
            return {occurrence: self._steps.known(occurrence, self._at(occurrence), names) for occurrence in self.operators}

        return self._to(self.operators, find)

    def page(self, start: int = 0, num: int = 50) -> Page:
        """``num`` rows from number ``start`` on, and those that only go together with one of them. A job, and one before for the order."""
        start, num = number(start, "the number of the first row"), number(num, "rows of a page")
        operator = self._one_source("page()")
        numbers = range(start, min(start + num, len(self._ordered)))
        catalyst, leaf = self.run.questions.catalyst, self.run.questions.leaves.get(operator)
        part = self.numbered(numbers)
        plan, name = part._rows(operator)
        columns = self._columns(operator)
        table = catalyst.table(plan, {"name": name} | {f"c{i}": column for i, column in enumerate(columns)})
        found = array_of(table["name"])
        order = _places(self._ordered.slice(start, len(numbers)), found)
        kinds = catalyst.frame(plan).select(*map(catalyst.column, columns)).schema
        rows = rows_of(table.drop_columns("name"), kinds)
        by_number = sorted(range(len(rows)), key=order.__getitem__)
        shown = tuple(start + order[row] for row in by_number)
        names = None
        if leaf is not None:
            rids = found.take(pa.array(by_number, pa.int64())).to_numpy(zero_copy_only=False)
            names = tuple(map(str, leaf.origins(catalyst, rids)))
        more = numbers.stop < len(self._ordered)
        beyond = not more and len(self._first_ones) > MOST
        return Page(tuple(f.name for f in kinds), shown, names, tuple(tuple(rows[row]) for row in by_number), more, leaf is not None, beyond)

    @property
    def _ordered(self) -> Names:
        """The names of the first rows in the order of their numbers."""
        return self._first_ones.slice(0, MOST)

    @cached_property
    def _first_ones(self) -> Names:
        """These names, and one more if there is one."""
        operator = self._one_source("this")
        names = together([self._at(o) for o in self.operators])
        at_source = operator in self.run.questions.leaves
        if names is None or isinstance(names, Far):
            names = self._first(operator, names, at_source)
        return (names.take(pc.sort_indices(names)) if at_source else names).slice(0, MOST + 1)

    def _first(self, operator: int, names: Names, at_source: bool) -> Names:
        """The names of the first rows of those in Spark."""
        catalyst = self.run.questions.catalyst
        plan, name = self._steps.rows(operator, names)
        frame = catalyst.frame(catalyst.project([catalyst.alias(name, _NAME)], plan))
        limited = catalyst.plan((frame.orderBy(_NAME) if at_source else frame).limit(MOST + 1))
        return self._steps.names(limited, limited.output().head())


def rows_of(table: pa.Table, kinds: StructType) -> list[Any]:
    """The rows of columns of these types as Python has them; of a column in which it has not all, their text."""
    if not table.num_columns:
        return [()] * len(table)
    read = [array_of(column) for column in table.columns]
    shown = [shown_as_text(column) for column in read]
    types = [kind.dataType if same is column else StringType() for kind, column, same in zip(kinds, read, shown, strict=True)]
    schema = StructType([StructField(name, kind) for name, kind in zip(table.column_names, types)])
    return list(ArrowTableToRowsConversion.convert(pa.table(shown, table.column_names), schema))


def _places(names: Names, wanted: Names) -> list[int]:
    """Where in ``names`` each of those ``wanted`` stands."""
    codes, _ = codes_of(pa.concat_arrays([names, wanted.cast(names.type)]))
    at = {code: place for place, code in enumerate(codes[: len(names)].tolist())}
    return [at[code] for code in codes[len(names):].tolist()]
