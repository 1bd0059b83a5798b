"""Multiplicities: how many outputs each input of an operator has, and how many inputs each output, partition by partition (Newt 4.1)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bigdebug.errors import UntraceableError
from bigdebug.graph import Stage
from bigdebug.trace.joins import Join, Subtract
from bigdebug.trace.lineage import Lineage
from bigdebug.trace.positions import Positions
from bigdebug.trace.tables import AssociationTable, Codes, Identity, Kept, Offsets, Order, Paired, Whole

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Crossing:
    """A segment of a stage in one partition: where its inputs become outputs, and how many of them.

    Its inputs are the records of the operator ``reads``; or, if that is None, what arrived for the wide operator that it merges, of which
    ``sizes`` says how many records each was before its shuffle. Several ``operators`` have one table where they are fused; the last one made the outputs.
    """

    stage: Stage
    segment: int
    partition: int
    reads: int | None
    operators: tuple[int, ...]
    table: AssociationTable
    inputs: int
    outputs: int
    sizes: Counts | None = None

    @property
    def trivial(self) -> bool:
        """Whether each input has one output by construction."""
        return isinstance(self.table, Identity)

    @property
    def outputs_of(self) -> Counts:
        """By input, how many outputs it has."""
        return outputs_of(self.table, self.inputs, self.outputs)

    @property
    def inputs_of(self) -> Counts:
        """By output, how many inputs it has; records that were combined before a shuffle are counted each."""
        return self.made_of(np.ones(self.inputs, dtype=np.int64) if self.sizes is None else self.sizes)

    def made_of(self, sizes: Counts) -> Counts:
        """By output, of how many records it was made, where each input was made of so many."""
        return inputs_of(self.table, sizes, self.outputs)


def crossings(lineage: Lineage, within: Collection[int]) -> Iterator[Crossing]:
    """The segments of a run that make records of the operators ``within``, each partition once, in the order of the program.

    Those that the JVM moves or pairs whole (unions, coalesce, zip, products) have none. Tables that were not kept are derived.
    Cost: reads the blocks of the run once.
    """
    seen = set()
    for stage in sorted(lineage.graph.stages, key=lambda each: (each.reads, each.ends)):
        merging = stage.fetches and lineage.graph[stage.reads].form.merges
        for number, segment in enumerate(stage.segments):
            if not within_reach(segment.operators, within):
                continue
            partitions = lineage.read(stage, number)
            lineage.need_partitions(stage, partitions, number)
            arriving = merging and not number
            reads = None if arriving else lineage.stages.level_below(stage, number)
            for partition in partitions:
                if (reads, segment.operators, partition) not in seen:
                    seen.add((reads, segment.operators, partition))
                    inputs, outputs = lineage.levels(stage, number, partition)
                    sizes = lineage.together(stage, partition) if arriving else None
                    table = lineage.association(stage, number, partition)
                    inputs = len(sizes) if sizes is not None else inputs
                    yield Crossing(stage, number, partition, reads, segment.operators, table, inputs, outputs, sizes)


def within_reach(operators: Collection[int], within: Collection[int]) -> bool:
    """Whether any of some operators is wanted."""
    return not set(operators).isdisjoint(within)


def outputs_of(table: AssociationTable, inputs: int, outputs: int) -> Counts:
    """By input, how many outputs it has. Cost: some numpy passes over the table, over its pairs for a join."""
    found: Any
    match table:
        case Identity():
            found = np.ones(inputs, dtype=np.int64)
        case Offsets():
            found = np.diff(np.append(table.offsets, table.outputs))
        case Kept():
            found = _occurrences(table.kept, inputs)
        case Paired():
            found = len(table.reads) - np.searchsorted(table.reads, np.arange(inputs), side="right")
        case Whole():
            found = np.full(inputs, table.outputs, dtype=np.int64)
        case Codes():
            found = (table.codes < table.outputs).astype(np.int64)
        case Order():
            found = _occurrences(table.order[: outputs], inputs)
        case Join():
            found = _occurrences(np.concatenate(table.sides(_all(outputs))), inputs)
        case Subtract():
            found = _occurrences(table.left(_all(outputs)), inputs)
        case _:
            raise _unknown(table)
    return _as_long(found, inputs)


def inputs_of(table: AssociationTable, sizes: Counts, outputs: int) -> Counts:
    """By output, of how many records it was made, an input i being ``sizes[i]`` of them."""
    match table:
        case Identity():
            return sizes[:outputs]
        case Offsets():
            counts = _as_long(np.diff(np.append(table.offsets, table.outputs)), len(sizes))
            return np.repeat(sizes, counts)
        case Kept():
            return sizes[table.kept]
        case Paired():
            return np.take(np.append(0, np.cumsum(sizes)).astype(np.int64), table.reads)
        case Whole():
            return np.full(outputs, sizes.sum(), dtype=np.int64)
        case Codes():
            went = np.flatnonzero(table.codes < outputs)
            return np.bincount(table.codes[went], weights=sizes[went], minlength=outputs).astype(np.int64)
        case Order():
            return np.take(sizes, table.order[:outputs])
        case Join():
            padded = np.append(sizes, 0)  # of the None of an outer side
            left, right = table.sides(_all(outputs))
            return np.asarray(padded[left] + padded[right])
        case Subtract():
            return sizes[table.left(_all(outputs))]
        case _:
            raise _unknown(table)


def _all(size: int) -> Positions:
    return np.arange(size, dtype=np.int64)


def _occurrences(positions: npt.NDArray[Any], size: int) -> Counts:
    return np.bincount(positions[positions >= 0], minlength=size).astype(np.int64)


def _as_long(counts: Counts, inputs: int) -> Counts:
    """Inputs that a table says nothing of had no output: an action that stopped early had read them."""
    return np.append(counts, np.zeros(inputs - len(counts), dtype=np.int64)) if len(counts) < inputs else counts


def _unknown(table: AssociationTable) -> UntraceableError:
    return UntraceableError("Nobody knows how many outputs the inputs of this association table have", value=type(table).__name__)
