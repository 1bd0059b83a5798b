"""Doubts: what has to be said beside what was reached, for it is more or less than what was recorded can tell."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from itertools import islice

from bigdebug.datasets.rows import datasets_of

_SHOWN = 3
"""Datasets that a note names."""

_NEAREST = 100
"""Datasets, and columns, that are looked at: the nearest ones."""

_ASKED = "WITH asked (id, name) AS (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?))"

_TELLS = """
EXISTS (SELECT 1 FROM schema, json_each(schema.fields) told WHERE schema.id = one.schema AND lower(json_extract(told.value, '$[0]')) = lower(asked.name))
"""

_SEEN = "touch JOIN passage a ON a.dataset = touch.other JOIN process p ON p.flow = a.flow JOIN measure m ON m.process = p.number AND m.number = a.number"

_SCHEMAS = f"(SELECT DISTINCT m.schema FROM {_SEEN} WHERE touch.dataset = asked.id AND a.written = {{written}} AND m.schema IS NOT NULL) one"
"""There are few, however often something was done: only these are read, and only up to the first that answers."""

_WRITTEN_OTHERWISE = f"""{_ASKED}
SELECT DISTINCT asked.id FROM asked
WHERE EXISTS (SELECT 1 FROM {_SCHEMAS.format(written=1)}) AND NOT EXISTS (SELECT 1 FROM {_SCHEMAS.format(written=1)} WHERE {_TELLS})
"""

_READ_OTHERWISE = f"""{_ASKED}
SELECT DISTINCT asked.id FROM asked
WHERE EXISTS (SELECT 1 FROM touch JOIN dataset d ON d.id = touch.other WHERE touch.dataset = asked.id AND d.format IN ('csv', 'text'))
AND EXISTS (SELECT 1 FROM {_SCHEMAS.format(written=0)} WHERE NOT {_TELLS})
"""

_MADE_AGAIN = """
SELECT some.value FROM json_each(?) some CROSS JOIN passage a ON a.dataset = some.value AND a.written = 1 CROSS JOIN process p ON p.flow = a.flow
GROUP BY some.value HAVING MAX(CASE WHEN a.mode <> 'dropped' THEN p.started END) > MIN(CASE a.mode WHEN 'dropped' THEN p.started END)
"""

_OUT_OF_TIME = """
WITH reached (id) AS MATERIALIZED (SELECT value FROM json_each(?1)),
reached_too (id) AS MATERIALIZED (SELECT DISTINCT touch.other FROM reached CROSS JOIN touch ON touch.dataset = reached.id),
some_writing (flow) AS MATERIALIZED (SELECT DISTINCT w.flow FROM reached_too CROSS JOIN passage w ON w.dataset = reached_too.id AND w.written = 1),
one (flow) AS MATERIALIZED (
    SELECT DISTINCT r.flow FROM some_writing CROSS JOIN passage r ON r.flow = some_writing.flow AND r.written = 0 CROSS JOIN reached_too ON reached_too.id = r.dataset
),
some_jobs (flow, began, over) AS MATERIALIZED (
    SELECT one.flow, MIN(process.started), MAX(COALESCE(process.ended, 9223372036854775807)) FROM one CROSS JOIN process ON process.flow = one.flow GROUP BY one.flow
),
some_read (dataset, over) AS MATERIALIZED (
    SELECT r.dataset, {some}(some_jobs.over) FROM some_jobs CROSS JOIN passage r ON r.flow = some_jobs.flow AND r.written = 0 GROUP BY r.dataset
),
some_written (dataset, began) AS MATERIALIZED (
    SELECT w.dataset, {some}(some_jobs.began) FROM some_jobs CROSS JOIN passage w ON w.flow = some_jobs.flow AND w.written = 1 AND w.mode <> 'dropped' GROUP BY w.dataset
)
SELECT touch.other FROM some_read CROSS JOIN touch ON touch.dataset = some_read.dataset CROSS JOIN some_written ON some_written.dataset = touch.other
GROUP BY touch.other HAVING {some}(some_written.began) > {some}(some_read.over)
"""
"""With MAX: what a job began to write after all had read it, upstream. With MIN: what a job had read before any began to write it, downstream."""


def of_columns(db: sqlite3.Connection, ends: Iterable[tuple[int, str]], upstream: bool) -> str:
    """What is to be said of columns at which a walk ended: it ends where who read a dataset has other columns than who wrote it, as those of CSV are, which have
    none by themselves. Costs 20 us for each of the nearest, at which it looks.
    """
    asked = json.dumps([each for each in islice(ends, _NEAREST) if each[1]])
    found = [number for (number,) in db.execute(_WRITTEN_OTHERWISE if upstream else _READ_OTHERWISE, (asked,))]
    if not found:
        return ""
    side = "what its columns were made of" if upstream else "what was made of its columns"
    return f"{_named(db, found)} was read with other columns than it was written with: {side} is not known from there on."


def of_datasets(db: sqlite3.Connection, reached: Iterable[int], upstream: bool) -> str:
    """What is to be said of datasets on the way that were dropped and made again, or read by a job on the way for the last time before another one wrote into them
    for the first time: what they held before and after is not told apart.
    Looks at the nearest, which takes some milliseconds.
    """
    every = json.dumps(list(islice(reached, _NEAREST)))
    again = [number for (number,) in db.execute(_MADE_AGAIN, (every,))]
    later = [number for (number,) in db.execute(_OUT_OF_TIME.format(some="MAX" if upstream else "MIN"), (every,)) if number not in again]
    return " ".join(filter(None, (
        f"{_named(db, again)} was dropped and made again: this is told of all that it ever was." if again else "",
        f"{_named(db, later)} was written again after it was read: this is told of all that it ever held." if later else "",
    )))


def _named(db: sqlite3.Connection, which: list[int]) -> str:
    names = sorted(map(str, datasets_of(db, which[:_SHOWN]).values()))
    return f"{', '.join(names)}{f' and {len(which) - _SHOWN:,} more' * (len(which) > _SHOWN)}"

