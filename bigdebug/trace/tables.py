"""Association tables of one partition: from positions at one level of a stage to positions at the next, both ways.

Positions are sorted, unique int64 arrays; so are answers. Costs are in numpy passes over the columns named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from bigdebug.graph import Form
from bigdebug.store.ranges import spread
from bigdebug.trace.joins import Join, Subtract
from bigdebug.trace.positions import Positions, distinct, members


class AssociationTable(Protocol):
    """One association table. ``back`` goes from outputs to inputs, ``ahead`` from inputs to outputs."""

    def back(self, outputs: Positions) -> Positions: ...

    def ahead(self, inputs: Positions) -> Positions: ...


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
    """``reads[o]`` inputs had been read for output o, until the next one was asked for; it depends on all of them."""

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


def association_table(form: Form, name: str, columns: Mapping[str, Any], inputs: int, outputs: int, right: Any, detail: Mapping[str, Any]) -> AssociationTable:
    """The table that a segment's agent noted under ``name``. ``right`` marks arrivals of the second parent."""

    def positions(column: str) -> Positions:
        found: Positions = columns[f"{name}.{column}"].astype(np.int64)
        return found

    if f"{name}.offsets" in columns:  # whatever the form, where a guard left records out
        return Offsets(positions("offsets"), outputs)
    match form:
        case Form.ONE_TO_ONE:
            return Identity()
        case Form.KEPT:
            return Kept(positions("kept"))
        case Form.PAIRED:
            return Paired(positions("reads"))
        case Form.WHOLE:
            return Whole(inputs, outputs)
        case Form.CODES:
            return Codes(columns[f"{name}.codes"], outputs)
        case Form.SORT:
            return Order(columns[f"{name}.order"], inputs)
        case Form.JOIN:
            return Join(positions("codes"), right, outputs, bool(detail["outer_left"]), bool(detail["outer_right"]))
        case Form.SUBTRACT:
            return Subtract(positions("codes"), right, outputs)
        case _:
            raise AssertionError(f"no agent notes anything for {form}")
