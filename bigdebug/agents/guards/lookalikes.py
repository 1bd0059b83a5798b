"""Lookalikes: rows on which a function crashes because it crashed on the same values. What is wrong with one record, is wrong with many."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from bigdebug.agents.guards.batches import Column, rows_of, values_of
from bigdebug.agents.guards.code import told
from bigdebug.agents.guards.crash import message_of
from bigdebug.agents.guards.halving import Alike

_QUOTED = re.compile(r"'([^'\n]*)'|\"([^\"\n]*)\"")

_GUESSES = 4
"""Texts of an exception that are looked for."""

_MOST = 1_000
"""Different rows that are kept in mind."""

_VAIN = 7
"""Looks in a row that found nothing: from then on so many are left out for each."""

_TEXTS = {str, type(None)}

Raising = dict[Any, BaseException]
"""What a function raises on rows with some values, on each alone."""


class Lookalikes:
    """The rows on which a function crashed alone in a task, by their values. Those of columns of other types are others: 3 is not 3.0."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], Raising] = {}
        self._told: dict[int, tuple[BaseException, bytes]] = {}
        self._vain = 0

    def among(self, columns: Sequence[Column]) -> Alike:
        """Those of a batch with some columns."""
        return _InBatch(self, self._known.setdefault(tuple(map(_type, columns)), {}), columns)

    def looks(self) -> bool:
        """Whether to look for rows with known values, which takes as long as to call a light function on half of them. Where all that crash differ, nearly all looks are in vain."""
        self._vain += 1
        return self._vain <= _VAIN or self._vain % _VAIN == 0

    def found(self) -> None:
        """A look was not in vain."""
        self._vain = 0

    def told(self, problem: BaseException) -> bytes:
        """What is told of an exception on a row alone."""
        return self._told[id(problem)][1] if id(problem) in self._told else told(problem)

    def keep(self, problem: BaseException) -> None:
        """To show what was in its variables takes as long as to call the function on thousands of rows; and they would hold on to its batch."""
        self._told[id(problem)] = problem, self.told(problem)
        for held in ("__traceback__", "__cause__", "__context__"):
            vars(BaseException)[held].__set__(problem, None)  # a class of the user's may let nobody set what it has


class _InBatch:

    def __init__(self, kept: Lookalikes, known: Raising, columns: Sequence[Column]) -> None:
        self._kept = kept
        self._known = known
        self._columns = columns
        self._given: set[int] = set()

    def told(self, problem: BaseException) -> bytes:
        return self._kept.told(problem)

    def __call__(self, alone: Mapping[int, BaseException]) -> dict[int, BaseException]:
        """Where rows are as those at some places are; at first, as those in batches before. Each place is given once."""
        self._given.update(alone)
        learned: Raising = {}
        try:
            if not alone:
                found = self._where(self._known)
            else:
                for row, raised in zip(self._rows([*alone]), alone.values(), strict=True):
                    learned |= self._learn(row, raised)
                found = self._where(learned)
        except TypeError:  # lists and the like cannot be looked up
            return {}
        more = {place: raised for place, raised in found.items() if place not in self._given}
        if more:
            self._kept.found()
        self._given.update(more)
        return more

    def _learn(self, row: Any, raised: BaseException) -> Raising:
        """The function crashed on a row: what is to be looked for then. Of floats it is not known whether those are the same that are equal."""
        if row in self._known:
            return {row: self._known[row]}
        if len(self._known) == _MOST or _has_float(row):
            return {}
        self._known[row] = raised
        self._kept.keep(raised)
        return {row: raised}

    def _where(self, known: Raising) -> dict[int, BaseException]:
        places = self._like(known) if known and self._kept.looks() else ()
        rows = self._rows(places) if places else ()
        return {place: known[row] for place, row in zip(places, rows, strict=True) if row in known}

    def _like(self, known: Raising) -> Sequence[int]:
        """Where rows may be known, by their first column: of ten thousand texts that takes a third of the time that it takes to look each up. That none is known takes a fifth of that."""
        column = self._columns[0]
        if not hasattr(column, "array"):
            return range(rows_of(column))
        firsts = known.keys() if len(self._columns) == 1 else {row[0] for row in known}
        texts = [*firsts]
        if len(texts) > 1 and column.dtype == object and firsts.isdisjoint(self._values[0]):
            return ()
        alike = _equals(column, texts[0]) if len(texts) == 1 and isinstance(texts[0], str) else column.isin(texts)
        places: list[int] = np.flatnonzero(alike).tolist()
        return places

    def _rows(self, places: Sequence[int]) -> list[Any]:
        columns = [values_of(column, places) for column in self._columns]
        return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))

    def named(self, problem: BaseException, behind: int) -> list[int]:
        """Those with a text that the exception's own quotes: what cannot be parsed is mostly said."""
        quoted = dict.fromkeys(one or other for one, other in _QUOTED.findall(message_of(problem))[:_GUESSES])
        return sorted({place for text in quoted for column in self._texts for place in _first(column, text, behind)})

    @cached_property
    def _values(self) -> list[list[Any]]:
        """What each column has, as Python has it."""
        return [values_of(column, range(rows_of(column))) for column in self._columns]

    @cached_property
    def _texts(self) -> list[list[Any]]:
        """The columns of texts alone. To compare a text with something else may raise: pandas' NA is neither equal nor not."""
        return [values for values in self._values if _are_texts(values)]


def _are_texts(values: list[Any]) -> bool:
    kinds = [*map(type, values)]
    return kinds.count(str) == len(kinds) or {*kinds} <= _TEXTS


def _equals(column: Column, text: str) -> Any:
    """Where a column has a text. Half as long as isin."""
    try:
        return column.to_numpy() == text
    except (TypeError, ValueError):  # pandas' NA is neither equal nor not
        return column.isin([text])


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
