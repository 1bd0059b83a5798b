"""Association tables of operators with two sides: joins, what is left of a subtraction, and products."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bigdebug.store.ranges import spread
from bigdebug.trace.positions import Positions, distinct


@dataclass(frozen=True)
class Join:
    """Groups of left and right inputs; the outputs of a group are its pairs, left by left.

    ``codes`` is the group of each input and ``right`` marks those of the second parent. On an outer side an empty
    list counts as one None. The pairs are not stored: they follow from the sizes of the groups.
    """

    codes: npt.NDArray[Any]
    right: npt.NDArray[np.bool_]
    outputs: int
    outer_left: bool
    outer_right: bool

    @cached_property
    def _sides(self) -> tuple[_Side, _Side]:
        groups = int(self.codes.max()) + 1 if len(self.codes) else 0
        left, right = (_Side.of(self.codes, mine, groups) for mine in (~self.right, self.right))
        return left, right

    @cached_property
    def _layout(self) -> tuple[Positions, Positions, Positions]:
        """By group: the first output, one past the last, and how many outputs each left record has."""
        left, right = self._sides
        lefts = np.maximum(left.sizes, 1) if self.outer_right else left.sizes
        widths = np.maximum(right.sizes, 1) if self.outer_left else right.sizes
        ends = np.cumsum(lefts * widths)
        return ends - lefts * widths, ends, widths

    def sides(self, outputs: Positions) -> tuple[Positions, Positions]:
        """The left and the right input of each output; -1 for the None of an outer side."""
        first, ends, widths = self._layout
        groups = np.searchsorted(ends, outputs, side="right")
        within, width = outputs - first[groups], widths[groups]
        found = np.full((2, len(outputs)), -1, dtype=np.int64)
        for inputs, side, place in zip(found, self._sides, (within // width, within % width), strict=True):
            real = side.sizes[groups] > 0
            inputs[real] = side.members[(side.starts[groups] + place)[real]]
        return found[0], found[1]

    def back(self, outputs: Positions) -> Positions:
        found = np.concatenate(self.sides(outputs))
        return distinct(found[found >= 0])

    def ahead(self, inputs: Positions) -> Positions:
        first, ends, widths = self._layout
        left, right = self._sides
        lefts = inputs[~self.right[inputs]]
        group = self.codes[lefts]
        of_left = spread(first[group] + left.ranks(self.codes)[lefts] * widths[group], widths[group])
        rights = inputs[self.right[inputs]]
        group = self.codes[rights]
        rows = (ends - first)[group] // np.maximum(widths[group], 1)
        start = np.repeat(first[group] + right.ranks(self.codes)[rights], rows)
        of_right = start + spread(np.zeros(len(rights), dtype=np.int64), rows) * np.repeat(widths[group], rows)
        found = distinct(np.concatenate((of_left, of_right)))
        return found[found < self.outputs]


@dataclass(frozen=True)
class _Side:
    """One side of a join: its inputs group by group, and where each group starts in that order."""

    members: Positions
    starts: Positions
    sizes: Positions

    @classmethod
    def of(cls, codes: npt.NDArray[Any], mine: npt.NDArray[np.bool_], groups: int) -> _Side:
        at = np.flatnonzero(mine)
        sizes = np.bincount(codes[at], minlength=groups)
        return cls(at[np.argsort(codes[at], kind="stable")], np.cumsum(sizes) - sizes, sizes)

    def ranks(self, codes: npt.NDArray[Any]) -> Positions:
        """For each input of this side, which one of its group it is."""
        ranks = np.zeros(len(codes), dtype=np.int64)
        ranks[self.members] = np.arange(len(self.members)) - self.starts[codes[self.members]]
        return ranks


@dataclass(frozen=True)
class Subtract:
    """Each output is one left input of a group without right inputs, group by group."""

    codes: npt.NDArray[Any]
    right: npt.NDArray[np.bool_]
    outputs: int

    @cached_property
    def _order(self) -> Positions:
        groups = int(self.codes.max()) + 1 if len(self.codes) else 0
        blocked = np.zeros(groups, dtype=bool)
        blocked[self.codes[self.right]] = True
        at = np.flatnonzero(~self.right & ~blocked[self.codes])
        return at[np.argsort(self.codes[at], kind="stable")].astype(np.int64)

    def left(self, outputs: Positions) -> Positions:
        """The input of each output."""
        return self._order[outputs]

    def back(self, outputs: Positions) -> Positions:
        return distinct(self.left(outputs))

    def ahead(self, inputs: Positions) -> Positions:
        return np.flatnonzero(np.isin(self._order[: self.outputs], inputs)).astype(np.int64)


@dataclass(frozen=True)
class Product:
    """A cartesian partition: frame by frame, each left record of a frame with each right one of the other.

    Starts and counts say which records of the parents' partitions each pair of frames held. Of the last one not all
    pairs need have left: there were ``outputs``.
    """

    outputs: int
    left_start: Positions
    left_count: Positions
    right_start: Positions
    right_count: Positions

    def sides(self, outputs: Positions) -> tuple[Positions, Positions]:
        """The left and the right record of each output."""
        counts = self.left_count * self.right_count
        ends = np.cumsum(counts)
        pair = np.searchsorted(ends, outputs, side="right")
        within = outputs - (ends - counts)[pair]
        width = self.right_count[pair]
        return self.left_start[pair] + within // width, self.right_start[pair] + within % width

    def back(self, outputs: Positions, right: bool) -> Positions:
        return distinct(self.sides(outputs)[right])

    def ahead(self, inputs: Positions, right: bool) -> Positions:
        outputs = np.arange(self.outputs, dtype=np.int64)
        return outputs[np.isin(self.sides(outputs)[right], inputs)]
