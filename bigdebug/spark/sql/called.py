"""Called: the columns that are meant by the names that a user gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from bigdebug.errors import UnknownColumnError
from bigdebug.spark.sql.plans.catalyst import Catalyst
from bigdebug.spark.sql.plans.kinds import is_number
from bigdebug.trace.given import labels

_LISTED = 20
"""Columns that a message names at most."""


def called(users: Catalyst, given: Any, known: Iterable[str], place: str = "here") -> tuple[str, ...]:
    """The columns among ``known`` that one name means, or several, as they are called there: in any case, where Spark takes it so.

    Raises UnknownColumnError for names of no column ``place``, or of several; TypeError for what is no name.
    """
    columns = list(known)
    fold = str if users.minds_case else str.lower
    found = []
    for name in labels(given):
        meant = [c for c in columns if fold(c) == fold(name)]
        if not meant:
            raise UnknownColumnError(f"There is no such column {place}", value=name, remedy=remedy(columns, name))
        if len(meant) > 1:
            raise UnknownColumnError("Several columns have this name", value=name, remedy="Rename them first: df.toDF(...).")
        found.append(meant[0])
    return tuple(found)


def check_sums(kinds: Mapping[str, str], wanted: Iterable[str], place: str = "") -> None:
    """Raise UnknownColumnError for a column that has no sums; ``kinds`` are the types, ``place`` stands before the name."""
    for name in wanted:
        if not is_number(kinds[name]):
            raise UnknownColumnError(
                f"{place}{name} is of type {kinds[name].lower()}, and sums are of numbers", remedy="Name a numeric column.",
            )


def remedy(columns: Sequence[str], name: str = "") -> str:
    """What to write in the place of ``name``: one of the columns; if they are many, those that are called nearly so."""
    more = len(columns) - _LISTED
    if more > 0 and (near := get_close_matches(name, columns, 3)):
        return f"The nearest {'are' if len(near) > 1 else 'is'} {', '.join(near)}."
    return f"The columns are {', '.join(columns[:_LISTED])}{f' and {more:,} more' if more > 0 else ''}."
