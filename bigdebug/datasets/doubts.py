"""Doubts: what has to be said beside what was reached, for it is more or less than what was recorded can tell."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

from bigdebug.datasets.rows import datasets_of

_SHOWN = 3
"""Datasets that a note names."""

_ASKED = "WITH asked (id, name) AS (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?))"

_TELLS = """
EXISTS (SELECT 1 FROM schema, json_each(schema.fields) told WHERE schema.id = m.schema AND lower(json_extract(told.value, '$[0]')) = lower(asked.name))
"""

_SEEN = "touch JOIN passage a ON a.dataset = touch.other JOIN process p ON p.flow = a.flow JOIN measure m ON m.process = p.number AND m.number = a.number"

_WRITTEN_OTHERWISE = f"""{_ASKED}
SELECT DISTINCT asked.id FROM asked
WHERE EXISTS (SELECT 1 FROM {_SEEN} WHERE touch.dataset = asked.id AND a.written = 1 AND m.schema IS NOT NULL)
AND NOT EXISTS (SELECT 1 FROM {_SEEN} WHERE touch.dataset = asked.id AND a.written = 1 AND {_TELLS})
"""

_READ_OTHERWISE = f"""{_ASKED}
SELECT DISTINCT asked.id FROM asked
WHERE EXISTS (SELECT 1 FROM touch JOIN dataset d ON d.id = touch.other WHERE touch.dataset = asked.id AND d.format IN ('csv', 'text'))
AND EXISTS (SELECT 1 FROM {_SEEN} WHERE touch.dataset = asked.id AND a.written = 0 AND m.schema IS NOT NULL AND NOT {_TELLS})
"""

_MADE_AGAIN = """
SELECT DISTINCT a.dataset FROM json_each(?) some JOIN passage a ON a.dataset = some.value AND a.written = 1 AND a.mode = 'dropped' JOIN process p ON p.flow = a.flow
WHERE EXISTS (
    SELECT 1 FROM passage b JOIN process q ON q.flow = b.flow WHERE b.dataset = a.dataset AND b.written = 1 AND b.mode <> 'dropped' AND q.started > p.started
)
"""


def of_columns(db: sqlite3.Connection, ends: Iterable[tuple[int, str]], upstream: bool) -> str:
    """What is to be said of columns at which a walk ended: it ends where who read a dataset has other columns than who wrote it, as those of CSV are, which have
    none by themselves. Costs 20 us for each.
    """
    found = [number for (number,) in db.execute(_WRITTEN_OTHERWISE if upstream else _READ_OTHERWISE, (json.dumps([each for each in ends if each[1]]),))]
    if not found:
        return ""
    side = "what its columns were made of" if upstream else "what was made of its columns"
    return f"{_named(db, found)} was read with other columns than it was written with: {side} is not known from there on."


def of_datasets(db: sqlite3.Connection, reached: Iterable[int]) -> str:
    """What is to be said of datasets that were dropped and made again. Costs 5 us for each."""
    found = [number for (number,) in db.execute(_MADE_AGAIN, (json.dumps(list(reached)),))]
    return f"{_named(db, found)} was dropped and made again: this is told of all that it ever was." if found else ""


def _named(db: sqlite3.Connection, which: list[int]) -> str:
    names = sorted(map(str, datasets_of(db, which[:_SHOWN]).values()))
    return f"{', '.join(names)}{f' and {len(which) - _SHOWN:,} more' * (len(which) > _SHOWN)}"

