"""Ends: datasets through which nothing is followed, and results of queries, as conditions of SQL."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

RESULT = "dataset.kind = 'memory' AND dataset.name LIKE 'result %'"
"""Results of queries: nothing is made from them that we would hear of, and there are as many as queries."""

ENDS = """({of}.kind = 'cache' OR {of}.kind = 'view' AND EXISTS (
    SELECT 1 FROM passage defined WHERE defined.dataset = {of}.id AND defined.written = 1 AND defined.mode = 'defined'
) AND NOT EXISTS (
    SELECT 1 FROM passage filled WHERE filled.dataset = {of}.id AND filled.written = 1 AND filled.mode IN ('appended', 'overwritten', 'created', 'written')))"""
"""Views and caches: by the next time they may be defined otherwise, and what reads them says what they were made of when it did. The table of a stream in
memory is none: who reads it does not know the stream.
"""

_ENDING = f"SELECT dataset.id FROM json_each(?) some JOIN dataset ON dataset.id = some.value WHERE {ENDS.format(of='dataset')}"


def ending(db: sqlite3.Connection, datasets: Iterable[int]) -> set[int]:
    """Those of some datasets through which nothing is followed."""
    return {number for (number,) in db.execute(_ENDING, (json.dumps(list(datasets)),))}
