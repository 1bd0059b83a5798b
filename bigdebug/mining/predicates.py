"""Predicates that separate bad records from healthy ones: short, readable, and ranked."""

from __future__ import annotations

import math
import random
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from bigdebug.mining.atoms import Atom, Column, Flags
from bigdebug.mining.candidates import candidates, few
from bigdebug.mining.fields import Mark, Path, Reading, reading
from bigdebug.trace.table import Table

MOST_BAD, MOST_HEALTHY, MOST_CELLS = 10_000, 100_000, 2_000_000
"""Records, and fields of them, that are looked at: some seconds' worth."""

GAIN = 0.02
"""By so much a longer clause must be better than any part of it."""

_BEAM, _OF_ONE, _ALIKE = 80, 6, 5
"""Atoms that are combined, those of one field among them, and clauses for the same records that are named."""


@dataclass(frozen=True)
class Clause:
    """Something that holds of bad records rather than of healthy ones: ``text`` says what, ``check`` asks it of a record.

    ``covers`` and ``others`` are the shares of the bad and of the healthy records (of those that were looked at) for which it holds;
    ``score``, from 0 to 1, is ``covers * (1 - sqrt(others))``. ``alike`` are clauses about other fields that hold for just the same records.
    """

    text: str
    covers: float
    others: float
    score: float
    alike: tuple[str, ...] = ()
    atoms: tuple[Atom, ...] = field(default=(), repr=False)
    reading: Reading = field(default_factory=Reading, repr=False)

    def check(self, record: Any) -> bool:
        """Whether it holds of the record; never raises. (It can be pickled, as what ``trace.where`` takes.)"""
        cells = self.reading.cells(record)
        return all(atom.holds(cells.get(atom.path, Mark.MISSING)) for atom in self.atoms)


@dataclass(frozen=True, repr=False)
class Separation:
    """The clauses, the best first, and how many bad and healthy records were looked at; ``note`` says so where these are not all."""

    clauses: tuple[Clause, ...]
    bad: int
    healthy: int
    note: str = ""

    def table(self) -> Table:
        rows = [(each.text, f"{each.covers:.1%}", f"{each.others:.2%}", f"{each.score:.2f}") for each in self.clauses]
        same = [f"For the same records: {each.text}; {'; '.join(each.alike)}." for each in self.clauses if each.alike]
        notes = [*same, *filter(None, [self.note])] if rows else [self.note or "Nothing separates them."]
        caption = f"What {self.bad:,} bad and {self.healthy:,} healthy records differ in"
        return Table(("clause", "of the bad", "of the healthy", "score"), rows, notes, caption)

    def __repr__(self) -> str:
        return self.table().text()

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        return self.table()._repr_mimebundle_()


def separating(
    bad: Iterable[Any], healthy: Iterable[Any], names: Sequence[str] | str | None = None,
    atoms: int = 3, most: int = 10, least: float = 0.1,
) -> Separation:
    """At most ``most`` clauses of up to ``atoms`` atoms that hold of many bad records (``least`` of them) and of few healthy ones.

    Records may be anything: lines of text, dicts, tuples, Rows, numbers, objects, nested; ``names`` name fields that stand in a row (see
    ``fields.reading``). Values that cannot be compared are left out, and nothing that they do when they are looked at is raised.

    A clause is told if it holds of at least twice as many of the bad ones, in proportion, and of more than chance explains (two standard
    deviations of so few); if it has no part that is as good; and if no better one covers what it covers (about the same field, or at no
    other healthy ones).
    Of more than MOST_BAD and MOST_HEALTHY records, or so many with fewer fields, a draw (the same each time) is looked at.
    Cost: a walk through all fields, then numpy passes for some hundreds of atoms and some thousands of pairs and triples.
    """
    samples, note = _drawn(bad, healthy)
    wrong, right = map(len, samples)
    if not wrong or not right:
        return Separation((), wrong, right, f"There are no {'bad' if not wrong else 'healthy'} records to compare.")
    known = reading([*few(samples[0], 1000), *few(samples[1], 1000)], names)
    columns = _columns(known, [*samples[0], *samples[1]])
    search = _Search(wrong, right, max(least, 2 / wrong if wrong > 2 else 0))
    singles = [single for number, column in enumerate(columns) for single in search.singles(number, *column)]
    singles = _distinct(sorted(singles, key=_rank))
    found = sorted([*singles, *search.longer(singles, atoms)], key=_rank)
    told = search.told(found, most)
    return Separation(tuple(_clause(each, known) for each in told), wrong, right, note)


