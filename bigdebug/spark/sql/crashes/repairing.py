"""Repairing: what becomes of the rows that a query crashes on, which are left out, or others come in their place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bigdebug.agents.copies import copied_or_same
from bigdebug.errors import ReplayError
from bigdebug.outside import from_outside, said
from bigdebug.shown import shown
from bigdebug.spark.sql.crashes.blamed import Input
from bigdebug.spark.sql.crashes.telling import Key, key_of
from bigdebug.trace.culprit import CrashCulprit
from bigdebug.trace.culprits import Culprits


class Repairing:
    """What is decided of the culprits of a run, ``known``, and of those that come to light when it goes on.

    ``skip`` and ``repair`` are the user's: True for all, or some culprits; rows by culprit, or a function of a row.
    """

    def __init__(self, known: Culprits, skip: Any, repair: Any) -> None:
        self.besides: dict[Input, list[Any]] = {}
        """Rows in the place of others, by where these were."""
        self.function: Callable[[Any], Any] | None = repair if callable(repair) else None
        self._skips = skip is True
        self._decided = Counter(map(own_key, known.chosen(() if isinstance(skip, bool) else skip or ())))
        self._repaired: set[Key] = set()
        for culprit in known.chosen(repair) if isinstance(repair, Mapping) else ():
            self._beside(culprit).append(repair[culprit])

    def undecided(self, culprits: Iterable[CrashCulprit]) -> list[CrashCulprit]:
        """Those of which something has still to be decided before the query can go on without them."""
        new = others(culprits, self._decided)
        if not self._skips:
            return new
        # What comes in the place of others, and crashes as they did, is left out, too.
        return [] if self.function is None else [culprit for culprit in new if own_key(culprit) not in self._repaired]

    def repair(self, new: Sequence[CrashCulprit]) -> None:
        """Put what the user's function gives in their place. Raises ReplayError for one that crashes as that in whose place it came, and where the function raises."""
        assert self.function is not None
        if same := next((culprit for culprit in new if own_key(culprit) in self._repaired), None):
            raise ReplayError(f"The row that repair gives in the place of {shown(same.record)} crashes as that did", remedy="Give another one, or skip=True.")
        self._repaired.update(map(own_key, new))
        for culprit in new:
            self._beside(culprit).append(self._given(self.function, culprit.record))

    @staticmethod
    def _given(function: Callable[[Any], Any], row: Any) -> Any:
        try:
            return function(copied_or_same(row))
        except Exception as problem:
            if from_outside(problem):
                raise
            raise ReplayError(
                f"The repair of {shown(row)} raised {type(problem).__name__}: {said(problem)}", remedy="Give a function that takes such rows, too, or skip=True.",
            ) from problem

    def _beside(self, culprit: CrashCulprit) -> list[Any]:
        """The rows among which one comes in the place of a culprit, of which that is decided now."""
        self._decided[own_key(culprit)] += 1
        return self.besides.setdefault(place_of(culprit), [])


def own_key(culprit: CrashCulprit) -> Key:
    """What names a culprit of which something can be decided by itself."""
    if culprit.place is None:
        raise ReplayError(
            f"{culprit.operator} crashed on rows together, or on what is no row of a DataFrame, and is not run without it here",
            remedy="Filter the rows out of its input: culprit.sources tells which they are.",
        )
    return key_of(culprit)


def place_of(culprit: CrashCulprit) -> Input:
    """Where another row can come in the place of a culprit."""
    where: Input = culprit.place
    if not where.whole:
        why = "is given rows without the key of their group, which another row in the place of one might not have"
        raise ReplayError(
            f"{culprit.operator} {why if culprit.operator.parents else 'reads lines of a file, and no other line comes in the place of one'}",
            remedy="Leave the row out with skip=, or repair it in the input.",
        )
    return where


def others(culprits: Iterable[CrashCulprit], decided: Counter[Key]) -> list[CrashCulprit]:
    """The culprits of which nothing was decided yet."""
    left = decided.copy()
    found = []
    for culprit in culprits:
        key = own_key(culprit)
        if left[key]:
            left[key] -= 1
        else:
            found.append(culprit)
    return found
