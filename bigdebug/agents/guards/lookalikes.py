"""Lookalikes: rows on which a function crashes because it crashed on the same values. What is wrong with one record, is wrong with many."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from itertools import compress
from typing import Any

from bigdebug.agents.guards.crash import message_of
from bigdebug.agents.guards.halving import Alike

_QUOTED = re.compile(r"'([^'\n]*)'|\"([^\"\n]*)\"")

_GUESSES = 4
"""Texts of an exception that are looked for."""

_MOST = 1_000
"""Different rows that are kept in mind."""

_TEXTS = {str, type(None)}

Raising = dict[Hashable, BaseException]
"""What a function raises on rows with some values, on each alone."""


class Lookalikes:
    """The rows on which a function crashed alone in a task, by their values. Those of columns of other types are others: 3 is not 3.0."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], Raising] = {}

    def among(self, columns: Sequence[Any]) -> Alike:
        """Those of a batch with some columns."""
        return _InBatch(self._known.setdefault(tuple(map(_type, columns)), {}), columns)


class _InBatch:

    def __init__(self, known: Raising, columns: Sequence[Any]) -> None:
        self._known = known
        self._columns = [_values(column) for column in columns]
        self._rows: Sequence[Any] = self._columns[0] if len(columns) == 1 else list(zip(*self._columns, strict=True))
        self._given: set[int] = set()

    def __call__(self, alone: Mapping[int, BaseException]) -> dict[int, BaseException]:
        """Where rows are as those at some places are; at first, as those in batches before. Each place is given once."""
        self._given.update(alone)
        learned: Raising = {}
        try:
            for place, raised in alone.items():
                learned |= self._learn(self._rows[place], raised)
            found = self._where(learned if alone else self._known)
        except TypeError:  # lists and the like cannot be looked up
            return {}
        more = {place: raised for place, raised in found.items() if place not in self._given}
        self._given.update(more)
        return more

    def _learn(self, row: Any, raised: BaseException) -> Raising:
        """The function crashed on a row: what is new of that. Of floats it is not known whether those are the same that are equal."""
        if row in self._known or len(self._known) == _MOST or _has_float(row):
            return {}
        self._known[row] = raised
        return {row: raised}

    def _where(self, known: Raising) -> dict[int, BaseException]:
        rows = self._rows
        return {place: known[rows[place]] for place in compress(range(len(rows)), map(known.__contains__, rows))} if known else {}

    def named(self, problem: BaseException, behind: int) -> list[int]:
        """Those with a text that the exception's own quotes: what cannot be parsed is mostly said."""
        quoted = dict.fromkeys(one or other for one, other in _QUOTED.findall(message_of(problem))[:_GUESSES])
        return sorted({place for column in self._texts for text in quoted for place in _first(column, text, behind)})

    @cached_property
    def _texts(self) -> list[list[Any]]:
        """The columns of texts alone. To compare a text with something else may raise: pandas' NA is neither equal nor not."""
        return [column for column in self._columns if {*map(type, column)} <= _TEXTS]


def _type(column: Any) -> str:
    if hasattr(column, "dtypes"):  # a Series has one, a DataFrame several
        return str(column.dtypes if hasattr(column, "dtype") else list(column.dtypes))
    return str(column.type)


def _has_float(value: Any) -> bool:
    return any(map(_has_float, value)) if isinstance(value, tuple) else isinstance(value, float)


def _first(column: list[Any], text: str, behind: int) -> list[int]:
    try:
        return [column.index(text, behind)]
    except ValueError:  # it is not there
        return []


def _values(column: Any) -> list[Any]:
    if hasattr(column, "to_pylist"):
        return list(column.to_pylist())
    return list(column.itertuples(index=False, name=None)) if hasattr(column, "itertuples") else list(column.tolist())
