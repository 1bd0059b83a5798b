"""Agreement: whether two blocks of one stage, with different tables, tell the same lineage."""

from __future__ import annotations

import numpy as np

from bigdebug.graph import Form, Stage
from bigdebug.store.blocks import Block
from bigdebug.trace.positions import Positions


def same_lineage(stage: Stage, block: Block, fine: Stage, finer: Block) -> bool:
    """Whether a block with a table for each operator tells the same as one with tables for several together."""
    level = 0
    for number, segment in enumerate(stage.segments):
        first = level
        if first + 1 == len(finer.levels):
            break  # what an action does with its records is not derived
        level += len(segment.operators)
        if block.levels[number + 1] != finer.levels[level]:
            return False
        if len(segment.operators) == 1 and segment.form is not Form.KEPT:
            theirs = {name.replace(f"segment{first}.", f"segment{number}."): c for name, c in finer.columns.items()}
            mine = {name: c for name, c in block.columns.items() if name.startswith(f"segment{number}.")}
            if not all(np.array_equal(column, theirs[name]) for name, column in mine.items()):
                return False
            continue
        owners = np.arange(finer.levels[level], dtype=np.int64)
        for at in range(level - 1, first - 1, -1):
            owners = _owners(fine.segments[at].form, finer, at)[owners]
        if not np.array_equal(owners, _owners(segment.form, block, number)):
            return False
    return True


def _owners(form: Form, block: Block, number: int) -> Positions:
    """The one input of each output of a record-wise segment."""
    outputs = np.arange(block.levels[number + 1], dtype=np.int64)
    if form is Form.ONE_TO_ONE:
        return outputs
    if form is Form.KEPT:
        return block.columns[f"segment{number}.kept"].astype(np.int64)
    owners: Positions = np.searchsorted(block.columns[f"segment{number}.offsets"].astype(np.int64), outputs, side="right") - 1
    return owners
