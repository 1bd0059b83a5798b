"""Association tables of one partition: from positions at one level of a stage to positions at the next, both ways.

Positions are sorted, unique int64 arrays; so are answers. Costs are in numpy passes over the columns named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Positions = npt.NDArray[np.int64]


class Table(Protocol):
    """One association table. ``back`` goes from outputs to inputs, ``ahead`` from inputs to outputs."""

    def back(self, outputs: Positions) -> Positions: ...

    def ahead(self, inputs: Positions) -> Positions: ...


def distinct(values: npt.NDArray[Any]) -> Positions:
    """Sorted and unique. (np.unique of numpy 2 hashes and is ten times slower on millions.)"""
    values = values.astype(np.int64, copy=False)
    # What comes through tables that rise is sorted already: a look costs a tenth of a sort.
    if np.any(values[1:] < values[:-1]):
        values = np.sort(values)
    rises = values[1:] != values[:-1]
    return values if rises.all() else values[np.concatenate(([True], rises))]


def members(values: npt.NDArray[Any], wanted: npt.NDArray[Any], size: int) -> npt.NDArray[np.bool_]:
    """Which of ``values`` (all below ``size``) are among ``wanted``: a comparison for each of a few, or one gather."""
    if 0 < len(wanted) <= 8:
        found = np.asarray(values == wanted[0])
        for value in wanted[1:]:
            found |= values == value
        return found
    flags = np.zeros(size, dtype=bool)
    flags[wanted] = True
    return np.asarray(flags[values])


def first(positions: Positions, count: int) -> Positions:
    """Those below ``count``; all of them without a copy."""
    return positions if not len(positions) or positions[-1] < count else positions[: np.searchsorted(positions, count)]


def spread(starts: npt.NDArray[Any], counts: npt.NDArray[Any]) -> Positions:
    """The union of the ranges [start, start + count), in order."""
    total = int(counts.sum())
    ends = np.cumsum(counts)
    found: Positions = np.arange(total, dtype=np.int64) + np.repeat(starts - (ends - counts), counts)
    return found


@dataclass(frozen=True)
class Identity:
    def back(self, outputs: Positions) -> Positions:
        return outputs

    def ahead(self, inputs: Positions) -> Positions:
        return inputs


@dataclass(frozen=True)
class Offsets:
    """``offsets[i]`` outputs had appeared before input i was pulled, ``outputs`` in all."""

    offsets: Positions
    outputs: int

    def back(self, outputs: Positions) -> Positions:
        if len(outputs) < len(self.offsets):
            return distinct(np.searchsorted(self.offsets, outputs, side="right") - 1)
        # Fewer to look up the other way around: how many of the outputs stand before those of each input.
        before = np.searchsorted(outputs, np.append(self.offsets, self.outputs))
        return np.flatnonzero(before[1:] > before[:-1]).astype(np.int64)

    def ahead(self, inputs: Positions) -> Positions:
        starts = self.offsets[inputs]
        following = inputs + 1
        ends = np.full(len(inputs), self.outputs, dtype=np.int64)
        inner = following < len(self.offsets)
        ends[inner] = self.offsets[following[inner]]
        return spread(starts, ends - starts)


@dataclass(frozen=True)
class Kept:
    """Output o is input ``kept[o]``; ``kept`` rises."""

    kept: Positions

    def back(self, outputs: Positions) -> Positions:
        return self.kept[outputs]

    def ahead(self, inputs: Positions) -> Positions:
        at = np.searchsorted(self.kept, inputs)
        inside = at < len(self.kept)
        at = at[inside]
        found: Positions = at[self.kept[at] == inputs[inside]].astype(np.int64)
        return found


@dataclass(frozen=True)
class Paired:
    """``reads[o]`` inputs had been read when output o appeared; it depends on all of them."""

    reads: Positions

    def back(self, outputs: Positions) -> Positions:
        return np.arange(int(self.reads[outputs].max()) if len(outputs) else 0, dtype=np.int64)

    def ahead(self, inputs: Positions) -> Positions:
        if not len(inputs):
            return inputs
        return np.flatnonzero(self.reads > inputs[0]).astype(np.int64)


@dataclass(frozen=True)
class Whole:
    """Every output depends on every input of the partition."""

    inputs: int
    outputs: int

    def back(self, outputs: Positions) -> Positions:
        return np.arange(self.inputs if len(outputs) else 0, dtype=np.int64)

    def ahead(self, inputs: Positions) -> Positions:
        return np.arange(self.outputs if len(inputs) else 0, dtype=np.int64)


@dataclass(frozen=True)
class Codes:
    """Input i went into output ``codes[i]``, if that is one of those that left."""

    codes: npt.NDArray[Any]
    outputs: int

    def back(self, outputs: Positions) -> Positions:
        size = int(self.codes.max()) + 1 if len(self.codes) else 0
        return np.flatnonzero(members(self.codes, outputs, size)).astype(np.int64)

    def ahead(self, inputs: Positions) -> Positions:
        outputs = distinct(self.codes[inputs])
        return outputs[outputs < self.outputs]


@dataclass(frozen=True)
class Order:
    """Output o is input ``order[o]``."""

    order: npt.NDArray[Any]
    inputs: int

    def back(self, outputs: Positions) -> Positions:
        return distinct(self.order[outputs])

    def ahead(self, inputs: Positions) -> Positions:
        return np.flatnonzero(members(self.order, inputs, self.inputs)).astype(np.int64)


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

    def back(self, outputs: Positions) -> Positions:
        first, ends, widths = self._layout
        groups = np.searchsorted(ends, outputs, side="right")
        within, width = outputs - first[groups], widths[groups]
        found = []
        for side, place in zip(self._sides, (within // width, within % width), strict=True):
            real = side.sizes[groups] > 0
            found.append(side.members[(side.starts[groups] + place)[real]])
        return distinct(np.concatenate(found))

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

    def back(self, outputs: Positions) -> Positions:
        return distinct(self._order[outputs])

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

    def _sides(self, outputs: Positions) -> tuple[Positions, Positions]:
        counts = self.left_count * self.right_count
        ends = np.cumsum(counts)
        pair = np.searchsorted(ends, outputs, side="right")
        within = outputs - (ends - counts)[pair]
        width = self.right_count[pair]
        return self.left_start[pair] + within // width, self.right_start[pair] + within % width

    def back(self, outputs: Positions, right: bool) -> Positions:
        return distinct(self._sides(outputs)[right])

    def ahead(self, inputs: Positions, right: bool) -> Positions:
        outputs = np.arange(self.outputs, dtype=np.int64)
        return outputs[np.isin(self._sides(outputs)[right], inputs)]


def table(form: str, name: str, columns: Mapping[str, Any], inputs: int, outputs: int, right: Any, detail: Mapping[str, Any]) -> Table:
    """The table that a segment's agent noted under ``name``. ``right`` marks arrivals of the second parent."""
    if form == "one to one":
        return Identity()
    if form == "offsets":
        return Offsets(columns[f"{name}.offsets"].astype(np.int64), outputs)
    if form == "kept":
        return Kept(columns[f"{name}.kept"].astype(np.int64))
    if form == "paired":
        return Paired(columns[f"{name}.reads"].astype(np.int64))
    if form == "whole":
        return Whole(inputs, outputs)
    if form == "codes":
        return Codes(columns[f"{name}.codes"], outputs)
    if form == "sort":
        return Order(columns[f"{name}.order"], inputs)
    codes = columns[f"{name}.codes"].astype(np.int64)
    if form == "join":
        return Join(codes, right, outputs, bool(detail["outer_left"]), bool(detail["outer_right"]))
    return Subtract(codes, right, outputs)
