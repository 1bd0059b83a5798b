"""Candidates: the atoms about one field that are worth a look, from the shares of bad and healthy records by its cells."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from bigdebug.mining.atoms import KINDS, TRAITS, Atom, Column, Contains, Equal, HasTrait, Limit, Nothing, OfKind, Reads
from bigdebug.mining.fields import Cell, Long, Mark, Path
from bigdebug.mining.times import Since, ascending, kind, roundest

Value = TypeVar("Value")


def candidates(column: Column, bad: npt.NDArray[Any], healthy: npt.NDArray[Any], least: float) -> Iterator[Atom]:
    """Atoms worth a look; ``bad`` and ``healthy`` are the shares of the records that have each cell."""
    path, cells = column.path, column.cells
    # A line as a whole is a value of its own, mostly: its fields say more.
    frequent = [] if column.split else np.argsort(-bad, kind="stable")[:8].tolist()
    yield from (Equal(path, cells[each]) for each in frequent if bad[each] >= least and _comparable(cells[each]))
    usual = int(np.argmax(healthy))
    if healthy[usual] >= 0.5 and _comparable(cells[usual]):
        yield Equal(path, cells[usual], negative=True)
    yield from _limits(path, column.numbers, bad, healthy, length=False)
    here = [each for each in np.flatnonzero(bad).tolist() if type(cells[each]) is str]
    general: list[Atom] = [Nothing(path), *(OfKind(path, kind) for kind in KINDS)]
    yield from _limits(path, column.lengths, bad, healthy, length=True)
    yield from _times(column, bad, healthy)
    least -= 1e-9  # sums of shares differ in their last digits
    if sum(bad[here]) >= least:
        general += [Reads(path, True), Reads(path, False), *(HasTrait(path, trait) for trait in TRAITS)]
        general += _characters(column, here, bad, healthy)
    # What holds of few bad ones need not be asked of all the healthy: their cells may be ten times as many.
    some = np.flatnonzero(bad).tolist()
    yield from (atom for atom in general if sum(bad[each] for each in some if atom.holds(cells[each])) >= least)


def _comparable(value: Cell) -> bool:
    return value is not Mark.STRANGE and type(value) is not Long


def _limits(
    path: Path, values: npt.NDArray[np.float64], bad: npt.NDArray[Any], healthy: npt.NDArray[Any], length: bool,
) -> Iterator[Atom]:
    """Limits of numbers."""
    for low, high, least in _cuts(values, bad, healthy):
        yield Limit(path, _roundest(low, high), least, length)


def _times(column: Column, bad: npt.NDArray[Any], healthy: npt.NDArray[Any]) -> Iterator[Atom]:
    """Limits of dates and times, of each kind that bad ones have."""
    kinds = [of for of in dict.fromkeys(kind(column.cells[each]) for each in np.flatnonzero(bad).tolist()) if of is not None]
    numbers = {cell: number for number, cell in enumerate(column.cells)} if kinds else {}
    for of in kinds:
        known = ascending(cell for cell in column.cells if kind(cell) == of)
        ranks = np.full(len(column.cells), math.nan)
        ranks[[numbers[cell] for cell in known]] = range(len(known))
        for low, high, least in _cuts(ranks, bad, healthy):
            yield Since(column.path, roundest(known[int(low)], known[int(high)]), least)


def _cuts(values: npt.NDArray[np.float64], bad: npt.NDArray[Any], healthy: npt.NDArray[Any]) -> Iterator[tuple[float, float, bool]]:
    """Between which two values, from the second one on (True) or up to the first, bad ones are best told from the others, and where no bad one is left out."""
    at = np.flatnonzero(~np.isnan(values))
    if not len(at) or not bad[at].any():
        return
    levels, places = np.unique(values[at], return_inverse=True)
    if len(levels) < 2:
        return
    wrong = np.bincount(places, weights=bad[at])
    right = np.bincount(places, weights=healthy[at])
    for least in (True, False):
        direction = slice(None, None, -1 if least else 1)
        # From which level on, or up to which: the levels that are covered, for each.
        covers, others = np.cumsum(wrong[direction])[direction], np.cumsum(right[direction])[direction]
        # Sums of shares differ in their last digits.
        scores = np.round(covers * (1 - np.sqrt(np.clip(others, 0, 1))), 12)
        every = np.flatnonzero(wrong)[0 if least else -1]
        for end in dict.fromkeys([int(np.argmax(scores)), int(every)]):
            low, high = (end - 1, end) if least else (end, end + 1)
            if low >= 0 and high < len(levels):
                yield float(levels[low]), float(levels[high]), least


def _roundest(low: float, high: float) -> float:
    """The number above ``low``, and not above ``high``, that is the shortest to write."""
    if low < 0 <= high:
        return 0.0
    for power in range(15, -7, -1):
        step = 10.0**power
        if math.isfinite(high / step):
            candidate = math.floor(high / step) * step if power >= 0 else round(math.floor(high / step) * step, -power)
            if low < candidate <= high:
                return candidate
    return high


def _characters(column: Column, here: list[int], bad: npt.NDArray[Any], healthy: npt.NDArray[Any]) -> Iterator[Atom]:
    """The characters that texts of bad ones have more often, or less, by what a few thousand texts say."""
    wrong: Counter[str] = Counter()
    right: Counter[str] = Counter()
    there = [each for each in np.flatnonzero(healthy).tolist() if type(column.cells[each]) is str]
    for found, places, shares in ((wrong, here, bad), (right, there, healthy)):
        some = few(places, 2000)
        total = sum(shares[each] for each in some) or 1.0
        for each in some:
            for character in set(column.cells[each]):
                found[character] += shares[each] / total
    gains = sorted(wrong, key=lambda character: (right[character] - wrong[character], character))
    yield from (Contains(column.path, character) for character in gains[:6] if wrong[character] > right[character])
    lacks = sorted(right, key=lambda character: (wrong[character] - right[character], character))
    yield from (Contains(column.path, character, negative=True) for character in lacks[:3] if right[character] > 0.5)


def few(values: Sequence[Value], most: int) -> Sequence[Value]:
    """All, or ``most`` at even distances."""
    return values if len(values) <= most else [values[number * len(values) // most] for number in range(most)]