@dataclass(frozen=True, eq=False)
class _Found:
    """A conjunction: its atoms with the numbers of their columns, and for which bad and healthy records it holds."""

    atoms: tuple[tuple[int, Atom], ...]
    bad: Flags
    healthy: Flags
    covers: float
    others: float
    alike: tuple[_Found, ...] = ()

    @property
    def score(self) -> float:
        return self.covers * (1 - math.sqrt(self.others))

    @property
    def columns(self) -> set[int]:
        return {column for column, _ in self.atoms}

    def same(self, other: _Found) -> bool:
        """Whether they hold for the same records."""
        return (self.covers, self.others) == (other.covers, other.others) and bool(
            np.array_equal(self.bad, other.bad) and np.array_equal(self.healthy, other.healthy)
        )

    def beside(self, other: _Found) -> _Found:
        """With another that holds for the same records named, if it is as short, about other fields, and not one too many."""
        known = any(each.columns == other.columns for each in (self, *self.alike))
        if known or len(other.atoms) > len(self.atoms) or len(self.alike) == _ALIKE:
            return self
        return replace(self, alike=(*self.alike, other))


def _rank(found: _Found) -> tuple[Any, ...]:
    orders = sum(atom.order for _, atom in found.atoms)
    return -found.score, len(found.atoms), orders, [column for column, _ in found.atoms]


class _Search:
    """Over ``wrong`` bad and ``right`` healthy records, for what covers at least ``least`` of the bad."""

    def __init__(self, wrong: int, right: int, least: float) -> None:
        self._wrong, self._right, self._least = wrong, right, least

    def singles(self, number: int, column: Column, codes: npt.NDArray[np.int32]) -> Iterator[_Found]:
        """The atoms about one column that hold of bad ones more often."""
        size = len(column.cells)
        counts = np.bincount(codes[: self._wrong], minlength=size), np.bincount(codes[self._wrong :], minlength=size)
        for atom in candidates(column, counts[0] / self._wrong, counts[1] / self._right, self._least):
            flags = atom.each(column)
            covers, others = float(counts[0] @ flags) / self._wrong, float(counts[1] @ flags) / self._right
            if covers >= self._least and covers > others:
                holds = flags[codes]
                yield _Found(((number, atom),), holds[: self._wrong], holds[self._wrong :], covers, others)

    def longer(self, singles: Sequence[_Found], atoms: int) -> Iterator[_Found]:
        """Conjunctions that are better than any part of theirs."""
        taken: Counter[int] = Counter()
        beam: list[_Found] = []
        for single in singles:
            taken[single.atoms[0][0]] += 1
            if taken[single.atoms[0][0]] <= _OF_ONE and len(beam) < _BEAM:
                beam.append(single)
        couples = combinations(beam, 2) if atoms > 1 else ()
        pairs = [both for couple in couples if (both := self._both(*couple, couple))]
        yield from pairs
        seen = set()
        for pair in sorted(pairs, key=_rank)[:_BEAM] if atoms > 2 else ():
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

    def _both(self, one: _Found, other: _Found, parts: Sequence[_Found]) -> _Found | None:
        bar = max(part.score for part in parts) + GAIN
        covers = np.count_nonzero(one.bad & other.bad) / self._wrong
        if covers < max(bar, self._least):  # no score is above it
            return None
        both = self._joined(one, other)
        return both if both.score >= bar else None

    def _joined(self, one: _Found, other: _Found) -> _Found:
        bad, healthy = one.bad & other.bad, one.healthy & other.healthy
        covers, others = int(np.count_nonzero(bad)) / self._wrong, int(np.count_nonzero(healthy)) / self._right
        return _Found(tuple(sorted([*one.atoms, *other.atoms], key=lambda each: each[0])), bad, healthy, covers, others)

    def told(self, found: Iterable[_Found], most: int) -> list[_Found]:
        """The ``most`` first that say something, and something that no better one says."""
        told: list[_Found] = []
        for each in found:
            same = next((place for place, better in enumerate(told) if better.same(each)), None)
            if same is not None:
                told[same] = told[same].beside(each)
            elif len(told) < most and self._matters(each) and not any(self._says(better, each) for better in told):
                told.append(each)
        return told

    def _matters(self, found: _Found) -> bool:
        chance = (found.others * self._right + 1) / (self._right + 2)
        surprise = (found.covers - found.others) / math.sqrt(chance * (1 - chance) / self._wrong)
        return bool(found.covers >= 2 * found.others and surprise >= 2)

    def _says(self, better: _Found, found: _Found) -> bool:
        """Whether what ``found`` covers is covered by a better one: about the same field, or at no other healthy records; but for a twentieth."""
        missed = np.count_nonzero(found.bad & ~better.bad)
        more = 0 if better.columns & found.columns else np.count_nonzero(better.healthy & ~found.healthy)
        return bool(missed <= 0.05 * np.count_nonzero(found.bad) and more <= 0.05 * np.count_nonzero(found.healthy))


