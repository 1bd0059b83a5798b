"""Pairs: each output of an association table with each input that it was made of. As ``back``, without putting together what several outputs share."""

from __future__ import annotations

import numpy as np

from bigdebug.errors import TooLargeError, UntraceableError
from bigdebug.store.ranges import spread
from bigdebug.trace.joins import Join, Subtract
from bigdebug.trace.positions import Positions
from bigdebug.trace.tables import AssociationTable, Codes, Identity, Kept, Offsets, Order, Paired, Whole

MOST_PAIRS = 1 << 28
"""Pairs that are written out: some 40 bytes of memory each."""


def pairs_of(table: AssociationTable, outputs: Positions) -> tuple[Positions, Positions]:
    """Which of the ``outputs``, by its place among them, and the input; a pair for each association, in any order.

    Raises TooLargeError where each output depends on all records, and these are more than 2**28 pairs.
    """
    each = np.arange(len(outputs), dtype=np.int64)
    match table:
        case Identity():
            return each, outputs
        case Offsets():
            return each, np.searchsorted(table.offsets, outputs, side="right") - 1
        case Kept():
            return each, table.kept[outputs]
        case Order():
            return each, table.order[outputs].astype(np.int64)
        case Subtract():
            return each, table.left(outputs)
        case Paired():
            return _ranges(table.reads[outputs])
        case Whole():
            return _ranges(np.full(len(outputs), table.inputs, dtype=np.int64))
        case Codes():
            return _grouped(table, outputs)
        case Join():
            left, right = table.sides(outputs)
            which, inputs = np.concatenate([each, each]), np.concatenate([left, right])
            return which[inputs >= 0], inputs[inputs >= 0]
        case _:
            raise UntraceableError("Nobody knows which inputs the outputs of this association table have", value=type(table).__name__)


def _ranges(counts: Positions) -> tuple[Positions, Positions]:
    """The first so many inputs, for each output."""
    if int(counts.sum()) > MOST_PAIRS:
        raise TooLargeError(
            f"Each output of a function over whole partitions depends on all that it had read: these are {int(counts.sum()):,} pairs, and linked views take {MOST_PAIRS:,}",
            remedy="Use map, filter or flatMap in the place of mapPartitions, or brush results of fewer records.",
        )
    return np.repeat(np.arange(len(counts), dtype=np.int64), counts), spread(np.zeros(len(counts), dtype=np.int64), counts)


def _grouped(table: Codes, outputs: Positions) -> tuple[Positions, Positions]:
    if len(outputs) and len(outputs) == outputs[-1] + 1:  # all of the first ones
        inputs = np.flatnonzero(table.codes < len(outputs)).astype(np.int64)
        return table.codes[inputs].astype(np.int64), inputs
    place = np.full(int(max(table.codes.max(initial=0), outputs.max(initial=0))) + 1, -1, dtype=np.int64)
    place[outputs] = np.arange(len(outputs))
    which = place[table.codes]
    inputs = np.flatnonzero(which >= 0).astype(np.int64)
    return which[inputs], inputs
