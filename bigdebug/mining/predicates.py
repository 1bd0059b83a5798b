"""Predicates that separate bad records from healthy ones: short, readable, and ranked."""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from bigdebug.mining.atoms import Atom, Column
from bigdebug.mining.candidates import few
from bigdebug.mining.conjunctions import Conjunction, Search, distinct, rank
from bigdebug.mining.fields import Mark, Path, Reading, reading
from bigdebug.trace.table import Table

MOST_BAD, MOST_HEALTHY, MOST_CELLS = 10_000, 100_000, 2_000_000
"""Records, and fields of them, that are looked at: some seconds' worth."""


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
    search = Search(wrong, right, max(least, 2 / wrong if wrong > 2 else 0))
    singles = [single for number, column in enumerate(columns) for single in search.singles(number, *column)]
    singles = distinct(sorted(singles, key=rank))
    found = sorted([*singles, *search.longer(singles, atoms)], key=rank)
    told = search.told(found, most)
    return Separation(tuple(_clause(each, known) for each in told), wrong, right, note)


def _clause(found: Conjunction, known: Reading) -> Clause:
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
