"""Guarded functions of a row that are handed all rows of a batch, so that Spark calls no guard for each row."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from bigdebug.agents.guards.batches import Column, rows_of
from bigdebug.agents.guards.code import Code, told
from bigdebug.agents.guards.columns import Making, Telling
from bigdebug.agents.guards.inflight import crashes, crashes_of_calls


@dataclass(frozen=True)
class GuardedRows(Telling):
    """A guarded function of a row, as one of Arrow's columns. What it tells once, it tells once in a batch."""

    code: Code
    column: Making
    values: Callable[[list[Any]], Column | None]
    """Makes a column of what the function gave; None if that is not all of one kind."""
    sized: bool = False
    certain: Callable[[Any], Callable[[Column], bool] | None] | None = None
    """As in ``GuardedColumns``."""

    def __call__(self, *columns: Column) -> Column:
        rows = rows_of(columns)
        try:
            function = self.code.function
        except crashes() as problem:  # what cannot be unpickled crashes on each row
            return self._told(dict.fromkeys(range(rows), told(problem)), rows, None)
        lists = [column.to_pylist() for column in columns]
        crashed, given = self._called(function, lists[0]) if len(lists) == 1 else self._called(lambda row: function(*row), zip(*lists, strict=True))
        values = self.values(given) if self.sized or self._surely_fits is not None else None
        return self._told(crashed, rows, values)

    @staticmethod
    def _called(function: Callable[[Any], Any], rows: Iterable[Any]) -> tuple[dict[int, bytes], list[Any]]:
        """What is told of the rows that a function crashes on, and what it gives of the others."""
        crashed, given, source = dict[int, bytes](), list[Any](), iter(rows)
        while True:
            try:
                for row in source:
                    given.append(function(row))
            except crashes_of_calls() as problem:
                crashed[len(given) + len(crashed)] = told(problem)
            else:
                return crashed, given
