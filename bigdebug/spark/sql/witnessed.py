"""Witnessed: which rows of each level of a query were made of which below, all of them, in arrays in the driver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bigdebug.errors import TooLargeError
from bigdebug.mining.multiplicity import Way
from bigdebug.spark.sql.far import Far
from bigdebug.spark.sql.steps import Steps
from bigdebug.trace.names import Names, array_of, matched
from bigdebug.trace.positions import Positions, distinct, members


@dataclass(frozen=True)
class Between:
    """How the rows of a level were made of those of a level below: pairs of places in the names of both, each once."""

    level: int
    below: int
    made: Positions
    of: Positions
    outputs: int
    inputs: int

    def counts(self, way: Way) -> npt.NDArray[Any]:
        """How many outputs each input has, or how many inputs each output."""
        return np.bincount(self.of, minlength=self.inputs) if way is Way.OUTPUTS else np.bincount(self.made, minlength=self.outputs)

    def at(self, way: Way) -> int:
        return self.below if way is Way.OUTPUTS else self.level


@dataclass
class Witnessed:
    """``names`` of all rows by level, each once, and what is ``between`` them. ``left_out`` are levels of which it says nothing, and why."""

    names: dict[int, Names] = field(default_factory=dict)
    times: dict[int, Positions] = field(default_factory=dict)
    """How many rows each name is that of, at levels where some are equal and were made of the same."""
    between: list[Between] = field(default_factory=list)
    left_out: dict[int, str] = field(default_factory=dict)

    def places(self, level: int, wanted: Names) -> Positions:
        """Where rows of a level stand among its names; all of them for None."""
        names = self.names[level]
        if wanted is None:
            return np.arange(len(names), dtype=np.int64)
        found = matched(names, wanted)
        return distinct(found[found >= 0])

    def back(self, root: int, places: Positions) -> dict[int, Positions]:
        """By level, the rows that some rows of the result were made of."""
        found = {root: places}
        for each in sorted(self.between, key=lambda each: -each.level):
            if each.level in found:
                more = each.of[members(each.made, found[each.level], each.outputs)]
                found[each.below] = distinct(np.concatenate([found.get(each.below, more[:0]), more]))
        return found

    def ahead(self, root: int, level: int) -> Positions:
        """The rows of the result that any row of a level had a part in."""
        found = {level: self.places(level, None)}
        for each in sorted(self.between, key=lambda each: each.below):
            if each.below in found:
                more = each.made[members(each.of, found[each.below], each.inputs)]
                found[each.level] = distinct(np.concatenate([found.get(each.level, more[:0]), more]))
        return found.get(root, np.empty(0, dtype=np.int64))


def witnessed(steps: Steps) -> Witnessed:
    """All that associations say, a job or two for each level. Levels whose rows depend on others than they are made of are left out, and those of too many rows.

    Takes some 16 bytes for each witness, and the names of all rows; 5 s for two million rows in a million groups.
    """
    found = Witnessed(left_out=dict.fromkeys(steps.subqueries, "it is the result of a subquery, which is taken as a whole"))
    for level in sorted(steps.levels - steps.subqueries):
        names, times = steps.counted(level)
        if isinstance(names, Far):
            found.left_out[level] = "it has more rows than the driver takes (spark.driver.maxResultSize)"
        else:
            found.names[level] = names
            if times is not None:
                found.times[level] = times
    for level in sorted(steps.levels - steps.sources - steps.subqueries - set(found.left_out)):
        _add(steps, level, found)
    return found


def _add(steps: Steps, level: int, found: Witnessed) -> None:
    try:
        found.between += _made(steps, level, found)
    except _Unlike:
        found.left_out[level] = "its rows depend on others, or are not told from others that were made of the same"
    except TooLargeError:
        found.left_out[level] = "it was made of more rows than the driver takes (spark.driver.maxResultSize)"


class _Unlike(Exception):
    """An association that speaks of other records than those of its level."""


def _made(steps: Steps, level: int, found: Witnessed) -> Iterator[Between]:
    if steps.peers(level) is not None or steps.broader(level) or (steps.crowded(level) and not steps.association(level).content):
        raise _Unlike
    known, catalyst = steps.association(level), steps.catalyst
    table = catalyst.table(known.plan, {"key": catalyst.struct(known.told)} | {f"n{name.level}": name.column for name in known.names})
    made = matched(found.names[level], array_of(table["key"]))
    if (made < 0).any():
        raise _Unlike
    for name in known.names:
        if name.level in found.names:
            below = array_of(table[f"n{name.level}"])
            there = np.flatnonzero(below.is_valid().to_numpy(zero_copy_only=False))
            size = len(found.names[name.level])
            of = matched(found.names[name.level], below.take(pa.array(there)))
            if (of < 0).any():
                raise _Unlike
            pairs = distinct(made[there] * max(size, 1) + of)
            yield Between(level, name.level, pairs // max(size, 1), pairs % max(size, 1), len(found.names[level]), size)