def _distinct(singles: Iterable[_Found]) -> list[_Found]:
    """One of those that hold for the same records: the first, with the others about other fields beside it."""
    kept: dict[bytes, _Found] = {}
    for each in singles:
        key = np.packbits(each.bad).tobytes() + np.packbits(each.healthy).tobytes()
        first = kept.setdefault(key, each)
        if first is not each:
            kept[key] = first.beside(each)
    return list(kept.values())


def _clause(found: _Found, known: Reading) -> Clause:
    text, *alike = (
        " and ".join(atom.text(known.name(atom.path)) for _, atom in each.atoms) for each in (found, *found.alike)
    )
    atoms = tuple(atom for _, atom in found.atoms)
    return Clause(text, found.covers, found.others, found.score, tuple(alike), atoms, known)


def _columns(known: Reading, records: Sequence[Any]) -> list[tuple[Column, npt.NDArray[np.int32]]]:
    """The columns that the records have, each with the number of every record's cell. What comes after two thousand columns is left out."""
    found: dict[Path, tuple[dict[Any, int], array[int], array[int]]] = {}
    for row, record in enumerate(records):
        for path, value in known.cells(record).items():
            column = found.get(path)
            if column is None:
                if len(found) == 2000:
                    continue
                column = found[path] = ({}, array("i"), array("i"))
            numbers, rows, codes = column
            rows.append(row)
            codes.append(numbers.setdefault(value, len(numbers)))
    columns = []
    for path, (numbers, rows, codes) in found.items():
        every = np.full(len(records), len(numbers), dtype=np.int32)
        every[np.frombuffer(rows, dtype=np.int32)] = np.frombuffer(codes, dtype=np.int32)
        columns.append((Column(path, list(numbers), path in known.splits), every))
    return columns


def _drawn(bad: Iterable[Any], healthy: Iterable[Any]) -> tuple[list[list[Any]], str]:
    """What is looked at of both, in their order, and a sentence if that is not all."""
    given = [each if isinstance(each, Sequence) else list(each) for each in (bad, healthy)]
    bare = Reading()
    wide = max([len(bare.cells(record)) for records in given for record in few(records, 100)], default=1)
    share = min(1.0, MOST_CELLS / (wide * (MOST_BAD + MOST_HEALTHY)))
    draw = random.Random(0)
    drawn, notes = [], []
    for name, records, most in zip(("bad", "healthy"), given, (int(MOST_BAD * share), int(MOST_HEALTHY * share))):
        fewer = len(records) > most
        places = sorted(draw.sample(range(len(records)), most)) if fewer else range(len(records))
        drawn.append([records[place] for place in places])
        if fewer:
            notes.append(f"{most:,} of {len(records):,} {name} records")
    return drawn, f"Shares are those of {' and '.join(notes)}, drawn at random, the same each time." if notes else ""
