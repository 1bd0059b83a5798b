"""The tables of the graph that CSProv was measured on (its section V): their levels, the splits of these, and which is made from which.

The figure of its dependency graph is not in its text, so that is ours, for tables in as many levels as its longest path has.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from bigdebug.provgraph.strips import Numbers

LEVELS = (
    ("FINDocs",), ("SECTS", "TABLS"), ("F10WTXT", "F10WMTR"),
    ("HDRS", "MTRCS"), ("HDRUNT", "MTRUNT"), ("HDRPER", "MTRPER"), ("HDRENT", "MTRENT"),
    ("RSVCMP", "RSVMTR", "RSVPER"), ("KBCMP", "KBMTR", "KBPER"), ("AGGCMP", "AGGMTR", "AGGPER"), ("RPTCMP", "RPTMTR", "RPTPER"),
)  # fmt: skip
"""The tables, level by level; FINDocs is the workflow's input."""
TABLES = tuple(name for level in LEVELS for name in level)
SPLITS = {"sp1": range(3), "sp2": range(3, 7), "sp3": range(7, 11), "sp4": range(7, 9), "sp5": range(9, 11)}
"""The levels of each split; sp4 and sp5 are the parts of sp3."""
OPERATIONS = tuple(f"make {name}" for name in TABLES)

MIXED = (4, 8, 10)
"""Levels whose tables are made from all tables of the level before: they hold a split together."""
LANES = 6
"""Ways through the levels, with one table of each."""


def tables(split: str) -> list[str]:
    """The tables of a split."""
    return [name for level in SPLITS[split] for name in LEVELS[level]]


def table_of(starts: Numbers, items: Numbers) -> NDArray[np.uint8]:
    """The table of each item, where ``starts`` are the first items of the tables."""
    return (np.searchsorted(starts, items, side="right") - 1).astype(np.uint8)


def dependencies() -> list[tuple[str, str]]:
    """Which table is made from which: pairs of parent and child."""
    found = set()
    for level in range(len(LEVELS) - 1):
        here, below = LEVELS[level], LEVELS[level + 1]
        mixed = level in MIXED or level + 1 in MIXED
        straight = {(here[lane % len(here)], below[lane % len(below)]) for lane in range(LANES)}
        found |= set(product(here, below)) if mixed else straight
    for parents, entry in (("sp1", 3), ("sp2", 7), ("sp4", 9)):
        found |= set(product(tables(parents), LEVELS[entry]))
    return sorted(found, key=lambda pair: (TABLES.index(pair[0]), TABLES.index(pair[1])))


def splits() -> list[list[str] | list[list[str]]]:
    """The splits of the paper, as ``splits_of`` takes them."""
    return [tables("sp1"), tables("sp2"), [tables("sp4"), tables("sp5")]]
