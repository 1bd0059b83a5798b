"""Associations: which inputs of an actor each of its outputs was made of, by their numbers (Newt 3.1).

An output of paired capture was made of the inputs from one arrival to another, of its tag. So it takes two numbers however many these are: N times M
associations are never in memory unless somebody asks for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from bigdebug.actors.columns import Column
from bigdebug.errors import IncompleteLineageError
from bigdebug.store.ranges import spread
from bigdebug.trace.positions import Positions, distinct, members

_SAME = 1 << 31
"""Entries of one item that are read."""


class Associations(Protocol):
    """Both ways; what is asked and what is given ascends, and nothing is twice in it."""

    def backward(self, outputs: Positions) -> Positions: ...

    def forward(self, inputs: Positions) -> Positions: ...

    def dump(self, home: Path) -> dict[str, Any]: ...


@dataclass(frozen=True, eq=False)
class Intervals:
    """Output ``outputs[e]`` was made of ``members[starts[e]]`` up to, without, ``members[stops[e]]``, for each e that is its; outputs never fall.

    Backward takes time by the answer, forward a pass over the entries.
    """

    outputs: Column
    starts: Column
    stops: Column
    members: Column

    def backward(self, outputs: Positions) -> Positions:
        first = self.outputs.below(outputs)
        entries = spread(first, self.outputs.below(outputs + 1) - first)
        return distinct(self.members.take(union(self.starts.take(entries), self.stops.take(entries))))

    def forward(self, inputs: Positions) -> Positions:
        places = self.members.holding(inputs)
        if not len(places):
            return places
        touched = np.searchsorted(places, self.starts.array) < np.searchsorted(places, self.stops.array)
        return distinct(self.outputs.take(np.flatnonzero(touched)))

    def several(self, outputs: Positions) -> bool:
        """Whether one of these was made of more than one input."""
        first = self.outputs.below(outputs)
        entries = spread(first, self.outputs.below(outputs + 1) - first)
        return len(entries) > len(outputs) or bool((self.stops.take(entries) - self.starts.take(entries) > 1).any())

    def dump(self, home: Path) -> dict[str, Any]:
        return {"by": "intervals", **{name: column.dump(home, name) for name, column in vars(self).items()}}


@dataclass(frozen=True, eq=False)
class Groups:
    """An output was made of all inputs of its group. Both ways take a pass over the numbers of the groups."""

    of_inputs: Column
    of_outputs: Column

    def backward(self, outputs: Positions) -> Positions:
        return _same(self.of_outputs, outputs, self.of_inputs)

    def forward(self, inputs: Positions) -> Positions:
        return _same(self.of_inputs, inputs, self.of_outputs)

    def several(self, outputs: Positions) -> bool:
        """Whether one of these was made of more than one input."""
        found = self.of_inputs.take(self.backward(outputs))
        return len(distinct(found)) < len(found)

    def dump(self, home: Path) -> dict[str, Any]:
        return {"by": "groups", **{name: column.dump(home, name) for name, column in vars(self).items()}}


@dataclass(frozen=True, eq=False)
class Spans:
    """Input i made the outputs from ``offsets[i]`` up to, without, ``offsets[i + 1]``: what a record at a time gives. Both ways take time by the answer."""

    offsets: Column

    def backward(self, outputs: Positions) -> Positions:
        inputs = self.offsets.below(outputs + 1) - 1
        return distinct(inputs[(inputs >= 0) & (inputs < len(self.offsets) - 1)])

    def forward(self, inputs: Positions) -> Positions:
        inputs = inputs[inputs < len(self.offsets) - 1]
        starts = self.offsets.take(inputs)
        return spread(starts, self.offsets.take(inputs + 1) - starts)

    def dump(self, home: Path) -> dict[str, Any]:
        return {"by": "spans", "offsets": self.offsets.dump(home, "offsets")}


@dataclass(frozen=True, eq=False)
class Pairs:
    """Output n was made of the input ``left[n] - 1``, one of the ``first`` that came first, and of ``first + right[n] - 1``; of none where that is 0. Back takes time by the answer,
    ahead a pass over the columns.
    """

    left: Column
    right: Column
    first: int

    def backward(self, outputs: Positions) -> Positions:
        left, right = self.left.take(outputs), self.right.take(outputs)
        return distinct(np.concatenate((left[left > 0] - 1, right[right > 0] + (self.first - 1))))

    def forward(self, inputs: Positions) -> Positions:
        split = int(np.searchsorted(inputs, self.first))
        return distinct(np.concatenate((self.left.holding(inputs[:split] + 1), self.right.holding(inputs[split:] - (self.first - 1)))))

    def dump(self, home: Path) -> dict[str, Any]:
        return {"by": "pairs", "left": self.left.dump(home, "left"), "right": self.right.dump(home, "right"), "first": self.first}


@dataclass(frozen=True, eq=False)
class AnyOf:
    """An output was made of one input of those that ``among`` has for it. Where these are several it counts as made of all of them, and ``why`` is said."""

    among: Intervals | Groups
    why: str

    def backward(self, outputs: Positions) -> Positions:
        return self.among.backward(outputs)

    def forward(self, inputs: Positions) -> Positions:
        return self.among.forward(inputs)

    def dump(self, home: Path) -> dict[str, Any]:
        return {"by": "any of", "among": self.among.dump(home), "why": self.why}


@dataclass(frozen=True)
class Unknown:
    """What was made of what is not known; ``why`` is a sentence. It raises IncompleteLineageError, whatever is asked."""

    why: str

    def backward(self, outputs: Positions) -> Positions:
        raise IncompleteLineageError(self.why, remedy="Mend the step, and run it again.")

    def forward(self, inputs: Positions) -> Positions:
        raise IncompleteLineageError(self.why, remedy="Mend the step, and run it again.")

    def dump(self, home: Path) -> dict[str, Any]:
        return {"by": "nothing", "why": self.why}


def one_to_one(count: int) -> Intervals:
    """The n-th output was made of the n-th input."""
    return made_of(Column.steps(count))


def made_of(inputs: Column) -> Intervals:
    """The n-th output was made of the input ``inputs[n]``."""
    count = len(inputs)
    return Intervals(Column.steps(count), Column.steps(count), Column.steps(count, 1), inputs)


def all_of_all(inputs: int, outputs: int) -> Groups:
    """Each output was made of all inputs."""
    return Groups(Column.steps(inputs, 0, 0), Column.steps(outputs, 0, 0))


def doubt(associations: Associations, outputs: Positions) -> str:
    """Why it is not known what some of these outputs were made of; empty if it is known of each."""
    return associations.why if isinstance(associations, AnyOf) and associations.among.several(outputs) else ""


def load(data: Mapping[str, Any], find: Callable[[str], Path], inputs: int, outputs: int) -> Associations:
    """What ``dump`` wrote, of so many inputs and outputs. Raises ValueError, LookupError for what nobody wrote."""
    if data["by"] == "groups":
        return Groups(Column.load(data["of_inputs"], find, inputs), Column.load(data["of_outputs"], find, outputs))
    if data["by"] == "spans":
        return Spans(Column.load(data["offsets"], find, inputs + 1))
    if data["by"] == "pairs":
        return _pairs(data, find, inputs, outputs)
    if data["by"] == "nothing":
        return Unknown(str(data["why"]))
    if data["by"] == "any of":
        among = load(data["among"], find, inputs, outputs)
        if not isinstance(among, (Intervals, Groups)):
            raise ValueError("one of what is no intervals and no groups")
        return AnyOf(among, str(data["why"]))
    if data["by"] != "intervals":
        raise ValueError(f"there are no associations by {data['by']!r}")
    made = Intervals(
        _entries(data["outputs"], find, outputs), Column.load(data["starts"], find), Column.load(data["stops"], find), _entries(data["members"], find, inputs),
    )
    if not len(made.outputs) == len(made.starts) == len(made.stops):
        raise ValueError("intervals of outputs that are not there")
    return made


def _pairs(data: Mapping[str, Any], find: Callable[[str], Path], inputs: int, outputs: int) -> Pairs:
    made = Pairs(Column.load(data["left"], find, outputs), Column.load(data["right"], find, outputs), int(data["first"]))
    if not len(made.left) == len(made.right) == outputs or not 0 <= made.first <= inputs:
        raise ValueError("pairs of inputs that are not there")
    return made


def _entries(data: Mapping[str, Any], find: Callable[[str], Path], count: int) -> Column:
    """A column that names each of so many items once if it counts up; one and the same item may be there several times, with several tags."""
    same = "steps" in data and int(data["steps"][1]) == 0
    return Column.load(data, find, max(count, _SAME) if same else count)


def union(starts: Positions, stops: Positions) -> Positions:
    """Everything from each start up to its stop, once and ascending: intervals that overlap take no more than what they cover."""
    some = stops > starts
    starts, stops = starts[some], stops[some]
    if not len(starts):
        return np.zeros(0, np.int64)
    if bool((starts[1:] < starts[:-1]).any()):
        order = np.argsort(starts, kind="stable")
        starts, stops = starts[order], stops[order]
    reach = np.maximum.accumulate(stops)
    begins = np.concatenate(([True], starts[1:] > reach[:-1]))
    first = np.flatnonzero(begins)
    firsts, lasts = starts[first], reach[np.append(first[1:] - 1, len(reach) - 1)]
    return spread(firsts, lasts - firsts)


def _same(groups: Column, numbers: Positions, others: Column) -> Positions:
    wanted = distinct(groups.take(numbers))
    if not len(wanted) or not len(others):
        return np.zeros(0, np.int64)
    values = others.array
    size = max(int(values.max()), int(wanted[-1])) + 1
    return np.flatnonzero(members(values, wanted, size)).astype(np.int64)
