"""Lookalikes: rows on which a function crashes because it crashed on the same values. What is wrong with one record, is wrong with many."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from bigdebug.agents.guards.halving import Alike

_MOST = 1_000
"""Different rows that are kept in mind."""

Raising = dict[int, BaseException]
"""What a function raises on rows at some places, on each alone."""


class Lookalikes:
    """The rows on which a function crashed alone in a task, by their values, which are of the same types in all rows."""

    def __init__(self) -> None:
        self._known: dict[Hashable, BaseException] = {}

    def learn(self, row: Any, raised: BaseException) -> None:
        """The function crashed on a row. Of floats it is not known whether those are the same that are equal."""
        if len(self._known) < _MOST and not any(isinstance(value, float) for value in (row if isinstance(row, tuple) else (row,))):
            self._known[row] = raised

    def among(self, columns: Sequence[Any]) -> Alike:
        """Those of a batch with some columns."""
        return _InBatch(self, columns)

    def where(self, rows: Sequence[Any]) -> Raising:
        """Where rows are that have the same values."""
        known = self._known
        return {place: known[row] for place, row in enumerate(rows) if row in known} if known else {}


class _InBatch:

    def __init__(self, lookalikes: Lookalikes, columns: Sequence[Any]) -> None:
        self._lookalikes = lookalikes
        lists = [_values(column) for column in columns]
        self._rows: Sequence[Any] = lists[0] if len(lists) == 1 else list(zip(*lists, strict=True))
        self._given: set[int] = set()

    def __call__(self, found: Mapping[int, BaseException]) -> Raising:
        """Where rows are as those at some places are, or as those in batches before. Each place is given once."""
        self._given.update(found)
        try:
            for place, raised in found.items():
                self._lookalikes.learn(self._rows[place], raised)
            more = {place: raised for place, raised in self._lookalikes.where(self._rows).items() if place not in self._given}
        except TypeError:  # lists and the like cannot be looked up
            return {}
        self._given.update(more)
        return more


def _values(column: Any) -> list[Any]:
    if hasattr(column, "to_pylist"):
        return list(column.to_pylist())
    return list(column.itertuples(index=False, name=None) if hasattr(column, "itertuples") else column)
