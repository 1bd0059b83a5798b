"""Seen: what an application made that its queries read later, by what these are told of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bigdebug.datasets.model import Dataset
from bigdebug.datasets.naming import of_session

_ID = re.compile(r'"id": ?(\d+)')
"""The number of a column where Spark writes a plan."""


@dataclass
class Seen:
    """The checkpoints, caches and models of one application. Grows by some hundred bytes for each."""

    session: str
    _checkpoints: dict[frozenset[int], Dataset] = field(default_factory=dict)
    """By the columns of the queries that were kept."""
    _rdds: dict[int, Dataset] = field(default_factory=dict)
    """The same by their RDDs, once they were read."""
    _caches: set[Dataset] = field(default_factory=set)
    _models: dict[int, Dataset] = field(default_factory=dict)
    """By the columns that they make."""
    _variables: dict[str, set[str]] = field(default_factory=dict)
    """Variables that are made of data, by the sessions that have them."""
    _turned: dict[frozenset[int], tuple[Dataset, ...]] = field(default_factory=dict)
    """What frames were made of that were transposed, by their columns: Spark forgets it."""
    _views: dict[str, list[str]] = field(default_factory=dict)
    """The sessions that defined a temporary view, by its name."""
    _dropped: set[str] = field(default_factory=set)
    """Tables, views and databases that commands have just dropped which have not ended."""

    def checkpointed(self, ids: frozenset[int]) -> Dataset:
        """The rows that a checkpoint has just kept of a query whose columns have these numbers."""
        return self._checkpoints.setdefault(ids, of_session(self.session, f"checkpoint {len(self._checkpoints) + 1}", "memory"))

    def checkpoint(self, rdd: Any, ids: frozenset[int]) -> Dataset | None:
        """The checkpoint that a leaf reads: it has the columns of the query that was kept; where that is read twice, the same RDD."""
        number = int(rdd.id())
        known = self._rdds.get(number) or self._checkpoints.get(ids)
        if known is not None:
            self._rdds[number] = known
        return known

    def turns(self, ids: frozenset[int], sources: tuple[Dataset, ...]) -> None:
        """A frame whose columns have these numbers is another one transposed, which was made of these."""
        self._turned[ids] = sources

    def turned(self, ids: frozenset[int]) -> tuple[Dataset, ...]:
        """What a transposed frame was made of; nothing if that was not seen."""
        return self._turned.get(ids, ())

    def variables(self, session: Callable[[], str]) -> Collection[str]:
        """The variables of a session that are made of data. ``session`` is asked if there are any at all."""
        return self._variables.get(session(), ()) if self._variables else ()

    def sets(self, variables: Iterable[str], session: str, is_made: bool) -> None:
        """Variables of a session are set, to something that is made of data or not."""
        known = self._variables.setdefault(session, set())
        if is_made:
            known.update(variables)
        else:
            known.difference_update(variables)

    def number_of(self, view: str, session: str, defines: bool) -> int:
        """Which of the sessions that defined a temporary view this one is, from 0 on. One that did not has it of the first, of which it is a copy."""
        sessions = self._views.setdefault(view, [])
        if defines and session not in sessions:
            sessions.append(session)
        return sessions.index(session) if session in sessions else 0

    def drops(self, name: str) -> None:
        """A table, a view or a database is dropped that was there."""
        self._dropped.add(name)

    def dropped(self, name: str) -> bool:
        """Whether the command that ends now dropped what is called so."""
        was_there = name in self._dropped
        self._dropped.discard(name)
        return was_there

    def is_new(self, cache: Dataset) -> bool:
        """Whether a cache was not seen before."""
        known = cache in self._caches
        self._caches.add(cache)
        return not known

    def uses(self, ids: frozenset[int], model: Dataset) -> None:
        """Columns with these numbers are made by a model."""
        self._models.update(dict.fromkeys(ids, model))

    @property
    def made_by(self) -> Mapping[int, str]:
        """The names of models, by the numbers of the columns that they make."""
        return {number: model.name for number, model in self._models.items()}

    def models(self, plan: str) -> list[Dataset]:
        """The models that a plan asks, as Spark wrote it: it has columns that they make."""
        if not self._models:
            return []
        return list(dict.fromkeys(self._models[number] for number in map(int, _ID.findall(plan)) if number in self._models))
