"""Conjunctions of atoms that hold of bad records rather than of healthy ones, and the search for those that say something."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from bigdebug.mining.atoms import Atom, Column, Flags
from bigdebug.mining.candidates import candidates

GAIN = 0.02
"""By so much a longer clause must be better than any part of it."""

_BEAM, _OF_ONE, _ALIKE = 80, 6, 5
"""Atoms that are combined, those of one field among them, and clauses for the same records that are named."""


@dataclass(frozen=True, eq=False)
class Conjunction:
    """A conjunction: its atoms with the numbers of their columns, and for which bad and healthy records it holds."""

    atoms: tuple[tuple[int, Atom], ...]
    bad: Flags
    healthy: Flags
    covers: float
    others: float
    alike: tuple[Conjunction, ...] = ()

    @property
    def score(self) -> float:
        return self.covers * (1 - math.sqrt(self.others))

    @property
    def columns(self) -> set[int]:
        return {column for column, _ in self.atoms}

    def same(self, other: Conjunction) -> bool:
        """Whether they hold for the same records."""
        return (self.covers, self.others) == (other.covers, other.others) and bool(
            np.array_equal(self.bad, other.bad) and np.array_equal(self.healthy, other.healthy)
        )

    def beside(self, other: Conjunction) -> Conjunction:
        """With another that holds for the same records named, if it is as short, about other fields, and not one too many."""
        known = any(each.columns == other.columns for each in (self, *self.alike))
        if known or len(other.atoms) > len(self.atoms) or len(self.alike) == _ALIKE:
            return self
        return replace(self, alike=(*self.alike, other))


def rank(found: Conjunction) -> tuple[Any, ...]:
    orders = sum(atom.order for _, atom in found.atoms)
    return -found.score, len(found.atoms), orders, [column for column, _ in found.atoms]


class Search:
    """Over ``wrong`` bad and ``right`` healthy records, for what covers at least ``least`` of the bad."""

    def __init__(self, wrong: int, right: int, least: float) -> None:
        self._wrong, self._right, self._least = wrong, right, least

    def singles(self, number: int, column: Column, codes: npt.NDArray[np.int32]) -> Iterator[Conjunction]:
        """The atoms about one column that hold of bad ones more often."""
        size = len(column.cells)
        counts = np.bincount(codes[: self._wrong], minlength=size), np.bincount(codes[self._wrong :], minlength=size)
        for atom in candidates(column, counts[0] / self._wrong, counts[1] / self._right, self._least):
            flags = atom.each(column)
            covers, others = float(counts[0] @ flags) / self._wrong, float(counts[1] @ flags) / self._right
            if covers >= self._least and covers > others:
                holds = flags[codes]
                yield Conjunction(((number, atom),), holds[: self._wrong], holds[self._wrong :], covers, others)

    def longer(self, singles: Sequence[Conjunction], atoms: int) -> Iterator[Conjunction]:
        """Conjunctions that are better than any part of theirs."""
        taken: Counter[int] = Counter()
        beam: list[Conjunction] = []
        for single in singles:
            taken[single.atoms[0][0]] += 1
            if taken[single.atoms[0][0]] <= _OF_ONE and len(beam) < _BEAM:
                beam.append(single)
        couples = combinations(beam, 2) if atoms > 1 else ()
        pairs = [both for couple in couples if (both := self._both(*couple, couple))]
        yield from pairs
        seen = set()
        for pair in sorted(pairs, key=rank)[:_BEAM] if atoms > 2 else ():
            parts = [single for single in beam if single.atoms[0] in pair.atoms]
            for third in beam:
                key = frozenset(id(each) for each in (*parts, third))
                if third in parts or key in seen:
                    continue
                seen.add(key)
                if triple := self._both(pair, third, (pair, third, *parts)):
                    rests = [self._joined(part, third) for part in parts]
                    if all(triple.score >= rest.score + GAIN for rest in rests):
                        yield triple

    def _both(self, one: Conjunction, other: Conjunction, parts: Sequence[Conjunction]) -> Conjunction | None:
        bar = max(part.score for part in parts) + GAIN
        covers = np.count_nonzero(one.bad & other.bad) / self._wrong
        if covers < max(bar, self._least):  # no score is above it
            return None
        both = self._joined(one, other)
        return both if both.score >= bar else None

    def _joined(self, one: Conjunction, other: Conjunction) -> Conjunction:
        bad, healthy = one.bad & other.bad, one.healthy & other.healthy
        covers, others = int(np.count_nonzero(bad)) / self._wrong, int(np.count_nonzero(healthy)) / self._right
        return Conjunction(tuple(sorted([*one.atoms, *other.atoms], key=lambda each: each[0])), bad, healthy, covers, others)

    def told(self, found: Iterable[Conjunction], most: int) -> list[Conjunction]:
        """The ``most`` first that say something, and something that no better one says."""
        told: list[Conjunction] = []
        for each in found:
            same = next((place for place, better in enumerate(told) if better.same(each)), None)
            if same is not None:
                told[same] = told[same].beside(each)
            elif len(told) < most and self._matters(each) and not any(self._says(better, each) for better in told):
                told.append(each)
        return told

    def _matters(self, found: Conjunction) -> bool:
        chance = (found.others * self._right + 1) / (self._right + 2)
        surprise = (found.covers - found.others) / math.sqrt(chance * (1 - chance) / self._wrong)
        return bool(found.covers >= 2 * found.others and surprise >= 2)

    def _says(self, better: Conjunction, found: Conjunction) -> bool:
        """Whether what ``found`` covers is covered by a better one: about the same field, or at no other healthy records; but for a twentieth."""
        missed = np.count_nonzero(found.bad & ~better.bad)
        more = 0 if better.columns & found.columns else np.count_nonzero(better.healthy & ~found.healthy)
        return bool(missed <= 0.05 * np.count_nonzero(found.bad) and more <= 0.05 * np.count_nonzero(found.healthy))


def distinct(singles: Iterable[Conjunction]) -> list[Conjunction]:
    """One of those that hold for the same records: the first, with the others about other fields beside it."""
    kept: dict[bytes, Conjunction] = {}
    for each in singles:
        key = np.packbits(each.bad).tobytes() + np.packbits(each.healthy).tobytes()
        first = kept.setdefault(key, each)
        if first is not each:
            kept[key] = first.beside(each)
    return list(kept.values())
